#pragma once

#include <mutex>
#include <set>
#include <string>

#include "artifact/digest.h"
#include "server/engine/blob_index.h"

namespace winnow {

// Blobs that are there because a test says so. Thread-safe.
class FakeBlobs : public BlobIndex {
 public:
  bool Claim(const v1::BlobName& blob) override {
    std::lock_guard lock(mutex_);
    return there_.count(blob.digest()) > 0;
  }
  void Forget(const std::string& digest) override {
    std::lock_guard lock(mutex_);
    there_.erase(digest);
  }
  void Add(const std::string& bytes) {
    std::lock_guard lock(mutex_);
    there_.insert(DigestOf(bytes));
  }
  bool Has(const std::string& bytes) {
    std::lock_guard lock(mutex_);
    return there_.count(DigestOf(bytes)) > 0;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> there_;  // guarded by mutex_
};

}  // namespace winnow

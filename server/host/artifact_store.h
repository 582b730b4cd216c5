#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/engine/blob_index.h"
#include "server/host/blobs/blob_place.h"

namespace winnow {

struct ArtifactStoreOptions {
  std::unique_ptr<BlobPlace> place;
  std::vector<v1::BlobName> recorded = {};  // those that artifacts of the database use
  int64_t quota_bytes = int64_t{20} << 30;
  // How long unclaimed blobs are kept, because their upload may continue.
  int64_t unclaimed_us = 3'600'000'000;
  std::function<int64_t()> steady_us;  // default: the system's clock
};

// Blobs in a folder or a bucket, and what is known of them without asking it: each is complete and correct,
// or absent. Thread-safe. Put and Get wait for the place on the caller's thread; nothing else does.
class ArtifactStore : public BlobIndex {
 public:
  // Lists the place; if that takes long, only later, on a thread of its own, and begins with the recorded
  // ones. FAILED_PRECONDITION: it cannot be made or read.
  static absl::StatusOr<std::unique_ptr<ArtifactStore>> Open(ArtifactStoreOptions options);
  ~ArtifactStore() override;

  // Returns those of `digests` that are absent.
  std::vector<std::string> Missing(const std::vector<std::string>& digests);
  bool Has(const std::string& digest) { return Missing({digest}).empty(); }
  // OK: the blob is durable. INVALID_ARGUMENT: the bytes do not match the digest; RESOURCE_EXHAUSTED: the
  // quota or the disk is full.
  absl::Status Put(const std::string& digest, std::string_view bytes);
  // Replaces what is in `into` by the blob. NOT_FOUND; DATA_LOSS: it has other bytes or is gone; then it is
  // removed, and `on_loss` was called. UNAVAILABLE: the place cannot be reached, or it cannot be read, now.
  absl::Status Get(const std::string& digest, BlobBuffer& into);

  bool Claim(const v1::BlobName& blob) override;
  void Forget(const std::string& digest) override;

  // Sets the callback for the digest of a blob that was damaged or is gone, on the thread that has found it.
  // Set before the first call.
  void OnLoss(std::function<void(const std::string&)> on_loss);
  // Calls of Put and Get return soon, now and later.
  void EndWaits() { options_.place->EndWaits(); }

  // How many calls of Put and Get are useful at a time.
  int parallel() const { return options_.place->traits().parallel; }

  int64_t used_bytes();
  int64_t quota_bytes() const { return options_.quota_bytes; }
  // Waits until forgotten blobs are removed.
  void AwaitRemoval();

 private:
  struct Blob {
    int64_t size = 0;
    bool claimed = false;
    int64_t seen_us = 0;  // time of the last request, if unclaimed
  };

  explicit ArtifactStore(ArtifactStoreOptions options);
  absl::Status List();
  void Add(const std::string& digest, int64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Reserve(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetUnclaimed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string NextDoomed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The thread beside the callers: lists what is still to be listed, then removes.
  void Run();
  void ListLater();

  const ArtifactStoreOptions options_;
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Blob> blobs_ ABSL_GUARDED_BY(mutex_);
  std::function<void(const std::string&)> on_loss_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> writing_ ABSL_GUARDED_BY(mutex_);  // by how many calls of Put
  std::set<std::string> doomed_ ABSL_GUARDED_BY(mutex_);        // to be removed
  std::string removing_ ABSL_GUARDED_BY(mutex_);                // "": none
  std::set<std::string> unseen_ ABSL_GUARDED_BY(mutex_);        // recorded, but not yet found in the place
  int64_t used_ ABSL_GUARDED_BY(mutex_) = 0;                    // by blobs_ and by what is being written
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread remover_;
};

}  // namespace winnow

#pragma once

#include <memory>
#include <string>

#include "base/mutex.h"
#include "server/host/blobs/blob_place.h"
#include "server/host/blobs/bucket.h"

namespace winnow {

// Blobs as objects PREFIXblobs/ab/abcd… of a bucket, each of which appears whole or not at all. The object
// PREFIXdatabase has the identity of the database whose they are.
class BlobBucket : public BlobPlace {
 public:
  // `prefix`: of all keys; "" or with '/' at its end.
  BlobBucket(std::unique_ptr<Bucket> bucket, std::string prefix)
      : bucket_(std::move(bucket)), prefix_(std::move(prefix)) {}

  Traits traits() const override { return {8, true}; }
  std::string name() const override { return bucket_->name(); }
  std::string NameOf(const std::string& digest) const override;
  // Writes a small object, reads it and deletes it.
  absl::Status Probe() override;
  // If the service is away, whatever comes next takes it first.
  absl::Status TakeFor(const std::string& identity, bool has_blobs) override;
  absl::Status List(const std::function<void(const std::string& digest, int64_t size)>& found) override;
  absl::Status HasRoom(int64_t) override { return absl::OkStatus(); }
  absl::Status Write(const std::string& digest, std::string_view bytes) override;
  absl::Status Read(const std::string& digest, int64_t most, BlobBuffer& into) override;
  absl::Status Remove(const std::string& digest) override;
  void EndWaits() override { bucket_->EndWaits(); }

 private:
  std::string KeyOf(const std::string& digest) const;
  // OK: it is the database's, or nobody has asked. ALREADY_EXISTS: it is not.
  absl::Status Taken();
  // As a failure of a service that was right at the start: UNAVAILABLE for refusals too, which people may
  // mend. A new reason is logged.
  absl::Status AtWork(const absl::Status& status);

  const std::unique_ptr<Bucket> bucket_;
  const std::string prefix_;
  Mutex mutex_;
  std::string identity_ ABSL_GUARDED_BY(mutex_);    // for which it is still to be taken; "": none
  bool has_blobs_ ABSL_GUARDED_BY(mutex_) = false;  // of TakeFor
  std::string told_ ABSL_GUARDED_BY(mutex_);        // the last reason; "": the last call was good
};

}  // namespace winnow

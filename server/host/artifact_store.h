#pragma once

#include <cstdint>
#include <filesystem>
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

namespace winnow {

struct ArtifactStoreOptions {
  std::filesystem::path folder;
  int64_t quota_bytes = int64_t{20} << 30;
  // Bytes of the disk left to the database and everything else; at most a tenth of the disk.
  int64_t reserve_bytes = int64_t{1} << 30;
  // How long unclaimed blobs are kept, because their upload may continue.
  int64_t unclaimed_us = 3'600'000'000;
  std::function<int64_t()> steady_us;  // default: the system's clock
};

// Blobs as files FOLDER/blobs/ab/abcd…: each is complete and correct, or absent. Thread-safe. Disk access
// runs on the caller's thread, except for removal.
class ArtifactStore : public BlobIndex {
 public:
  // Scans the folder. FAILED_PRECONDITION: it cannot be made or read.
  static absl::StatusOr<std::unique_ptr<ArtifactStore>> Open(ArtifactStoreOptions options);
  ~ArtifactStore() override;

  // Returns those of `digests` that are absent.
  std::vector<std::string> Missing(const std::vector<std::string>& digests);
  bool Has(const std::string& digest) { return Missing({digest}).empty(); }
  // OK: the blob is durable. INVALID_ARGUMENT: the bytes do not match the digest; RESOURCE_EXHAUSTED: the
  // quota or the disk is full.
  absl::Status Put(const std::string& digest, std::string_view bytes);
  // NOT_FOUND; DATA_LOSS: its file was damaged; then it is removed, and `on_loss` was called.
  absl::StatusOr<std::string> Get(const std::string& digest);

  bool Claim(const v1::BlobName& blob) override;
  void Forget(const std::string& digest) override;

  // Sets the callback for the digest of a damaged blob, on the thread of Get. Set before the first call.
  void OnLoss(std::function<void(const std::string&)> on_loss) { on_loss_ = std::move(on_loss); }

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
  absl::Status Scan();
  std::filesystem::path PathOf(const std::string& digest) const;
  absl::Status Reserve(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Write(const std::string& digest, std::string_view bytes);
  void ForgetUnclaimed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove();

  const ArtifactStoreOptions options_;
  std::function<void(const std::string&)> on_loss_;
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Blob> blobs_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> doomed_ ABSL_GUARDED_BY(mutex_);  // files to be removed
  int64_t used_ ABSL_GUARDED_BY(mutex_) = 0;              // by blobs_ and by files being written
  int64_t drafts_ ABSL_GUARDED_BY(mutex_) = 0;            // a number for each file being written
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread remover_;
};

}  // namespace winnow

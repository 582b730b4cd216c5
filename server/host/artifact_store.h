#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/engine/blob_index.h"

namespace winnow {

struct ArtifactStoreOptions {
  std::filesystem::path folder;
  int64_t quota_bytes = int64_t{20} << 30;
  // Of the disk, for the database and everything else; never more than a tenth of it.
  int64_t reserve_bytes = int64_t{1} << 30;
  // What nobody has claimed is kept for so long: its upload may go on.
  int64_t unclaimed_us = 3'600'000'000;
  std::function<int64_t()> steady_us;  // default: the system's clock
};

// Blobs as files FOLDER/blobs/ab/abcd…: whole and with the right bytes, or not there. Thread-safe; what
// touches the disk does so on the caller's thread, but for removing.
class ArtifactStore : public BlobIndex {
 public:
  // Finds what is there. FAILED_PRECONDITION: the folder cannot be made or read.
  static absl::StatusOr<std::unique_ptr<ArtifactStore>> Open(ArtifactStoreOptions options);
  ~ArtifactStore() override;

  // Of `digests` those that are not there.
  std::vector<std::string> Missing(const std::vector<std::string>& digests);
  bool Has(const std::string& digest) { return Missing({digest}).empty(); }
  // OK: it is on the disk for good. INVALID_ARGUMENT: the bytes are not those of the digest;
  // RESOURCE_EXHAUSTED: the quota, or the disk, is full.
  absl::Status Put(const std::string& digest, std::string_view bytes);
  // NOT_FOUND; DATA_LOSS: its file was damaged. Then it is not there any more, and `on_loss` was told.
  absl::StatusOr<std::string> Get(const std::string& digest);

  bool Claim(const v1::BlobName& blob) override;
  void Forget(const std::string& digest) override;

  // Called with the digest of a blob that was damaged, on the thread of Get. Set before the first call.
  void OnLoss(std::function<void(const std::string&)> on_loss) { on_loss_ = std::move(on_loss); }

  int64_t used_bytes();
  int64_t quota_bytes() const { return options_.quota_bytes; }
  // Waits until what was forgotten is removed.
  void AwaitRemoval();

 private:
  struct Blob {
    int64_t size = 0;
    bool claimed = false;
    int64_t seen_us = 0;  // if not claimed, when it was last asked for
  };

  explicit ArtifactStore(ArtifactStoreOptions options);
  absl::Status Scan();
  std::filesystem::path PathOf(const std::string& digest) const;
  absl::Status Reserve(int64_t bytes);
  absl::Status Write(const std::string& digest, std::string_view bytes);
  void ForgetUnclaimed();
  void Remove();

  const ArtifactStoreOptions options_;
  std::function<void(const std::string&)> on_loss_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::map<std::string, Blob> blobs_;
  std::set<std::string> doomed_;  // files that are to be removed
  int64_t used_ = 0;              // of blobs_ and of what is being written
  int64_t drafts_ = 0;            // a number for each file that is being written
  bool stopping_ = false;
  std::thread remover_;
};

}  // namespace winnow

#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "server/host/blobs/blob_place.h"

namespace winnow {

// Blobs as files FOLDER/blobs/ab/abcd….
class BlobFolder : public BlobPlace {
 public:
  // `reserve_bytes`: of the disk, left to the database and everything else; at most a tenth of the disk.
  explicit BlobFolder(std::filesystem::path folder, int64_t reserve_bytes = int64_t{1} << 30)
      : folder_(std::move(folder)), reserve_bytes_(reserve_bytes) {}

  Traits traits() const override { return {2, false}; }  // a disk gains little from more
  std::string name() const override { return folder_.string(); }
  std::string NameOf(const std::string& digest) const override { return PathOf(digest).string(); }
  // The database's state directory has its identity.
  absl::Status TakeFor(const std::string&, bool) override { return absl::OkStatus(); }
  // Removes files that were being written when a server ended. FAILED_PRECONDITION: the folder cannot be made
  // or read.
  absl::Status List(const std::function<void(const std::string& digest, int64_t size)>& found) override;
  absl::Status HasRoom(int64_t bytes) override;
  absl::Status Write(const std::string& digest, std::string_view bytes) override;
  absl::Status Read(const std::string& digest, int64_t most, BlobBuffer& into) override;
  absl::Status Remove(const std::string& digest) override;

 private:
  std::filesystem::path PathOf(const std::string& digest) const;

  const std::filesystem::path folder_;
  const int64_t reserve_bytes_;
  std::atomic<int64_t> drafts_ = 0;  // a number for each file being written
};

}  // namespace winnow

#include "server/host/artifact_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "artifact/digest.h"
#include "artifact/files.h"
#include "artifact/manifest.h"
#include "server/engine/context.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr char kDraftEnding[] = ".part";
constexpr int64_t kReservedPart = 10;  // reserve at most this fraction of the disk

std::string Gib(int64_t bytes) { return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30)); }

}  // namespace

ArtifactStore::ArtifactStore(ArtifactStoreOptions options) : options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<ArtifactStore>> ArtifactStore::Open(ArtifactStoreOptions options) {
  if (!options.steady_us) options.steady_us = Clock::System().steady_us;
  std::unique_ptr<ArtifactStore> store(new ArtifactStore(std::move(options)));
  if (absl::Status status = store->Scan(); !status.ok()) return status;
  store->remover_ = std::thread([raw = store.get()] { raw->Remove(); });
  return store;
}

ArtifactStore::~ArtifactStore() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  if (remover_.joinable()) remover_.join();
}

// Removes files that were being written when the server ended; unclaimed blobs expire soon.
absl::Status ArtifactStore::Scan() {
  const fs::path blobs = options_.folder / "blobs";
  std::error_code error;
  fs::create_directories(blobs, error);
  const int64_t now = options_.steady_us();
  MutexLock lock(mutex_);
  for (fs::recursive_directory_iterator entry(blobs, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->is_regular_file(error) || error) continue;
    const std::string name = entry->path().filename().string();
    if (!IsDigest(name)) {
      std::error_code ignored;
      if (name.ends_with(kDraftEnding)) fs::remove(entry->path(), ignored);
      continue;
    }
    const auto size = static_cast<int64_t>(entry->file_size(error));
    blobs_[name] = {size, false, now};
    used_ += size;
  }
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("{}: {}", blobs.string(), error.message()));
}

fs::path ArtifactStore::PathOf(const std::string& digest) const {
  return options_.folder / "blobs" / digest.substr(0, 2) / digest;
}

std::vector<std::string> ArtifactStore::Missing(const std::vector<std::string>& digests) {
  std::vector<std::string> missing;
  const int64_t now = options_.steady_us();
  MutexLock lock(mutex_);
  for (const std::string& digest : digests) {
    const auto found = blobs_.find(digest);
    if (found == blobs_.end()) {
      missing.push_back(digest);
    } else {
      found->second.seen_us = now;
    }
  }
  return missing;
}

// Counts the bytes as used.
absl::Status ArtifactStore::Reserve(int64_t bytes) {
  if (used_ + bytes > options_.quota_bytes) ForgetUnclaimed();
  if (used_ + bytes > options_.quota_bytes) {
    return absl::ResourceExhaustedError(fmt::format(
        "the artifact store has {} of at most {}; start the server with a larger --artifact-quota-gib, or "
        "delete jobs",
        Gib(used_), Gib(options_.quota_bytes)));
  }
  std::error_code error;
  const fs::space_info disk = fs::space(options_.folder, error);
  const int64_t reserve =
      error ? 0 : std::min<int64_t>(options_.reserve_bytes, disk.capacity / kReservedPart);
  if (!error && static_cast<int64_t>(disk.available) - bytes < reserve) {
    return absl::ResourceExhaustedError(fmt::format("{} has {} left, which the server keeps for its database",
                                                    options_.folder.string(),
                                                    Gib(static_cast<int64_t>(disk.available))));
  }
  used_ += bytes;
  return absl::OkStatus();
}

void ArtifactStore::ForgetUnclaimed() {
  const int64_t before = options_.steady_us() - options_.unclaimed_us;
  for (auto blob = blobs_.begin(); blob != blobs_.end();) {
    if (blob->second.claimed || blob->second.seen_us > before) {
      ++blob;
      continue;
    }
    used_ -= blob->second.size;
    doomed_.insert(blob->first);
    blob = blobs_.erase(blob);
  }
  changed_.NotifyAll();
}

absl::Status ArtifactStore::Put(const std::string& digest, std::string_view bytes) {
  if (bytes.empty() || static_cast<int64_t>(bytes.size()) > kBlobBytes) {
    return absl::InvalidArgumentError(
        fmt::format("a blob has 1 to {} bytes, not {}", kBlobBytes, bytes.size()));
  }
  if (DigestOf(bytes) != digest) {
    return absl::InvalidArgumentError(
        fmt::format("the bytes received for blob {} do not match its digest", digest));
  }
  const auto size = static_cast<int64_t>(bytes.size());
  {
    MutexLock lock(mutex_);
    if (blobs_.count(digest) > 0) return absl::OkStatus();
    if (absl::Status status = Reserve(size); !status.ok()) return status;
  }
  const absl::Status written = Write(digest, bytes);
  if (written.ok()) return written;
  MutexLock lock(mutex_);
  used_ -= size;
  return written;
}

// REQUIRES: its bytes are counted as used.
absl::Status ArtifactStore::Write(const std::string& digest, std::string_view bytes) {
  const fs::path path = PathOf(digest);
  fs::path draft = path;
  {
    MutexLock lock(mutex_);
    draft += fmt::format(".{}{}", ++drafts_, kDraftEnding);
  }
  std::error_code error;
  const bool fresh = fs::create_directories(path.parent_path(), error);
  if (error) return FileError(path.parent_path(), "cannot create the directory", error.value());
  absl::StatusOr<OpenFile> file = OpenFile::Open(draft, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (!file.ok()) return file.status();
  absl::Status status = file->Write(bytes);
  if (status.ok()) status = file->Sync();
  if (status.ok()) {
    // The lock prevents its removal during the rename.
    MutexLock lock(mutex_);
    if (rename(draft.c_str(), path.c_str()) != 0)
      status = FileError(path, "cannot rename to this name", errno);
    if (status.ok()) doomed_.erase(digest);
  }
  if (!status.ok()) {
    fs::remove(draft, error);
    return status;
  }
  status = SyncFolder(path.parent_path());
  if (status.ok() && fresh) status = SyncFolder(path.parent_path().parent_path());
  if (!status.ok()) return status;
  MutexLock lock(mutex_);
  const bool first =
      blobs_.emplace(digest, Blob{static_cast<int64_t>(bytes.size()), false, options_.steady_us()}).second;
  if (!first) used_ -= static_cast<int64_t>(bytes.size());  // another call stored it first
  return absl::OkStatus();
}

absl::StatusOr<std::string> ArtifactStore::Get(const std::string& digest) {
  const absl::Status gone = absl::NotFoundError(fmt::format("there is no blob {}", digest));
  int64_t size = 0;
  {
    MutexLock lock(mutex_);
    const auto found = blobs_.find(digest);
    if (found == blobs_.end()) return gone;
    size = found->second.size;
  }
  const absl::StatusOr<OpenFile> file = OpenFile::Open(PathOf(digest), O_RDONLY);
  if (!file.ok() && !absl::IsNotFound(file.status())) return file.status();
  absl::StatusOr<std::string> bytes = file.ok() ? file->ReadAt(0, size + 1) : file.status();
  if (bytes.ok() && DigestOf(*bytes) == digest) return bytes;
  {
    MutexLock lock(mutex_);
    if (blobs_.erase(digest) == 0) return gone;  // it was removed in the meantime
    used_ -= size;
    doomed_.insert(digest);
  }
  changed_.NotifyAll();
  spdlog::error("artifacts: the file of blob {} is damaged; removing it", digest);
  if (on_loss_) on_loss_(digest);
  return absl::DataLossError(fmt::format("blob {} was damaged on the server's disk", digest));
}

bool ArtifactStore::Claim(const v1::BlobName& blob) {
  MutexLock lock(mutex_);
  const auto found = blobs_.find(blob.digest());
  if (found == blobs_.end() || found->second.size != blob.size()) return false;
  found->second.claimed = true;
  return true;
}

void ArtifactStore::Forget(const std::string& digest) {
  {
    MutexLock lock(mutex_);
    const auto found = blobs_.find(digest);
    if (found == blobs_.end()) return;
    used_ -= found->second.size;
    blobs_.erase(found);
    doomed_.insert(digest);
  }
  changed_.NotifyAll();
}

int64_t ArtifactStore::used_bytes() {
  MutexLock lock(mutex_);
  return used_;
}

void ArtifactStore::AwaitRemoval() {
  MutexLock lock(mutex_);
  while (!doomed_.empty()) changed_.Wait(mutex_);
}

// The remover's thread.
void ArtifactStore::Remove() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (doomed_.empty()) {
      changed_.WaitUntil(mutex_,
                         std::chrono::steady_clock::now() + std::chrono::microseconds(options_.unclaimed_us));
      ForgetUnclaimed();
      continue;
    }
    unlink(PathOf(*doomed_.begin()).c_str());
    doomed_.erase(doomed_.begin());
    changed_.NotifyAll();
    lock.Unlock();  // lets other threads run between two removals
    lock.Lock();
  }
}

}  // namespace winnow

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "artifact/files.h"
#include "base/mutex.h"
#include "worker/checkpoints/cancellation.h"
#include "worker/data/remote_object.h"

namespace winnow {

// Told of a download as it goes on.
struct DownloadProgress {
  std::function<void(int64_t done, int64_t of)> bytes;  // so far, and of how many (-1: not known)
  std::function<void(const std::string& why)> waits;    // as ObjectReceiver::Waits
};

// What a job wants to have downloaded.
struct Download {
  RemoteObject object;
  std::string job;     // its id
  std::string sha256;  // of the content; "": any
};

// Downloaded files of this host, shared by its workers: FOLDER/KEY, and beside it KEY.info (its version, and
// what job had it last), KEY.part with KEY.part.info while it is downloaded, KEY.lock. A file is whole or
// not there. Files have one link more for each use, so that one that is used can be removed here without
// harm; those without a use are removed, the least recently used first, when there are more bytes than there
// may be. Several processes use it at once. Thread-safe; methods block.
class DownloadCache {
 public:
  // Makes the folder, for this user only. `most_bytes` may be exceeded by what is used.
  DownloadCache(std::filesystem::path folder, int64_t most_bytes, TransferPatience patience = {});

  // Makes the object's content appear at `at`, in the same file system, as another name of the file here. A
  // job asks the server once whether a file that is here is still the one that the server has, so that nobody
  // gets what the server would not give him; then all its trials have that file. FAILED_PRECONDITION names
  // the object: it cannot be had, or its content has another SHA-256 than `sha256`; UNAVAILABLE: the server
  // is away; RESOURCE_EXHAUSTED: this machine is at fault; CANCELLED.
  absl::Status Link(const Download& wanted, const std::filesystem::path& at, const DownloadProgress& progress,
                    const Cancellation& cancellation);

  // Removes files that nobody uses until the rest may stay. Link does so too, but not after each of many
  // files.
  void RemoveUnused();

  const TransferPatience& patience() const { return patience_; }

 private:
  struct Entry;
  absl::StatusOr<OpenFile> Lock(const Entry& entry, const DownloadProgress& progress,
                                const Cancellation& cancellation);
  absl::Status Bring(const Entry& entry, const Download& wanted, const DownloadProgress& progress,
                     const Cancellation& cancellation);

  const std::filesystem::path folder_;
  const int64_t most_bytes_;
  const TransferPatience patience_;
  Mutex mutex_;
  bool searches_ ABSL_GUARDED_BY(mutex_) = false;  // for unused files
  std::chrono::steady_clock::time_point next_search_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

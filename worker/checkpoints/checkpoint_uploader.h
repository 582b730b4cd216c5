#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "artifact/folder.h"
#include "artifact/manifest.h"
#include "base/mutex.h"
#include "winnow/v1/worker.pb.h"
#include "worker/checkpoints/artifact_client.h"
#include "worker/checkpoints/cancellation.h"

namespace winnow {

// Patience of uploads and downloads.
struct KeepingOptions {
  std::chrono::milliseconds look_every{500};  // interval of looks for a new checkpoint
  int pause_factor = 4;  // pause after an upload, as a multiple of its duration
  // After this long without progress, the server's store counts as unreachable.
  std::chrono::milliseconds patience{120'000};
  std::chrono::milliseconds leaving_patience{20'000};  // for a leaving worker
  std::chrono::milliseconds first_retry{200};          // doubles with each failure in a row
  std::chrono::milliseconds last_retry{5'000};
};

// Whether a later try of an upload may succeed.
bool IsPassing(const absl::Status& status);

// Puts the checkpoints of a rank 0 into the artifact store, while it trains and once after its end, on its
// own thread. It looks at the folder at intervals. It sends complete checkpoints from hard links, so that the
// trainer may remove and replace the files in the meantime.
class CheckpointUploader {
 public:
  // `client` outlives it. `done` is the last call of its thread, after End or Abandon.
  CheckpointUploader(ArtifactClient* client, const v1::Assignment& assignment, const FolderName& folder,
                     const KeepingOptions& options, std::function<void()> done);
  // Abandons, and waits for the thread.
  ~CheckpointUploader();

  // The trainer has ended; its newest checkpoint has at least `level`.
  void End(int64_t level);
  // The worker leaves.
  void Hasten();
  // Sends nothing more.
  void Abandon();

 private:
  enum class Result { kSent, kNothing, kRetry, kRefused };

  void Run();
  bool WaitFor(std::chrono::milliseconds time);
  void SendLast();
  Result SendNewest(int64_t level);
  absl::Status Send(int64_t level);
  bool PatienceIsOver() const;

  ArtifactClient* const client_;
  const v1::Assignment assignment_;
  const FolderName folder_;
  const FolderName copy_;
  const KeepingOptions options_;
  const std::function<void()> done_;
  Cancellation cancellation_;
  std::atomic<bool> hasty_ = false;

  Mutex mutex_;
  CondVar changed_;
  std::optional<int64_t> last_level_ ABSL_GUARDED_BY(mutex_);  // set once the trainer has ended
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;

  // Used by the thread alone:
  Listing sent_;
  bool told_skipped_ = false;
  std::string told_error_;
  std::chrono::steady_clock::time_point step_;  // time of the newest progress
  std::thread thread_;
};

}  // namespace winnow

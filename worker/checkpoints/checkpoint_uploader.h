#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "artifact/folder.h"
#include "artifact/manifest.h"
#include "winnow/v1/worker.pb.h"
#include "worker/checkpoints/artifact_client.h"
#include "worker/checkpoints/cancellation.h"

namespace winnow {

// How patient uploads and downloads are.
struct KeepingOptions {
  std::chrono::milliseconds look_every{500};  // for a new checkpoint
  int pause_factor = 4;  // an upload is followed by a pause of so many times what it took
  // Without a step forward for so long the server's store counts as out of reach.
  std::chrono::milliseconds patience{120'000};
  std::chrono::milliseconds leaving_patience{20'000};  // of a worker that leaves
  std::chrono::milliseconds first_retry{200};          // doubled at each failure in a row
  std::chrono::milliseconds last_retry{5'000};
};

// Whether trying an upload again later may help.
bool IsPassing(const absl::Status& status);

// While a rank 0 trains, and once more when it has ended, puts its checkpoints into the artifact store, on a
// thread of its own. The folder is looked at anew every now and then; what is whole is sent from further
// names of the same files, so that the trainer may remove and replace them meanwhile.
class CheckpointUploader {
 public:
  // `client` outlives it. `done` is the last thing that its thread calls, after End or Abandon.
  CheckpointUploader(ArtifactClient* client, const v1::Assignment& assignment, const FolderName& folder,
                     const KeepingOptions& options, std::function<void()> done);
  // Abandons, and waits for the thread.
  ~CheckpointUploader();

  // The trainer has ended; its newest checkpoint has at least `level`.
  void End(int64_t level);
  // The worker leaves.
  void Hasten();
  // Nothing is sent any more.
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

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<int64_t> last_level_;  // guarded by mutex_; since it has ended
  bool abandoned_ = false;             // guarded by mutex_

  // The thread's own:
  Listing sent_;
  bool told_skipped_ = false;
  std::string told_error_;
  std::chrono::steady_clock::time_point step_;  // forward: the newest
  std::thread thread_;
};

}  // namespace winnow

#pragma once

#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "cli/session/client.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// A job's events from a background thread, over as many connections as necessary.
class Feed {
 public:
  struct Item {
    enum Kind { kEvent, kLost, kBack, kEnd };
    Kind kind = kEvent;
    v1::TuningJobEvent event;  // of kEvent; kBack has only the current job
    absl::Status status;       // of kEnd: OK when the job has ended; of kLost: the reason
  };

  // Starts after `after_sequence`. When the server is unreachable for longer than `patience`, the feed ends
  // with its error. `client` must outlive it.
  Feed(Client* client, std::string job, int64_t after_sequence, absl::Duration patience);
  ~Feed();  // cancels the watch

  // Readable (poll) when Take has an item.
  int fd() const { return wake_; }
  std::vector<Item> Take();

 private:
  static constexpr absl::Duration kShortestPause = absl::Milliseconds(100);

  void Run();
  bool Reconnect(const absl::Status& why);  // false: stopped, or out of patience (then kEnd was put)
  bool Pause(absl::Duration pause);         // true: stopped
  void Put(Item item);
  bool stopped();

  Client* const client_;
  const std::string job_;
  const absl::Duration patience_;
  const int wake_;                         // eventfd
  int64_t sequence_;                       // of the newest event; used by the thread alone
  absl::Duration pause_ = kShortestPause;  // before the next call after a loss; used by the thread alone
  Mutex mutex_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  CondVar stopping_;
  std::thread thread_;
};

}  // namespace winnow::cli

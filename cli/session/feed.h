#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/session/client.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// A job's events from a thread of its own, over as many connections as it takes.
class Feed {
 public:
  struct Item {
    enum Kind { kEvent, kLost, kBack, kEnd };
    Kind kind = kEvent;
    v1::TuningJobEvent event;  // of kEvent; of kBack only the job as it is now
    absl::Status status;       // of kEnd: OK when the job has ended; of kLost: why
  };

  // Begins after `after_sequence`. Once the server is away for longer than `patience`, the feed ends with its
  // error. `client` must outlive it.
  Feed(Client* client, std::string job, int64_t after_sequence, absl::Duration patience);
  ~Feed();  // cancels the watch

  // Readable (poll) when Take has something to give.
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
  int64_t sequence_;                       // of the newest event; the thread's own
  absl::Duration pause_ = kShortestPause;  // before the next call after a loss; the thread's own
  std::mutex mutex_;
  std::deque<Item> items_;  // guarded by mutex_
  bool stop_ = false;       // guarded by mutex_
  std::condition_variable stopping_;
  std::thread thread_;
};

}  // namespace winnow::cli

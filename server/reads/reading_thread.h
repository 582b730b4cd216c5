#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/task_threads.h"
#include "server/engine/context.h"

namespace winnow {

// A thread that reads committed rows over its own connection, so that neither the coordinator nor gRPC's
// threads wait for the disk; or several threads, for work that may stall. `Desk` is the reader object of each
// thread, made from the connection and a clock. Thread-safe.
template <typename Desk>
class ReadingThread {
 public:
  // REQUIRES: the file is at the newest version.
  static absl::StatusOr<std::unique_ptr<ReadingThread>> Start(const std::string& file, Clock clock,
                                                              int threads = 1) {
    std::unique_ptr<ReadingThread> reader(new ReadingThread(file, std::move(clock), threads));
    for (int i = 0; i < threads; ++i) {
      absl::StatusOr<std::unique_ptr<Store>> store = Store::OpenReadOnly(file);
      if (!store.ok()) return store.status();
      reader->GiveBack(std::make_unique<Lane>(*std::move(store), reader->clock_));
    }
    return reader;
  }

  // Runs `read` on a reader's thread, in the order of posting; with several threads on the first free one.
  // The destructor runs what is queued.
  void Post(std::function<void(Desk&)> read) { threads_.Post(With(std::move(read))); }
  // Returns false, and posts nothing, if `most` are already queued.
  bool PostWithin(size_t most, std::function<void(Desk&)> read) {
    return threads_.PostWithin(most, With(std::move(read)));
  }

  // The file, for starting another such thread.
  const std::string& file() const { return file_; }
  const Clock& clock() const { return clock_; }

 private:
  struct Lane {
    Lane(std::unique_ptr<Store> connection, const Clock& clock)
        : store(std::move(connection)), desk(*store, clock) {}
    std::unique_ptr<Store> store;
    Desk desk;
  };

  ReadingThread(std::string file, Clock clock, int threads)
      : file_(std::move(file)), clock_(std::move(clock)), threads_(threads) {}

  std::function<void()> With(std::function<void(Desk&)> read) {
    return [this, read = std::move(read)] {
      std::unique_ptr<Lane> lane = Take();
      read(lane->desk);
      GiveBack(std::move(lane));
    };
  }
  std::unique_ptr<Lane> Take() {
    MutexLock lock(mutex_);
    std::unique_ptr<Lane> lane = std::move(idle_.back());
    idle_.pop_back();
    return lane;
  }
  void GiveBack(std::unique_ptr<Lane> lane) {
    MutexLock lock(mutex_);
    idle_.push_back(std::move(lane));
  }

  const std::string file_;
  const Clock clock_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Lane>> idle_ ABSL_GUARDED_BY(mutex_);  // one for each thread that is idle
  TaskThreads threads_;
};

}  // namespace winnow

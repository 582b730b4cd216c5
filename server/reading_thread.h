#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "server/context.h"

namespace winnow {

// A thread that reads committed rows over its own connection, so that neither the coordinator nor gRPC's
// threads wait for the disk. `Desk` is what it does; it is made from the connection and a clock. Thread-safe.
template <typename Desk>
class ReadingThread {
 public:
  // REQUIRES the file is at the newest version.
  static absl::StatusOr<std::unique_ptr<ReadingThread>> Start(const std::string& file, Clock clock) {
    absl::StatusOr<std::unique_ptr<Store>> store = Store::OpenReadOnly(file);
    if (!store.ok()) return store.status();
    std::unique_ptr<ReadingThread> reader(new ReadingThread(*std::move(store), std::move(clock)));
    reader->thread_ = std::thread([raw = reader.get()] { raw->Run(); });
    return reader;
  }

  // Runs what is queued, then stops.
  ~ReadingThread() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  // `read` runs on the reader's thread, after those posted before it.
  void Post(std::function<void(Desk&)> read) {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(read));
    }
    wake_.notify_one();
  }

  // What another thread of the kind is started with.
  const std::string& file() const { return file_; }
  const Clock& clock() const { return clock_; }

 private:
  ReadingThread(std::unique_ptr<Store> store, Clock clock)
      : store_(std::move(store)),
        file_(store_->database().file()),
        clock_(clock),
        desk_(*store_, std::move(clock)) {}

  void Run() {
    while (true) {
      std::function<void(Desk&)> read;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) return;
        read = std::move(queue_.front());
        queue_.pop_front();
      }
      read(desk_);
    }
  }

  std::unique_ptr<Store> store_;
  const std::string file_;
  const Clock clock_;
  Desk desk_;  // the thread's own
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void(Desk&)>> queue_;  // guarded by mutex_
  bool stopping_ = false;                         // guarded by mutex_
  std::thread thread_;
};

}  // namespace winnow

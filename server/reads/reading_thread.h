#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/engine/context.h"

namespace winnow {

// A thread that reads committed rows over its own connection, so that neither the coordinator nor gRPC's
// threads wait for the disk; or several threads, for work that may stall. `Desk` is the reader object of each
// thread, made from the connection and a clock. Thread-safe.
template <typename Desk>
class ReadingThread {
 public:
  // REQUIRES: the file is at the newest version.
  static absl::StatusOr<std::unique_ptr<ReadingThread>> Start(const std::string& file, Clock clock, int threads = 1) {
    std::unique_ptr<ReadingThread> reader(new ReadingThread(file, std::move(clock)));
    for (int i = 0; i < threads; ++i) {
      absl::StatusOr<std::unique_ptr<Store>> store = Store::OpenReadOnly(file);
      if (!store.ok()) return store.status();
      reader->lanes_.push_back(std::make_unique<Lane>(*std::move(store), reader->clock_));
    }
    for (const auto& lane : reader->lanes_) {
      lane->thread = std::thread([raw = reader.get(), desk = &lane->desk] { raw->Run(*desk); });
    }
    return reader;
  }

  // Runs what is queued, then stops.
  ~ReadingThread() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (const auto& lane : lanes_) {
      if (lane->thread.joinable()) lane->thread.join();
    }
  }

  // Runs `read` on a reader's thread, in the order of posting; with several threads on the first free one.
  void Post(std::function<void(Desk&)> read) { PostWithin(std::numeric_limits<size_t>::max(), std::move(read)); }
  // Returns false, and posts nothing, if `most` are already queued.
  bool PostWithin(size_t most, std::function<void(Desk&)> read) {
    {
      std::lock_guard lock(mutex_);
      if (queue_.size() >= most) return false;
      queue_.push_back(std::move(read));
    }
    wake_.notify_one();
    return true;
  }

  // The file, for starting another such thread.
  const std::string& file() const { return file_; }
  const Clock& clock() const { return clock_; }

 private:
  struct Lane {
    Lane(std::unique_ptr<Store> connection, const Clock& clock) : store(std::move(connection)), desk(*store, clock) {}
    std::unique_ptr<Store> store;
    Desk desk;  // used by the thread alone
    std::thread thread;
  };

  ReadingThread(std::string file, Clock clock) : file_(std::move(file)), clock_(std::move(clock)) {}

  void Run(Desk& desk) {
    while (true) {
      std::function<void(Desk&)> read;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) return;
        read = std::move(queue_.front());
        queue_.pop_front();
      }
      read(desk);
    }
  }

  const std::string file_;
  const Clock clock_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void(Desk&)>> queue_;  // guarded by mutex_
  bool stopping_ = false;                         // guarded by mutex_
};

}  // namespace winnow

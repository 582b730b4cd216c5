#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "server/reads.h"

namespace winnow {

// A thread that reads committed rows over its own connection, so that neither the coordinator nor gRPC's
// threads wait for the disk. Thread-safe.
class Reader {
 public:
  // REQUIRES the file is at the newest version.
  static absl::StatusOr<std::unique_ptr<Reader>> Start(const std::string& file, Clock clock);
  // Runs what is queued, then stops.
  ~Reader();

  // `read` runs on the reader's thread, after those posted before it.
  void Post(std::function<void(Reads&)> read);

 private:
  Reader(std::unique_ptr<Store> store, Clock clock);
  void Run();

  std::unique_ptr<Store> store_;
  Reads reads_;  // the thread's own
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void(Reads&)>> queue_;  // guarded by mutex_
  bool stopping_ = false;                          // guarded by mutex_
  std::thread thread_;
};

}  // namespace winnow

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"

namespace winnow {

// Calls the listeners of a topic when something of it was committed. Topics: JobTopic, LogTopic and
// kStopTopic. Thread-safe.
class Hub {
 public:
  using Listener = std::function<void()>;

  // `listener` is called on the publisher's thread and must not block. It may still be called once while
  // Unsubscribe runs on another thread.
  int64_t Subscribe(const std::string& topic, Listener listener);
  void Unsubscribe(int64_t subscription);
  void Publish(const std::string& topic);
  // All topics but kStopTopic: something may have been committed by another server.
  void PublishAll();

 private:
  Mutex mutex_;
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<int64_t, std::string> topics_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::map<int64_t, std::shared_ptr<Listener>>> listeners_ ABSL_GUARDED_BY(mutex_);
};

// Published once, when the server stops: streams, long polls and pending calls end.
inline constexpr char kStopTopic[] = "stop";
std::string JobTopic(const std::string& job_id);
std::string LogTopic(int64_t assignment);

}  // namespace winnow

#include "server/engine/hub.h"

#include <fmt/format.h>

#include <vector>

namespace winnow {

int64_t Hub::Subscribe(const std::string& topic, Listener listener) {
  MutexLock lock(mutex_);
  int64_t subscription = next_++;
  topics_[subscription] = topic;
  listeners_[topic][subscription] = std::make_shared<Listener>(std::move(listener));
  return subscription;
}

void Hub::Unsubscribe(int64_t subscription) {
  MutexLock lock(mutex_);
  auto topic = topics_.find(subscription);
  if (topic == topics_.end()) return;
  auto listeners = listeners_.find(topic->second);
  listeners->second.erase(subscription);
  if (listeners->second.empty()) listeners_.erase(listeners);
  topics_.erase(topic);
}

void Hub::Publish(const std::string& topic) {
  std::vector<std::shared_ptr<Listener>> told;
  {
    MutexLock lock(mutex_);
    auto listeners = listeners_.find(topic);
    if (listeners == listeners_.end()) return;
    for (const auto& [subscription, listener] : listeners->second) told.push_back(listener);
  }
  for (const auto& listener : told) (*listener)();
}

void Hub::PublishAll() {
  std::vector<std::shared_ptr<Listener>> told;
  {
    MutexLock lock(mutex_);
    for (const auto& [topic, listeners] : listeners_) {
      if (topic == kStopTopic) continue;
      for (const auto& [subscription, listener] : listeners) told.push_back(listener);
    }
  }
  for (const auto& listener : told) (*listener)();
}

std::string JobTopic(const std::string& job_id) { return "job:" + job_id; }
std::string LogTopic(int64_t assignment) { return fmt::format("log:{}", assignment); }

}  // namespace winnow

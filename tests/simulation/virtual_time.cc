#include "tests/simulation/virtual_time.h"

#include <algorithm>

namespace winnow {

VirtualTime::Id VirtualTime::At(int64_t when_us, std::function<void()> event) {
  const Id id = ++last_;
  const int64_t at = std::max(when_us, now_us_);
  events_.emplace(std::make_pair(at, id), std::move(event));
  when_.emplace(id, at);
  return id;
}

void VirtualTime::Cancel(Id id) {
  const auto found = when_.find(id);
  if (found == when_.end()) return;
  events_.erase({found->second, id});
  when_.erase(found);
}

bool VirtualTime::Step() {
  if (events_.empty()) return false;
  auto next = events_.extract(events_.begin());
  now_us_ = next.key().first;
  when_.erase(next.key().second);
  next.mapped()();
  return true;
}

SimTimers::~SimTimers() {
  for (const auto& [id, timer] : timers_) time_->Cancel(timer.event);
}

Timers::Id SimTimers::At(TimePoint when, std::function<void()> function) {
  const Id id = ++last_;
  timers_[id].function = std::move(function);
  Arm(id, std::chrono::duration_cast<std::chrono::microseconds>(when.time_since_epoch()).count());
  return id;
}

void SimTimers::Arm(Id id, int64_t when_us) {
  timers_.at(id).event = time_->At(when_us, [this, id] { Fire(id); });
}

void SimTimers::Fire(Id id) {
  if (time_->now_us() < stalled_until_us_) {
    Arm(id, stalled_until_us_);
    return;
  }
  auto timer = timers_.extract(id);
  timer.mapped().function();
}

void SimTimers::Cancel(Id id) {
  const auto found = timers_.find(id);
  if (found == timers_.end()) return;
  time_->Cancel(found->second.event);
  timers_.erase(found);
}

}  // namespace winnow

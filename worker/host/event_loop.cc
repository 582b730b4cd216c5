#include "worker/host/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/check.h"

namespace winnow {
namespace {

constexpr EventLoop::Id kWake = 0;  // the epoll tag of wake_; watches count from 1

// These calls fail only when the process is out of descriptors or memory, which no caller can handle.
constexpr char kExpected[] = "descriptors and memory suffice";

void Add(int epoll, int fd, EventLoop::Id id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  WINNOW_CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, kExpected);
}

}  // namespace

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  WINNOW_CHECK(epoll_ >= 0 && wake_ >= 0, kExpected);
  Add(epoll_, wake_, kWake);
}

EventLoop::~EventLoop() {
  close(wake_);
  close(epoll_);
}

void EventLoop::Post(std::function<void()> function) {
  {
    MutexLock lock(mutex_);
    posted_.push_back(std::move(function));
    if (posted_.size() > 1) return;  // the loop is already told to take them
  }
  const uint64_t one = 1;
  WINNOW_CHECK(write(wake_, &one, sizeof one) == sizeof one || errno == EAGAIN, kExpected);
}

void EventLoop::Quit() {
  {
    MutexLock lock(mutex_);
    quit_ = true;
  }
  Post([] {});
}

EventLoop::Id EventLoop::Watch(int fd, std::function<void()> readable) {
  const Id id = ++last_id_;
  watched_[id] = {fd, std::make_shared<std::function<void()>>(std::move(readable))};
  Add(epoll_, fd, id);
  return id;
}

void EventLoop::Unwatch(Id id) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  epoll_ctl(epoll_, EPOLL_CTL_DEL, found->second.fd, nullptr);
  watched_.erase(found);
}

EventLoop::Id EventLoop::At(TimePoint when, std::function<void()> function) {
  const Id id = ++last_id_;
  timers_[{when, id}] = std::move(function);
  timer_times_[id] = when;
  return id;
}

void EventLoop::Cancel(Id id) {
  const auto found = timer_times_.find(id);
  if (found == timer_times_.end()) return;
  timers_.erase({found->second, id});
  timer_times_.erase(found);
}

void EventLoop::RunPosted() {
  std::vector<std::function<void()>> functions;
  {
    MutexLock lock(mutex_);
    functions.swap(posted_);
  }
  for (auto& function : functions) function();
}

void EventLoop::RunTimers() {
  const TimePoint now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    const auto first = timers_.begin();
    const std::function<void()> function = std::move(first->second);
    timer_times_.erase(first->first.second);
    timers_.erase(first);
    function();
  }
}

int EventLoop::MillisecondsToNextTimer() const {
  if (timers_.empty()) return -1;
  const auto left = timers_.begin()->first.first - Clock::now();
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<int64_t>(milliseconds, 0, 3'600'000));
}

void EventLoop::Run() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (quit_) {
        quit_ = false;
        return;
      }
    }
    std::array<epoll_event, 64> events;
    const int count = epoll_wait(epoll_, events.data(), events.size(), MillisecondsToNextTimer());
    WINNOW_CHECK(count >= 0 || errno == EINTR, kExpected);
    for (int i = 0; i < count; ++i) {
      const Id id = events[i].data.u64;
      if (id == kWake) {
        uint64_t posts;
        WINNOW_CHECK(read(wake_, &posts, sizeof posts) == sizeof posts || errno == EAGAIN, kExpected);
        continue;
      }
      // An earlier handler of this round may have removed the watch.
      const auto found = watched_.find(id);
      if (found == watched_.end()) continue;
      const auto readable = found->second.readable;
      (*readable)();
    }
    RunPosted();
    RunTimers();
  }
}

}  // namespace winnow

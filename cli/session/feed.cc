#include "cli/session/feed.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/time/clock.h"

namespace winnow::cli {
namespace {

constexpr absl::Duration kLongestPause = absl::Seconds(1);
constexpr absl::Duration kConnectSlice = absl::Milliseconds(200);  // how long a stop may go unnoticed

}  // namespace

Feed::Feed(Client* client, std::string job, int64_t after_sequence, absl::Duration patience)
    : client_(client),
      job_(std::move(job)),
      patience_(patience),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      sequence_(after_sequence),
      thread_([this] { Run(); }) {}

Feed::~Feed() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  stopping_.NotifyAll();
  client_->CancelWatch();
  thread_.join();
  close(wake_);
}

std::vector<Feed::Item> Feed::Take() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t bytes = read(wake_, &count, sizeof count);
  MutexLock lock(mutex_);
  std::vector<Item> items(std::make_move_iterator(items_.begin()), std::make_move_iterator(items_.end()));
  items_.clear();
  return items;
}

void Feed::Run() {
  while (!stopped()) {
    const absl::Status status = client_->Watch(job_, sequence_, [this](const v1::TuningJobEvent& event) {
      pause_ = kShortestPause;
      sequence_ = std::max(sequence_, event.sequence());
      Put({Item::kEvent, event, {}});
    });
    if (stopped()) return;
    if (absl::IsDeadlineExceeded(status)) continue;
    if (!IsLoss(status)) {
      Put({Item::kEnd, {}, status});
      return;
    }
    if (!Reconnect(status)) return;
  }
}

bool Feed::Reconnect(const absl::Status& why) {
  Put({Item::kLost, {}, why});
  const absl::Time deadline = absl::Now() + patience_;
  while (!Pause(std::min(pause_, deadline - absl::Now()))) {
    // gRPC connects only while a caller waits: a sleep would notice each attempt's end too late.
    while (!client_->AwaitConnection(std::min(absl::Now() + kConnectSlice, deadline))) {
      if (stopped()) return false;
      if (absl::Now() >= deadline) break;
    }
    pause_ = std::min(pause_ * 2, kLongestPause);
    auto job = client_->Describe(job_);
    if (job.ok()) {
      v1::TuningJobEvent event;
      *event.mutable_job() = *std::move(job);
      Put({Item::kBack, std::move(event), {}});
      return true;
    }
    if (!IsLoss(job.status()) || absl::Now() >= deadline) {
      Put({Item::kEnd, {}, job.status()});
      return false;
    }
  }
  return false;
}

bool Feed::Pause(absl::Duration pause) {
  MutexLock lock(mutex_);
  const auto end =
      std::chrono::steady_clock::now() + absl::ToChronoMicroseconds(std::max(pause, absl::ZeroDuration()));
  while (!stop_ && stopping_.WaitUntil(mutex_, end)) {
  }
  return stop_;
}

void Feed::Put(Item item) {
  {
    MutexLock lock(mutex_);
    items_.push_back(std::move(item));
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t bytes = write(wake_, &one, sizeof one);
}

bool Feed::stopped() {
  MutexLock lock(mutex_);
  return stop_;
}

}  // namespace winnow::cli

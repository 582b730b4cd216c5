#include "cli/feed.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/time/clock.h"

namespace winnow::cli {
namespace {

// How long a wait for the server goes on before the thread looks whether it should stop.
constexpr absl::Duration kSlice = absl::Milliseconds(200);

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
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  client_->CancelWatch();
  thread_.join();
  close(wake_);
}

std::vector<Feed::Item> Feed::Take() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t bytes = read(wake_, &count, sizeof count);
  const std::lock_guard lock(mutex_);
  std::vector<Item> items(std::make_move_iterator(items_.begin()), std::make_move_iterator(items_.end()));
  items_.clear();
  return items;
}

void Feed::Run() {
  while (!stopped()) {
    const absl::Status status = client_->Watch(job_, sequence_, [this](const v1::TuningJobEvent& event) {
      if (std::exchange(away_, false)) Put({Item::kBack, {}, {}});
      sequence_ = std::max(sequence_, event.sequence());
      Put({Item::kEvent, event, {}});
    });
    if (absl::IsDeadlineExceeded(status)) continue;
    if (!absl::IsUnavailable(status)) {
      Put({Item::kEnd, {}, status});
      return;
    }
    if (!Reconnect(status)) return;
  }
}

bool Feed::Reconnect(absl::Status why) {
  if (!std::exchange(away_, true)) Put({Item::kLost, {}, why});
  const absl::Time deadline = absl::Now() + patience_;
  while (!stopped()) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      Put({Item::kEnd, {}, std::move(why)});
      return false;
    }
    if (client_->WaitForServer(std::min(left, kSlice))) return true;
  }
  return false;
}

void Feed::Put(Item item) {
  {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t bytes = write(wake_, &one, sizeof one);
}

bool Feed::stopped() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

}  // namespace winnow::cli

#include "trainers/collective/message_box.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace winnow {

MessageBox::Tag* MessageBox::TagOf(uint32_t tag) {
  return &tags_.try_emplace(tag, closed_.size()).first->second;
}

void MessageBox::Put(int from, uint32_t tag, std::string bytes) {
  MutexLock lock(mutex_);
  if (!status_.ok()) return;
  Tag* const of = TagOf(tag);
  of->from[from].push_back({arrivals_++, std::move(bytes)});
  ++of->messages;
  of->arrival.NotifyAll();
}

int MessageBox::Oldest(const Tag& tag, std::optional<int> from) {
  if (from.has_value()) return tag.from[*from].empty() ? -1 : *from;
  int oldest = -1;
  for (int r = 0; r < static_cast<int>(tag.from.size()); ++r) {
    if (tag.from[r].empty()) continue;
    if (oldest < 0 || tag.from[r].front().number < tag.from[oldest].front().number) oldest = r;
  }
  return oldest;
}

bool MessageBox::MayCome(std::optional<int> from) const {
  if (from.has_value()) return !closed_[*from];
  return std::find(closed_.begin(), closed_.end(), false) != closed_.end();
}

absl::StatusOr<Message> MessageBox::Take(std::optional<int> from, uint32_t tag) {
  MutexLock lock(mutex_);
  Tag* const of = TagOf(tag);
  int sender = Oldest(*of, from);
  ++of->takers;
  while (status_.ok() && sender < 0 && MayCome(from)) {
    of->arrival.Wait(mutex_);
    sender = Oldest(*of, from);
  }
  --of->takers;
  absl::StatusOr<Message> taken = Message();
  if (!status_.ok()) {
    taken = status_;
  } else if (sender < 0) {
    const std::string who = from.has_value() ? fmt::format("rank {}", *from) : "any rank";
    taken = absl::OutOfRangeError(fmt::format("no message of tag {} comes from {}: closed", tag, who));
  } else {
    std::deque<Waiting>& messages = of->from[sender];
    taken = Message{sender, std::move(messages.front().bytes)};
    messages.pop_front();
    --of->messages;
  }
  if (of->takers == 0 && of->messages == 0) tags_.erase(tag);
  return taken;
}

void MessageBox::WakeAll() {
  for (auto& [number, tag] : tags_) tag.arrival.NotifyAll();
  ends_.NotifyAll();
}

void MessageBox::Close(int rank) {
  MutexLock lock(mutex_);
  closed_[rank] = true;
  WakeAll();
}

bool MessageBox::closed(int rank) const {
  MutexLock lock(mutex_);
  return closed_[rank];
}

bool MessageBox::all_closed() const {
  MutexLock lock(mutex_);
  return !MayCome(std::nullopt);
}

absl::Status MessageBox::AwaitClosed() {
  MutexLock lock(mutex_);
  while (status_.ok() && MayCome(std::nullopt)) ends_.Wait(mutex_);
  return status_;
}

bool MessageBox::Fail(const absl::Status& error) {
  MutexLock lock(mutex_);
  if (!status_.ok()) return false;
  status_ = error;
  WakeAll();
  return true;
}

absl::Status MessageBox::status() const {
  MutexLock lock(mutex_);
  return status_;
}

}  // namespace winnow

#include "server/engine/worker_marks.h"

#include <fmt/format.h>

#include <algorithm>

#include "winnow/v1/webhooks.pb.h"

namespace winnow {
namespace {

const char* TroubleName(const std::deque<std::pair<int64_t, WorkerMarks::Trouble>>& troubles) {
  const auto lost = std::count_if(troubles.begin(), troubles.end(), [](const auto& trouble) {
    return trouble.second == WorkerMarks::Trouble::kLost;
  });
  return lost == 0 ? "failed starts" : lost == std::ssize(troubles) ? "losses" : "failed starts and losses";
}

}  // namespace

absl::Status WorkerMarks::Load() {
  marks_.clear();
  troubles_.clear();
  absl::StatusOr<std::vector<WorkerMark>> marks = context_.store.workers.Marks();
  if (!marks.ok()) return marks.status();
  for (WorkerMark& mark : *marks) {
    if (mark.until_us > 0) {
      const int64_t left = std::max<int64_t>(0, mark.until_us - context_.wall_us());
      context_.deadlines.Set(Deadlines::Kind::kQuarantine, mark.name, context_.steady_us() + left);
    }
    marks_[mark.name] = std::move(mark);
  }
  return absl::OkStatus();
}

const WorkerMark* WorkerMarks::Find(const std::string& name) const {
  const auto found = marks_.find(name);
  return found == marks_.end() ? nullptr : &found->second;
}

void WorkerMarks::Put(WorkerMark mark) {
  context_.Note(context_.store.workers.PutMark(mark));
  context_.deadlines.Clear(Deadlines::Kind::kQuarantine, mark.name);
  marks_[mark.name] = std::move(mark);
}

void WorkerMarks::Clear(const std::string& name) {
  if (marks_.erase(name) == 0) return;
  context_.Note(context_.store.workers.ClearMark(name));
  context_.deadlines.Clear(Deadlines::Kind::kQuarantine, name);
  troubles_.erase(name);
}

void WorkerMarks::NoteTrouble(const std::string& name, Trouble trouble, const std::string& what) {
  const EngineOptions& options = context_.options;
  const int64_t now = context_.steady_us();
  std::deque<std::pair<int64_t, Trouble>>& troubles = troubles_[name];
  troubles.emplace_back(now, trouble);
  while (troubles.front().first < now - options.quarantine_window * options.lease_us) troubles.pop_front();
  if (static_cast<int>(troubles.size()) < options.quarantine_after || Find(name) != nullptr) return;
  const int64_t time_us = options.quarantine_time * options.lease_us;
  WorkerMark mark;
  mark.name = name;
  mark.scheduling = Marked::kQuarantined;
  mark.reason = fmt::format("{} {} in {} s{}{}", troubles.size(), TroubleName(troubles),
                            options.quarantine_window * options.lease_us / 1'000'000, kLastTrouble, what);
  mark.until_us = context_.wall_us() + time_us;
  v1::Event event;
  event.set_kind(v1::Event::WORKER_QUARANTINED);
  event.set_worker(name);
  event.set_text(mark.reason);
  context_.Tell(event);
  Put(std::move(mark));
  context_.deadlines.Set(Deadlines::Kind::kQuarantine, name, now + time_us);
}

void WorkerMarks::EndQuarantine(const std::string& name) {
  const WorkerMark* mark = Find(name);
  if (mark != nullptr && mark->scheduling == Marked::kQuarantined) Clear(name);
}

}  // namespace winnow

#include "server/engine/usage.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>

#include "server/engine/workers.h"

namespace winnow {
namespace {

using google::protobuf::util::TimeUtil;

// More than workers keep; of more, the newest count.
constexpr int kMostSamples = 100;
// A worker whose newest sample is further from now has a clock of its own: its samples are moved.
constexpr int64_t kClockToleranceUs = 60'000'000;
// A sample that is so much older than the last one was not sent before: the worker's clock was set back.
constexpr int64_t kSetBackUs = 600'000'000;
constexpr int64_t kRollUpEveryS = 60;
// Its row is written anew after so long, for it says when the worker was there.
constexpr int64_t kPutEveryS = 86'400;
constexpr double kMostProcessors = 1e6;
constexpr double kMostGib = 1e9;

constexpr int64_t kStepS = kUsageLevels.front().step_s;

// NaN is 0.
double Within(double value, double most) { return value > 0 ? std::min(value, most) : 0; }

// Absent: the worker does not say it, or says what cannot be.
std::optional<double> PartSaid(bool has, double value) {
  return has && value >= 0 && value <= 1 ? std::optional(value) : std::nullopt;
}

}  // namespace

void UsageRecorder::Clear() {
  hosts_.clear();
  ranks_.clear();
  rolled_up_s_ = 0;
}

const UsageRecorder::Newest* UsageRecorder::Find(const std::string& name) const {
  const auto found = hosts_.find(name);
  return found == hosts_.end() ? nullptr : &found->second.newest;
}

UsageRecorder::Host& UsageRecorder::HostOf(const WorkerEntry& worker, int64_t now_s) {
  Host& host = hosts_[worker.row.name];
  if (host.key == 0 || host.host != worker.row.host || host.slots != worker.row.slots ||
      now_s - host.put_s > kPutEveryS) {
    host.host = worker.row.host;
    host.slots = worker.row.slots;
    host.put_s = now_s;
    host.key = context_.Note(context_.store.usage.PutWorker(worker.row.name, host.host, host.slots, now_s));
  }
  return host;
}

void UsageRecorder::Take(WorkerEntry& worker, const v1::SyncRequest& request) {
  if (request.usage().empty()) return;
  const int64_t now_us = context_.wall_us();
  const int64_t now_s = now_us / 1'000'000;
  Host& host = HostOf(worker, now_s);
  const auto said = [](const v1::UsageSample& sample) {
    const int64_t seconds = sample.time().seconds();
    return seconds >= 0 && seconds <= TimeUtil::kTimestampMaxSeconds
               ? TimeUtil::TimestampToMicroseconds(sample.time())
               : 0;
  };
  const int64_t newest_us = said(*request.usage().rbegin());
  if (newest_us <= 0) return;
  if (newest_us < host.said_us - kSetBackUs) host.said_us = 0;
  const int64_t off_us = now_us - newest_us;
  const int64_t moved_us = std::abs(off_us) > kClockToleranceUs ? off_us : 0;
  const double slots = worker.held_slots.TakeMean(context_.steady_us());
  for (int i = std::max(0, request.usage_size() - kMostSamples); i < request.usage_size(); ++i) {
    const v1::UsageSample& sample = request.usage(i);
    const int64_t said_us = said(sample);
    if (said_us <= host.said_us) continue;
    host.said_us = said_us;
    const int64_t time_us = std::min(now_us, said_us + moved_us);
    Add(host, time_us / 1'000'000, sample, slots);
    for (const v1::AssignmentUsage& usage : sample.assignments()) {
      const auto held = worker.held.find(usage.assignment_id());
      if (held == worker.held.end()) continue;
      const AssignmentRow& row = held->second->row;
      AddRank(row.key, std::max<int64_t>(0, time_us - row.place_us) / 1'000'000, usage);
    }
  }
  for (const v1::Gpu& gpu : request.gpus()) {
    host.newest.gpus[gpu.id()] = {PartSaid(gpu.has_utilization(), gpu.utilization()),
                                  PartSaid(gpu.has_memory(), gpu.memory())};
  }
  if (now_s / kRollUpEveryS == rolled_up_s_ / kRollUpEveryS) return;
  rolled_up_s_ = now_s;
  context_.Note(context_.store.usage.RollUp(now_s));
}

void UsageRecorder::Add(Host& host, int64_t time_s, const v1::UsageSample& sample, double slots) {
  host.newest = {Within(sample.cpu(), 1), Within(sample.memory(), 1)};
  const int64_t start_s = time_s - time_s % kStepS;
  if (start_s > host.open.start_s) {
    Write(host);
    host.open = {start_s};
  }
  ++host.open.samples;
  host.open.mean += host.newest.cpu;
  host.open.highest = std::max(host.open.highest, host.newest.memory);
  host.open.slots += slots;
}

void UsageRecorder::Write(const Host& host) {
  const Open& open = host.open;
  if (open.samples == 0) return;
  const auto samples = static_cast<double>(open.samples);
  context_.Note(context_.store.usage.Put(
      WorkerStep{open.start_s, host.key, open.mean / samples, open.highest, open.slots / samples}));
}

void UsageRecorder::AddRank(int64_t assignment, int64_t elapsed_s, const v1::AssignmentUsage& usage) {
  Open& open = ranks_[assignment];
  const int64_t step_s = AssignmentStepSeconds(elapsed_s);
  const int64_t start_s = elapsed_s - elapsed_s % step_s;
  if (start_s > open.start_s) {
    WriteRank(assignment, open);
    if (open.start_s < 0 || AssignmentStepSeconds(open.start_s) != step_s) {
      context_.Note(context_.store.usage.Coarsen(assignment, step_s));
    }
    open = {start_s};
  }
  ++open.samples;
  open.mean += Within(usage.cpus(), kMostProcessors);
  open.highest = std::max(open.highest, Within(usage.memory_gib(), kMostGib));
}

void UsageRecorder::WriteRank(int64_t assignment, const Open& open) {
  if (open.samples == 0) return;
  context_.Note(context_.store.usage.Put(
      assignment, AssignmentStep{open.start_s, open.mean / static_cast<double>(open.samples), open.highest}));
}

void UsageRecorder::Ended(int64_t assignment) {
  const auto found = ranks_.find(assignment);
  if (found == ranks_.end()) return;
  WriteRank(assignment, found->second);
  ranks_.erase(found);
}

}  // namespace winnow

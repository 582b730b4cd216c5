#include "spec/checks/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "scheduler/changes.h"
#include "spec/checks/changed_range.h"
#include "spec/checks/cluster.h"
#include "spec/cluster.h"
#include "spec/initial_configurations.h"

namespace winnow {
namespace {

constexpr size_t kLongestReason = 1000;
constexpr double kMostLimitSeconds = 1e9;
constexpr double kMicrosOfSecond = 1e6;

using Violations = std::vector<Violation>;
using FactsRead = std::variant<std::vector<FactBody>, Violations>;

template <typename... Facts>
FactsRead ReadAs(Facts... facts) {
  return std::vector<FactBody>{FactBody(std::move(facts))...};
}

Violations CheckReason(const std::string& reason) {
  if (reason.size() > kLongestReason)
    return {{"reason", fmt::format("has {} bytes; expected at most {}", reason.size(), kLongestReason)}};
  const bool is_line = std::none_of(reason.begin(), reason.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
  if (!is_line) return {{"reason", "contains a line break or a control character; expected one line"}};
  return {};
}

// Writes the given seconds as microseconds.
void ReadSeconds(const char* limit, double seconds, int64_t* us, Violations* violations) {
  if (seconds >= 0 && seconds <= kMostLimitSeconds) {
    *us = std::llround(seconds * kMicrosOfSecond);
    return;
  }
  violations->push_back({fmt::format("limits.{}", limit),
                         fmt::format("is {}; expected seconds from 0 (none) to 1e9", seconds)});
}

// The limits of the state but for those that are given, of which the times may be wrong.
LimitsChanged ReadLimits(const v1::ChangedLimits& given, const JobState& state, const std::string& by,
                         const std::string& why, Violations* violations) {
  const Limits& now = state.spec().limits;
  LimitsChanged change{
      by,
      why,
      given.has_max_trials() ? given.max_trials() : now.max_trials,
      given.has_max_parallel_trials() ? given.max_parallel_trials() : now.max_parallel_trials,
      given.has_max_total_resource() ? given.max_total_resource() : now.max_total_resource,
      now.max_wall_time_us,
      now.max_node_time_us,
      given.has_max_cost() ? given.max_cost() : now.max_cost};
  if (given.has_max_wall_seconds())
    ReadSeconds("max_wall_seconds", given.max_wall_seconds(), &change.max_wall_time_us, violations);
  if (given.has_max_node_seconds())
    ReadSeconds("max_node_seconds", given.max_node_seconds(), &change.max_node_time_us, violations);
  return change;
}

FactsRead ReadNewLimits(const v1::ChangedLimits& given, const JobState& state, const std::string& by,
                        const std::string& why) {
  Violations violations;
  LimitsChanged change = ReadLimits(given, state, by, why, &violations);
  if (WithLimits(state.spec(), change).limits == state.spec().limits && violations.empty())
    violations.push_back({"limits", "change nothing; expected another value of one"});
  const Violations limits = CheckLimits(state, change);
  violations.insert(violations.end(), limits.begin(), limits.end());
  if (!violations.empty()) return violations;
  return ReadAs(std::move(change));
}

FactsRead ReadContinued(const v1::ChangedLimits& given, const JobState& state, const std::string& by,
                        const std::string& why) {
  JobContinued continued{by, why};
  if (!state.ended()) return ReadAs(std::move(continued));  // which contradicts the state
  Violations violations;
  LimitsChanged change = ReadLimits(given, state, by, why, &violations);
  if (violations.empty()) violations = CheckContinued(state, continued, change);
  for (Violation& violation : violations) {
    const std::string limits = "limits";
    if (violation.field.starts_with(limits))
      violation.field = "continue_with" + violation.field.substr(limits.size());
  }
  if (!violations.empty()) return violations;
  return ReadAs(std::move(continued), std::move(change));
}

FactsRead ReadScheduling(const v1::SchedulingSpec& given, const v1::TuningJobSpec& spec,
                         const JobState& state, const std::string& by, const std::string& why) {
  const v1::SchedulingSpec now = SchedulingNow(spec, state);
  v1::TuningJobSpec changed = spec;
  *changed.mutable_scheduling() = now;
  if (given.has_priority()) changed.mutable_scheduling()->set_priority(given.priority());
  if (given.has_weight()) changed.mutable_scheduling()->set_weight(given.weight());
  Violations violations;
  for (Violation& violation : CheckCluster(changed)) {
    if (violation.field.starts_with("scheduling")) violations.push_back(std::move(violation));
  }
  const v1::SchedulingSpec& next = changed.scheduling();
  if (violations.empty() && next.priority() == now.priority() && next.weight() == now.weight())
    violations.push_back({"scheduling", "changes nothing; expected another priority or weight"});
  if (!violations.empty()) return violations;
  return ReadAs(SchedulingChanged{by, why, next.priority(), next.weight()});
}

FactsRead ReadNewRange(const v1::ChangedRange& given, const v1::TuningJobSpec& spec, const JobState& state,
                       const std::string& by, const std::string& why) {
  auto read = ReadRange(given, spec, state);
  if (auto* wrong = std::get_if<Violations>(&read)) return std::move(*wrong);
  RangeChanged& change = std::get<RangeChanged>(read);
  change.by = by;
  change.why = why;
  return ReadAs(std::move(change));
}

}  // namespace

v1::SchedulingSpec SchedulingNow(const v1::TuningJobSpec& spec, const JobState& state) {
  v1::SchedulingSpec now;
  now.set_priority(spec.scheduling().priority());
  now.set_weight(WeightOf(spec));
  if (state.scheduling()) {
    now.set_priority(static_cast<int32_t>(state.scheduling()->priority));
    now.set_weight(state.scheduling()->weight);
  }
  return now;
}

FactsRead ReadChange(const v1::ChangeTuningJobRequest& request, const v1::TuningJobSpec& spec,
                     const JobState& state, const std::string& by) {
  const std::string& why = request.reason();
  if (Violations wrong = CheckReason(why); !wrong.empty()) return wrong;
  const auto unless = [](bool given, const char* field) {
    return given ? Violations() : Violations{{field, "is false; expected true, or another change"}};
  };
  switch (request.change_case()) {
    case v1::ChangeTuningJobRequest::kPause:
      if (Violations wrong = unless(request.pause(), "pause"); !wrong.empty()) return wrong;
      return ReadAs(JobPaused{by, why});
    case v1::ChangeTuningJobRequest::kResume:
      if (Violations wrong = unless(request.resume(), "resume"); !wrong.empty()) return wrong;
      return ReadAs(JobResumed{by, why});
    case v1::ChangeTuningJobRequest::kLimits:
      return ReadNewLimits(request.limits(), state, by, why);
    case v1::ChangeTuningJobRequest::kContinueWith:
      return ReadContinued(request.continue_with(), state, by, why);
    case v1::ChangeTuningJobRequest::kStopTrial:
      return ReadAs(TrialStopRequested{request.stop_trial(), by, why});
    case v1::ChangeTuningJobRequest::kEnqueue: {
      if (Violations wrong = CheckConfiguration(request.enqueue(), state.spec(), "enqueue"); !wrong.empty())
        return wrong;
      Configuration configuration = ReadConfiguration(request.enqueue(), state.spec());
      if (Violations wrong = CheckEnqueued(state, configuration); !wrong.empty()) return wrong;
      return ReadAs(ConfigurationEnqueued{std::move(configuration), by, why});
    }
    case v1::ChangeTuningJobRequest::kScheduling:
      return ReadScheduling(request.scheduling(), spec, state, by, why);
    case v1::ChangeTuningJobRequest::kRange:
      return ReadNewRange(request.range(), spec, state, by, why);
    case v1::ChangeTuningJobRequest::kKeepTrial:
      return ReadAs(TrialKept{request.keep_trial(), by, why});
    case v1::ChangeTuningJobRequest::kReleaseTrial:
      return ReadAs(TrialKept{request.release_trial(), by, why, true});
    case v1::ChangeTuningJobRequest::CHANGE_NOT_SET:
      break;
  }
  return Violations{{"change",
                     "is missing; expected pause, resume, limits, continue_with, stop_trial, enqueue, "
                     "scheduling, range, keep_trial or release_trial"}};
}

}  // namespace winnow

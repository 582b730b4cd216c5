#include "scheduler/changes.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "scheduler/decide.h"
#include "scheduler/has_end.h"
#include "scheduler/samplers/random.h"
#include "scheduler/validate.h"

namespace winnow {
namespace {

constexpr size_t kMostQueued = 1000;

// REQUIRES: the job creates no trial any more.
std::string WhyNoneFits(const JobState& state) {
  const auto created = static_cast<int64_t>(state.trials().size());
  if (state.exhausted()) return "every configuration of the ranges was tried; expected a wider range first";
  if (const int64_t planned = state.table().trial_count(); planned > 0 && created >= planned) {
    return "all " + std::to_string(planned) + " trials of the job's " +
           (TraitsOf(state.spec().pruner.kind).population ? "population" : "brackets") +
           " exist; expected another job";
  }
  return "the job has all of its " + std::to_string(created) +
         " trials; expected a higher limits.max_trials first";
}

}  // namespace

std::vector<Violation> CheckLimits(const JobState& state, const LimitsChanged& change) {
  std::vector<Violation> violations;
  const auto add = [&](const char* limit, const std::string& text) {
    violations.push_back({std::string("limits.") + limit, text});
  };
  const auto within = [&](const char* limit, int64_t value, int64_t least, int64_t most,
                          const std::string& what) {
    const std::string is = "is " + std::to_string(value) + "; expected 0 (none) or at ";
    if (value > most) return add(limit, is + "most " + std::to_string(most));
    if (value != 0 && value < least) add(limit, is + "least " + std::to_string(least) + what);
  };
  within("max_trials", change.max_trials, std::max<int64_t>(1, state.next_trial() - 1), kMostTrialsOfJob,
         ", the number of trials that there are");
  within("max_parallel_trials", change.max_parallel_trials, 1, kMostTrialsOfJob, "");
  within("max_total_resource", change.max_total_resource,
         std::max<int64_t>(1, state.totals().resource + state.totals().reserved_resource), kMostUnitsOfJob,
         ", the units that are trained or are being trained");
  if (!(std::isfinite(change.max_cost) && change.max_cost >= 0)) {
    add("max_cost", "is " + DoubleToString(change.max_cost) + "; expected 0 (none) or an amount of money");
  }
  if (!violations.empty()) return violations;
  if (!HasEnd(state, WithLimits(state.spec(), change).limits)) {
    return {
        {"limits",
         "would leave none that ends the job; expected max_trials, max_total_resource, max_wall_seconds or "
         "max_node_seconds above 0"}};
  }
  if (state.KeepsBrackets(change)) return violations;
  const bool trials = change.max_trials != state.spec().limits.max_trials;
  add(trials ? "max_trials" : "max_total_resource",
      "the brackets of the job were planned with the limits that it had; expected a change that leaves them "
      "as they are, or another job");
  return violations;
}

std::vector<Violation> CheckContinued(const JobState& ended, const JobContinued& continued,
                                      const LimitsChanged& change) {
  JobState state = ended;
  (void)Advance(state, 0, continued);
  if (std::vector<Violation> wrong = CheckLimits(state, change); !wrong.empty()) return wrong;
  (void)Advance(state, 0, change);
  if (!state.ended()) return {};
  return {{"continue_with", "leaves nothing to train: " + state.ended()->reason +
                                " Expected higher limits, such as max_trials"}};
}

std::vector<Violation> CheckRange(const JobState& state, const RangeChanged& change) {
  const auto wrong = [](const std::string& text) { return std::vector<Violation>{{"range", text}}; };
  const Search after = state.SearchAfter(change);
  if (after.table != state.table())
    return wrong(
        "changes how many configurations there are, and the brackets of the job were planned with "
        "that number; expected a range that leaves them as they are, or another job");
  if (!CanBeDrawn(after.spec, after.space))
    return wrong("leaves no configuration that keeps the constraints of the job");
  const auto& queue = state.queue();
  const auto outside = std::find_if(queue.begin(), queue.end(), [&after](const ConfigurationEnqueued& one) {
    return !after.space.Holds(one.configuration);
  });
  if (outside == queue.end()) return {};
  return wrong("leaves out a configuration that is enqueued, " + std::to_string(outside - queue.begin() + 1) +
               " of the queue; expected a range that has it, or the change once it was tried");
}

std::vector<Violation> CheckEnqueued(const JobState& state, const Configuration& configuration) {
  const auto wrong = [](const std::string& text) { return std::vector<Violation>{{"enqueue", text}}; };
  if (state.grid() != nullptr)
    return wrong("the job tries every point of its grid; expected a job without GRID");
  if (!state.space().Holds(configuration)) return wrong("breaks a constraint of the job");
  const auto queued = std::any_of(state.queue().begin(), state.queue().end(),
                                  [&](const auto& one) { return one.configuration == configuration; });
  if (queued || state.tried(configuration)) return wrong("was tried or enqueued already");
  if (state.queue().size() >= kMostQueued) return wrong("1000 configurations are enqueued; expected fewer");
  if (!state.may_create()) return wrong(WhyNoneFits(state));
  return {};
}

}  // namespace winnow

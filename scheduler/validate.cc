#include "scheduler/validate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "scheduler/job_state.h"
#include "scheduler/pruners/pruner.h"
#include "scheduler/samplers/random.h"
#include "scheduler/space.h"

namespace winnow {
namespace {

constexpr int64_t kMostTrials = 1'000'000;
constexpr int64_t kMostResource = 1'000'000'000;
constexpr int64_t kMostUnits = 1'000'000'000'000'000;  // over all trials
constexpr int32_t kMostNodes = 64;
constexpr size_t kMostParameters = 1000;

class Validator {
 public:
  explicit Validator(const SearchSpec& spec) : spec_(spec) {}

  std::vector<Violation> Run() {
    Parameters();
    if (spec_.objective_metric.empty()) Add("objective.metric", "is empty; expected the name of a metric");
    if (HasRungs(spec_.pruner.kind)) Rungs();
    LimitsOf(spec_.limits);
    if (spec_.nodes < 1 || spec_.nodes > kMostNodes) {
      Add("cluster.nodes", "is " + std::to_string(spec_.nodes) + "; expected 1 to 64 nodes per trial");
    }
    if (spec_.seed >> 63 != 0) {
      Add("seed", "is " + std::to_string(spec_.seed) + "; expected at most 9223372036854775807");
    }
    if (violations_.empty() && spec_.limits.max_total_resource > 0) FirstPart();
    return std::move(violations_);
  }

 private:
  void Add(const std::string& field, const std::string& description) {
    violations_.push_back({field, description});
  }

  void Parameters() {
    if (spec_.parameters.empty()) {
      Add("parameters", "is empty; expected at least one hyperparameter to tune");
    }
    if (spec_.parameters.size() > kMostParameters) {
      Add("parameters", "has " + std::to_string(spec_.parameters.size()) + " entries; expected at most 1000");
    }
    std::set<std::string> names;
    for (size_t i = 0; i < spec_.parameters.size(); ++i) {
      const Parameter& parameter = spec_.parameters[i];
      const std::string at = "parameters[" + std::to_string(i) + "]";
      if (parameter.name.empty()) {
        Add(at + ".name", "is empty; expected the name of a hyperparameter");
      } else if (!names.insert(parameter.name).second) {
        Add(at + ".name", "\"" + parameter.name + "\" is declared twice; expected every name once");
      }
      std::visit([this, &at](const auto& range) { RangeOf(at, range); }, parameter.range);
    }
  }

  void RangeOf(const std::string& at, const IntegerRange& range) {
    const std::string field = at + ".integer";
    if (range.min > range.max) {
      Add(field + ".min", "is " + std::to_string(range.min) +
                              ", more than max = " + std::to_string(range.max) + "; expected min <= max");
    }
    if (range.scaling == Scaling::kLog && range.min <= 0) {
      Add(field + ".min", "is " + std::to_string(range.min) + " under LOG scaling; expected min >= 1");
    }
    if (range.scaling == Scaling::kReverseLog) {
      Add(field + ".scaling", "is REVERSE_LOG; expected LINEAR or LOG for an integer");
    }
  }

  void RangeOf(const std::string& at, const ContinuousRange& range) {
    const std::string field = at + ".continuous";
    const std::string min = DoubleToString(range.min), max = DoubleToString(range.max);
    if (!std::isfinite(range.min)) Add(field + ".min", "is " + min + "; expected a finite number");
    if (!std::isfinite(range.max)) Add(field + ".max", "is " + max + "; expected a finite number");
    if (!std::isfinite(range.min) || !std::isfinite(range.max)) return;
    if (range.min > range.max) {
      Add(field + ".min", "is " + min + ", more than max = " + max + "; expected min <= max");
    }
    if (range.scaling == Scaling::kLog && range.min <= 0) {
      Add(field + ".min", "is " + min + " under LOG scaling; expected min > 0");
    }
    if (range.scaling == Scaling::kReverseLog && range.min < 0) {
      Add(field + ".min", "is " + min + " under REVERSE_LOG scaling; expected min >= 0");
    }
    if (range.scaling == Scaling::kReverseLog && range.max >= 1) {
      Add(field + ".max", "is " + max + " under REVERSE_LOG scaling; expected max < 1");
    }
  }

  void RangeOf(const std::string& at, const DiscreteRange& range) {
    const std::string field = at + ".discrete.values";
    if (range.values.empty()) Add(field, "is empty; expected at least one value");
    for (size_t i = 0; i < range.values.size(); ++i) {
      const std::string value = DoubleToString(range.values[i]);
      const std::string entry = field + "[" + std::to_string(i) + "]";
      if (!std::isfinite(range.values[i])) Add(entry, "is " + value + "; expected a finite number");
      if (i == 0 || range.values[i - 1] < range.values[i]) continue;
      Add(entry, "is " + value + ", after " + DoubleToString(range.values[i - 1]) + "; expected rising values");
    }
  }

  void RangeOf(const std::string& at, const CategoricalRange& range) {
    const std::string field = at + ".categorical.values";
    if (range.values.empty()) Add(field, "is empty; expected at least one value");
    std::set<std::string> values;
    for (size_t i = 0; i < range.values.size(); ++i) {
      if (values.insert(range.values[i]).second) continue;
      Add(field + "[" + std::to_string(i) + "]",
          "\"" + range.values[i] + "\" is listed twice; expected every value once");
    }
  }

  void Rungs() {
    const RungSettings& h = spec_.pruner.rungs;
    if (h.min_resource < 1) {
      Add("pruner.min_resource", "is " + std::to_string(h.min_resource) + "; expected at least 1");
    }
    if (h.max_resource < 1 || h.max_resource > kMostResource) {
      Add("pruner.max_resource",
          (h.max_resource == 0 ? std::string("is 0 or missing") : "is " + std::to_string(h.max_resource)) +
              "; expected 1 to 1000000000 units");
    } else if (h.min_resource > h.max_resource) {
      Add("pruner.min_resource", "is " + std::to_string(h.min_resource) +
                                        ", more than max_resource = " + std::to_string(h.max_resource) +
                                        "; expected min_resource <= max_resource");
    }
    if (h.reduction_factor < 2) {
      Add("pruner.reduction_factor", "is " + std::to_string(h.reduction_factor) + "; expected at least 2");
    }
    if (spec_.limits.max_trial_resource != 0) {
      Add("limits.max_trial_resource", "is " + std::to_string(spec_.limits.max_trial_resource) +
                                           " under a pruner with rungs; expected pruner.max_resource instead");
    }
  }

  void Bounded(const std::string& field, int64_t value, int64_t most) {
    if (value >= 0 && value <= most) return;
    Add(field, "is " + std::to_string(value) + "; expected 0 (no limit) to " + std::to_string(most));
  }

  void LimitsOf(const Limits& limits) {
    Bounded("limits.max_trials", limits.max_trials, kMostTrials);
    Bounded("limits.max_total_resource", limits.max_total_resource, kMostUnits);
    Bounded("limits.max_parallel_trials", limits.max_parallel_trials, kMostTrials);
    Bounded("limits.max_trial_resource", limits.max_trial_resource, kMostResource);
    if (limits.max_wall_time_us < 0) {
      Add("limits.max_wall_time", "is negative; expected a duration such as \"3600s\"");
    }
    if (limits.max_node_time_us < 0) {
      Add("limits.max_node_seconds", "is negative; expected a number of seconds");
    }
    if (limits.max_attempts < 1 || limits.max_attempts > 100) {
      Add("limits.max_attempts", "is " + std::to_string(limits.max_attempts) + "; expected 1 to 100");
    }
    if (HasBracketTable(spec_.pruner.kind)) return;
    const bool bounded = limits.max_trials != 0 || limits.max_total_resource != 0 ||
                         limits.max_wall_time_us != 0 || limits.max_node_time_us != 0;
    if (!bounded && violations_.empty() && JobState(spec_).most_trials() == 0) {
      Add("limits", "the job would never end; expected max_trials, max_total_resource, max_wall_time or max_node_seconds");
    }
    if (HasRungs(spec_.pruner.kind)) return;
    if (limits.max_total_resource > 0 && limits.max_trial_resource == 0 && spec_.own_end == 0 &&
        spec_.own_end_parameter < 0) {
      Add("limits.max_total_resource", "is " + std::to_string(limits.max_total_resource) +
                                           ", but nothing says how far a trial goes; expected "
                                           "limits.max_trial_resource beside it");
    }
  }

  // A job whose first trial does not fit would never begin. REQUIRES the rest is valid.
  void FirstPart() {
    const JobState state(spec_);
    const auto opening =
        PrunerOf(spec_).Open(state, spec_.initial.empty() ? RandomConfiguration(spec_, state.space(), 1) : spec_.initial[0]);
    const int64_t first = opening ? opening->to : 0;
    if (first > spec_.limits.max_total_resource) {
      Add("limits.max_total_resource", "is " + std::to_string(spec_.limits.max_total_resource) +
                                           "; expected at least the " + std::to_string(first) +
                                           " units of the first trial");
    }
  }

  const SearchSpec& spec_;
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> ValidateSearch(const SearchSpec& spec) { return Validator(spec).Run(); }

}  // namespace winnow

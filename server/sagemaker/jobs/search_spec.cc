#include "server/sagemaker/jobs/search_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "server/sagemaker/wire/aws_error.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr int64_t kMostHyperbandResource = 20'000;
// From this ratio of its ends on, a range with the scaling Auto is searched on a logarithmic scale.
constexpr double kLogRatio = 100;
// XGBoost's subsample is above 0; a range that begins there begins here.
constexpr double kLeastSubsample = 1e-6;
constexpr double kConvergenceTolerance = 0.01;

absl::Status BadSearch(const std::string& message) { return AwsError("ValidationException", message); }

absl::StatusOr<double> NumberOf(const std::string& text, const std::string& name) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value))
    return BadSearch(
        fmt::format("The value {} in the range of the hyperparameter {} is not a number.", text, name));
  return value;
}

absl::StatusOr<v1::Scaling> ScalingOf(const std::string& scaling, const std::string& name, double least,
                                      double most) {
  if (scaling == "Logarithmic") {
    if (least <= 0)
      return BadSearch(fmt::format(
          "The minimum value of {} must be greater than 0 for the scaling type Logarithmic.", name));
    return v1::LOG;
  }
  if (scaling == "ReverseLogarithmic") {
    if (least < 0 || most >= 1)
      return BadSearch(fmt::format(
          "The range of {} must be within 0 <= x < 1 for the scaling type ReverseLogarithmic.", name));
    return v1::REVERSE_LOG;
  }
  if (scaling == "Auto" && least > 0 && most / least >= kLogRatio) return v1::LOG;
  return v1::LINEAR;
}

absl::Status AddNumber(const json& range, bool integer, v1::TuningJobSpec& spec) {
  const std::string name = range["Name"];
  const absl::StatusOr<double> least = NumberOf(range["MinValue"], name);
  const absl::StatusOr<double> most = NumberOf(range["MaxValue"], name);
  if (!least.ok()) return least.status();
  if (!most.ok()) return most.status();
  if (*least > *most)
    return BadSearch(fmt::format("The minimum value of {} is greater than its maximum value.", name));
  const absl::StatusOr<v1::Scaling> scaling =
      ScalingOf(TextIn(range, "ScalingType", "Auto"), name, *least, *most);
  if (!scaling.ok()) return scaling.status();
  v1::ParameterSpec& parameter = *spec.add_parameters();
  parameter.set_name(name);
  if (integer) {
    if (std::floor(*least) != *least || std::floor(*most) != *most || std::abs(*least) > 1e15 ||
        std::abs(*most) > 1e15)
      return BadSearch(fmt::format("The range of the hyperparameter {} is not one of integers.", name));
    parameter.mutable_integer()->set_min(static_cast<int64_t>(*least));
    parameter.mutable_integer()->set_max(static_cast<int64_t>(*most));
    parameter.mutable_integer()->set_scaling(*scaling);
  } else {
    const bool above_zero = name == "subsample" && *least <= 0 && spec.trainer().builtin() == "gbdt";
    parameter.mutable_continuous()->set_min(above_zero ? kLeastSubsample : *least);
    parameter.mutable_continuous()->set_max(*most);
    parameter.mutable_continuous()->set_scaling(*scaling);
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> MostResource(const json& config, const v1::TuningJobSpec& spec) {
  const json& hyperband = ObjectIn(ObjectIn(config, "StrategyConfig"), "HyperbandStrategyConfig");
  int64_t most = IntegerIn(hyperband, "MaxResource", 0);
  for (const char* name : {"epochs", "numepochs", "n-epochs", "n_epochs", "num_epochs"}) {
    const auto given = spec.static_hyperparameters().find(name);
    if (most == 0 && given != spec.static_hyperparameters().end() && !absl::SimpleAtoi(given->second, &most))
      most = 0;
  }
  if (most <= 0) {
    return BadSearch(
        "MaxResource parameter is not provided and could not be inferred from provided static "
        "hyperparameters "
        "of TrainingJobDefinition.");
  }
  if (most > kMostHyperbandResource)
    return BadSearch(fmt::format("MaxResource is {}; expected at most {}.", most, kMostHyperbandResource));
  if (IntegerIn(hyperband, "MinResource", 1) > most)
    return BadSearch("MinResource must be less than or equal to MaxResource.");
  return most;
}

// The training jobs that each definition may have; 0: any number.
absl::StatusOr<std::vector<int64_t>> ShareTrainingJobs(const json& config,
                                                       const std::vector<double>& combinations) {
  const size_t count = combinations.size();
  std::vector<int64_t> shares(count, 0);
  const double all = std::accumulate(combinations.begin(), combinations.end(), 0.0);
  int64_t left = IntegerIn(config["ResourceLimits"], "MaxNumberOfTrainingJobs", 0);
  if (config["Strategy"] == "Grid") {
    if (left != 0 && static_cast<double>(left) != all)
      return BadSearch(fmt::format(
          "MaxNumberOfTrainingJobs is {}; expected it to be absent or the number of combinations, {}.", left,
          all));
    std::transform(combinations.begin(), combinations.end(), shares.begin(),
                   [](double each) { return static_cast<int64_t>(each); });
    return shares;
  }
  if (static_cast<double>(left) > all) {
    return BadSearch(
        fmt::format("You don't have enough combinations of hyperparameter ranges. The ranges have {} "
                    "combinations, which is less than MaxNumberOfTrainingJobs, {}.",
                    all, left));
  }
  if (left == 0) return shares;
  if (left < static_cast<int64_t>(count))
    return BadSearch(
        fmt::format("MaxNumberOfTrainingJobs is {}; expected at least one for each of the {} "
                    "TrainingJobDefinitions.",
                    left, count));
  // What a definition with few combinations cannot use is for the others.
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return combinations[a] < combinations[b]; });
  for (size_t i = 0; i < count; ++i) {
    const auto rest = static_cast<int64_t>(count - i);
    const int64_t equal = (left + rest - 1) / rest;
    shares[order[i]] = static_cast<double>(equal) > combinations[order[i]]
                           ? static_cast<int64_t>(combinations[order[i]])
                           : equal;
    left -= shares[order[i]];
  }
  return shares;
}

}  // namespace

absl::Status AddRanges(const json& ranges, v1::TuningJobSpec& spec, double& combinations) {
  combinations = spec.parameters_size() > 0 ? INFINITY : 1;  // those that are there are automatic
  for (const json& range : ListIn(ranges, "IntegerParameterRanges")) {
    if (absl::Status status = AddNumber(range, true, spec); !status.ok()) return status;
    const v1::IntegerRange& added = spec.parameters(spec.parameters_size() - 1).integer();
    combinations *= static_cast<double>(added.max() - added.min() + 1);
  }
  for (const json& range : ListIn(ranges, "ContinuousParameterRanges")) {
    if (absl::Status status = AddNumber(range, false, spec); !status.ok()) return status;
    combinations = INFINITY;
  }
  for (const json& range : ListIn(ranges, "CategoricalParameterRanges")) {
    v1::ParameterSpec& parameter = *spec.add_parameters();
    parameter.set_name(range["Name"].get<std::string>());
    for (const json& value : range["Values"])
      parameter.mutable_categorical()->add_values(value.get<std::string>());
    combinations *= static_cast<double>(range["Values"].size());
  }
  std::set<std::string> names;
  for (const v1::ParameterSpec& parameter : spec.parameters()) {
    if (!names.insert(parameter.name()).second)
      return BadSearch(fmt::format("The hyperparameter {} has two ranges.", parameter.name()));
    if (spec.static_hyperparameters().contains(parameter.name()))
      return BadSearch(fmt::format("Hyperparameter {} is both static and tunable.", parameter.name()));
  }
  if (names.empty()) return BadSearch("At least one hyperparameter range is needed, or Autotune.");
  return absl::OkStatus();
}

absl::Status AddSearch(const json& config, v1::TuningJobSpec& spec) {
  const std::string strategy = config["Strategy"];
  const std::string early = TextIn(config, "TrainingJobEarlyStoppingType", "Off");
  if (strategy != "Hyperband" && config.contains("StrategyConfig") && !config["StrategyConfig"].empty())
    return BadSearch("StrategyConfig is given; expected it only with the strategy Hyperband.");
  if (strategy == "Hyperband") {
    if (early != "Off")
      return BadSearch(
          "TrainingJobEarlyStoppingType must be Off with the strategy Hyperband, which stops training jobs "
          "early itself.");
    const absl::StatusOr<int64_t> most = MostResource(config, spec);
    if (!most.ok()) return most.status();
    const json& hyperband = ObjectIn(ObjectIn(config, "StrategyConfig"), "HyperbandStrategyConfig");
    spec.set_strategy(v1::HYPERBAND);
    spec.mutable_hyperband()->set_min_resource(IntegerIn(hyperband, "MinResource", 1));
    spec.mutable_hyperband()->set_max_resource(*most);
  } else if (strategy == "Grid") {
    for (const v1::ParameterSpec& parameter : spec.parameters()) {
      if (!parameter.has_categorical())
        return BadSearch("The strategy Grid takes categorical hyperparameter ranges only.");
    }
    spec.set_strategy(v1::GRID);
  } else {
    spec.set_strategy(strategy == "Random" ? v1::RANDOM : v1::BAYESIAN);
  }
  if (early == "Auto") spec.mutable_pruner()->set_kind(v1::PrunerSpec::MEDIAN);
  if (config.contains("RandomSeed")) spec.set_seed(config["RandomSeed"].get<uint64_t>());
  const json& criteria = ObjectIn(config, "TuningJobCompletionCriteria");
  if (criteria.contains("TargetObjectiveMetricValue"))
    spec.mutable_completion()->set_target_objective(criteria["TargetObjectiveMetricValue"].get<double>());
  if (const int64_t same = IntegerIn(ObjectIn(criteria, "BestObjectiveNotImproving"),
                                     "MaxNumberOfTrainingJobsNotImproving", 0);
      same > 0) {
    spec.mutable_completion()->set_no_improvement_trials(same);
  }
  if (TextIn(ObjectIn(criteria, "ConvergenceDetected"), "CompleteOnConvergence") == "Enabled")
    spec.mutable_completion()->set_convergence_tolerance(kConvergenceTolerance);
  return absl::OkStatus();
}

size_t JobsAtATime(const json& config, size_t definitions) {
  return static_cast<size_t>(
      std::clamp<int64_t>(IntegerIn(config["ResourceLimits"], "MaxParallelTrainingJobs", 1), 1,
                          static_cast<int64_t>(definitions)));
}

absl::Status AddLimits(const json& config, const std::vector<double>& combinations, int64_t elapsed_seconds,
                       std::vector<JobPlan>& plans) {
  const absl::StatusOr<std::vector<int64_t>> trials = ShareTrainingJobs(config, combinations);
  if (!trials.ok()) return trials.status();
  const json& given = config["ResourceLimits"];
  const int64_t parallel = std::max<int64_t>(1, IntegerIn(given, "MaxParallelTrainingJobs", 1));
  const auto at_a_time = static_cast<int64_t>(JobsAtATime(config, plans.size()));
  const int64_t seconds = IntegerIn(given, "MaxRuntimeInSeconds", 0);
  for (size_t i = 0; i < plans.size(); ++i) {
    v1::LimitsSpec& limits = *plans[i].spec.mutable_limits();
    if ((*trials)[i] > 0) limits.set_max_trials((*trials)[i]);
    const int64_t place = static_cast<int64_t>(i) % at_a_time;
    limits.set_max_parallel_trials(parallel / at_a_time + (place < parallel % at_a_time ? 1 : 0));
    if (seconds > 0)
      limits.mutable_max_wall_time()->set_seconds(std::max<int64_t>(1, seconds - elapsed_seconds));
  }
  return absl::OkStatus();
}

}  // namespace winnow

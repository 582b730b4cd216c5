#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace winnow {

using TrialNumber = int64_t;  // 1, 2, 3… within a job

inline constexpr int32_t kMostNodes = 64;  // ranks of one trial

// A conditional hyperparameter that its parent's value leaves out: the trainer is not given it.
struct Inactive {
  auto operator<=>(const Inactive&) const = default;
};

// A hyperparameter's value: integer; continuous or discrete; categorical; or none.
using Value = std::variant<int64_t, double, std::string, Inactive>;

// One point of the search space: values in the order of SearchSpec::parameters.
using Configuration = std::vector<Value>;

enum class Scaling { kLinear, kLog, kReverseLog };
enum class Goal { kMaximize, kMinimize };

// What a trial counts for when trials are ranked.
enum class ObjectiveValue {
  kBest,  // the best value at any level
  kLast,  // the value at its highest level
  kMean,  // the mean over its levels
};

// One of several metrics to tune for.
struct Objective {
  std::string metric;
  Goal goal = Goal::kMaximize;
  std::optional<double> threshold;  // the coordinate of the reference point; absent: from results

  // The value where less is better.
  double Key(double value) const { return goal == Goal::kMaximize ? -value : value; }

  bool operator==(const Objective&) const = default;
};
inline constexpr size_t kMostObjectives = 4;

// at_least <= value <= at_most, for a metric that trials report.
struct MetricConstraint {
  std::string metric;
  double at_least = -std::numeric_limits<double>::infinity();
  double at_most = std::numeric_limits<double>::infinity();

  // How far a value is outside; 0: it satisfies the constraint. Infinity for NaN.
  double Violation(double value) const;

  bool operator==(const MetricConstraint&) const = default;
};

// Both ends belong to a range; min = max is a range of one value.
struct IntegerRange {
  int64_t min = 0;
  int64_t max = 0;
  Scaling scaling = Scaling::kLinear;

  bool operator==(const IntegerRange&) const = default;
};
struct ContinuousRange {
  double min = 0;
  double max = 0;
  Scaling scaling = Scaling::kLinear;

  bool operator==(const ContinuousRange&) const = default;
};
// Numbers of their own choosing, rising; equally far apart for the search.
struct DiscreteRange {
  std::vector<double> values;

  bool operator==(const DiscreteRange&) const = default;
};
struct CategoricalRange {
  std::vector<std::string> values;
  bool ordered = false;  // small, medium, large: neighbours are alike

  bool operator==(const CategoricalRange&) const = default;
};
using Range = std::variant<IntegerRange, ContinuousRange, DiscreteRange, CategoricalRange>;

// A hyperparameter is active only where its parent is active and has one of `values`.
struct Condition {
  int parent = 0;  // index of an earlier parameter
  std::vector<Value> values;

  bool operator==(const Condition&) const = default;
};

enum class Confidence { kLow, kMedium, kHigh };

// Where the user believes a parameter's best value to be.
struct Prior {
  Value value;  // of the range
  Confidence confidence = Confidence::kMedium;

  bool operator==(const Prior&) const = default;
};

struct Parameter {
  std::string name;
  Range range;
  std::optional<Condition> condition = std::nullopt;
  std::optional<Prior> prior = std::nullopt;

  bool operator==(const Parameter&) const = default;
};

// min <= sum of coefficient * value <= max, wherever all of its parameters are active. Numeric parameters
// only.
struct LinearConstraint {
  std::vector<std::pair<int, double>> terms;  // index of the parameter, coefficient
  double min = 0;                             // -infinity: none
  double max = 0;                             // +infinity: none

  bool operator==(const LinearConstraint&) const = default;
};

enum class SamplerKind {
  kRandom,
  kSobol,
  kGrid,
  kGp,   // Gaussian process
  kTpe,  // tree-structured Parzen estimator
};
enum class PrunerKind {
  kNone,
  kMedian,
  kHyperband,
  kAsha,
  kSuccessiveHalving,
  kLearningCurve,
  kFreezeThaw,
  kPairedTest,
  kPbt,
};

// What the rest of the scheduler needs to know of a kind of pruner; in the order of PrunerKind.
struct PrunerTraits {
  const char* name;
  bool rungs = false;       // trials are compared at resource levels, from pruner.rungs
  bool table = false;       // in brackets of a planned width, whose rungs are cut when they are full
  bool cycle = false;       // whose table has several brackets, as Hyperband's
  bool asks_model = false;  // a model decides which trial goes on
  bool averages = false;    // compares with the running averages of completed trials
  bool population = false;  // at a rung new trials go on from the checkpoints of the best
};
inline constexpr PrunerTraits kPrunerTraits[] = {
    {"NONE"},
    {.name = "MEDIAN", .averages = true},
    {.name = "HYPERBAND", .rungs = true, .table = true, .cycle = true},
    {.name = "ASHA", .rungs = true},
    {.name = "SUCCESSIVE_HALVING", .rungs = true, .table = true},
    {.name = "LEARNING_CURVE"},
    {.name = "FREEZE_THAW", .rungs = true, .asks_model = true},
    {"PAIRED_TEST"},
    {.name = "PBT", .rungs = true, .table = true, .population = true},
};
constexpr const PrunerTraits& TraitsOf(PrunerKind kind) { return kPrunerTraits[static_cast<int>(kind)]; }

// PrunerSettings::min_chance of PAIRED_TEST where it is not given.
inline constexpr double kPairedTestChance = 0.2;

constexpr bool HasRungs(PrunerKind kind) { return TraitsOf(kind).rungs; }
constexpr bool HasBracketTable(PrunerKind kind) { return TraitsOf(kind).table; }
// True if a rung promotes its best trials as results arrive, and not when the rung is full.
constexpr bool HasOpenRungs(PrunerKind kind) { return HasRungs(kind) && !HasBracketTable(kind); }

// The resource levels of a pruner that has rungs: min * eta^k, and max; of PBT min * k, and max.
struct RungSettings {
  int64_t min_resource = 1;
  int64_t max_resource = 0;      // R
  int64_t reduction_factor = 3;  // eta

  bool operator==(const RungSettings&) const = default;
};

enum class AshaForm { kPromotion, kStopping };

struct PrunerSettings {
  PrunerKind kind = PrunerKind::kNone;
  RungSettings rungs;
  AshaForm asha_form = AshaForm::kPromotion;
  int64_t asha_brackets = 1;   // trials take turns: bracket b begins at rung b of the first
  int64_t bracket_trials = 0;  // SUCCESSIVE_HALVING: at the lowest rung; 0: eta^rungs. PBT: the population
  bool stop_weak_brackets = true;    // HYPERBAND
  double weak_bracket_level = 0.05;  // rate at which an equal bracket may be ended
  int64_t warm_up_resource = 0;      // MEDIAN, LEARNING_CURVE: nothing is stopped below this level
  int64_t warm_up_trials = 5;        // nor before so many trials have ended
  // A trial whose predicted chance to beat the best is below is stopped; 0: none is.
  double min_chance = 0;

  // How many brackets open rungs have.
  int64_t open_brackets() const { return kind == PrunerKind::kAsha ? asha_brackets : 1; }
  // Trials do not pause at rungs: each either passes or is stopped there.
  bool passes_rungs() const { return kind == PrunerKind::kAsha && asha_form == AshaForm::kStopping; }
  // The pruner that does most alike and asks no model.
  PrunerKind without_model() const { return TraitsOf(kind).asks_model ? PrunerKind::kAsha : kind; }

  bool operator==(const PrunerSettings&) const = default;
};

struct SamplerSettings {
  SamplerKind kind = SamplerKind::kRandom;
  int64_t startup_trials = 0;  // GP, TPE: Sobol points first; 0: the sampler's own default
  // GRID: of each continuous or wide integer parameter, in their order; 0: default
  std::vector<int64_t> grid_points;

  bool operator==(const SamplerSettings&) const = default;
};

// 0 means: no such limit.
struct Limits {
  int64_t max_trials = 0;
  int64_t max_total_resource = 0;  // units; planned parts are counted when they start
  int64_t max_wall_time_us = 0;
  int64_t max_node_time_us = 0;  // over all ranks of all attempts
  double max_cost = 0;           // likewise, in money
  int64_t max_parallel_trials = 0;
  int64_t max_trial_resource = 0;  // pruners without rungs: each trial is trained to at most this level
  int64_t max_attempts = 1;        // of the trainer's own failures
  int64_t max_lost_attempts = 10;  // lost to the machines; the last of them ends the trial
  int64_t max_first_failures = 0;  // trials that fail before any reports; see scheduler/completion.h

  // Whether time, or what it costs, limits the job, and neither trials nor units do.
  bool time_alone() const {
    return max_trials == 0 && max_total_resource == 0 &&
           (max_wall_time_us > 0 || max_node_time_us > 0 || max_cost > 0);
  }

  bool operator==(const Limits&) const = default;
};

// What ends a job before its limits.
struct Completion {
  std::optional<double> target_objective;
  int64_t no_improvement_trials = 0;         // 0: off; the last so many that ended did not better the best…
  double no_improvement_tolerance = 0.01;    // …by more than this part of it
  double convergence_tolerance = 0;          // 0: off; see scheduler/completion.h
  std::optional<double> target_hypervolume;  // with several objectives

  bool operator==(const Completion&) const = default;
};

// What the search needs to know of a job; everything about trainers, data and machines is left out.
struct SearchSpec {
  std::vector<Parameter> parameters;
  std::vector<LinearConstraint> constraints;
  std::vector<Configuration> initial;  // tried first, in this order
  std::string objective_metric;
  Goal goal = Goal::kMaximize;
  ObjectiveValue objective_value = ObjectiveValue::kBest;
  // Two to four, where there are several: then objective_metric and goal are the first one's, and a trial
  // counts its newest values (objective_value is kLast). Empty: there is one objective.
  std::vector<Objective> objectives;
  std::vector<MetricConstraint> metric_constraints;
  SamplerSettings sampler;
  PrunerSettings pruner;
  Limits limits;
  Completion completion;
  int32_t nodes = 1;
  uint64_t seed = 0;
  bool resumes = true;    // the trainer goes on from its checkpoint
  bool suspends = false;  // it does not, but its program is suspended between the parts of a trial

  // How often each configuration is trained, with as many seeds or folds: then a level is one repeat, a value
  // is that of one repeat, and the mean counts. 0: once, and levels are the trainer's.
  int64_t repeats = 0;

  // Where a trainer ends by itself: the value of this parameter (its index in `parameters`), or else
  // `own_end`.
  int own_end_parameter = -1;
  int64_t own_end = 0;  // 0: not known beforehand

  // Where a trial's cluster is as wide as a hyperparameter says: its index in `parameters`, in place of
  // `nodes`. An integer or discrete one, or a categorical one whose values are integers; all from 1.
  int nodes_parameter = -1;

  // Whether a part begins where the one before ended, if nothing was lost.
  bool goes_on() const { return resumes || suspends; }
  size_t objective_count() const { return objectives.empty() ? 1 : objectives.size(); }
  bool has_several_objectives() const { return objectives.size() > 1; }
  // Whether trials are ranked by their standings (scheduler/state/standing.h) instead of one number.
  bool ranks_by_standing() const { return has_several_objectives() || !metric_constraints.empty(); }
  // The objectives; of a job with one, that one.
  std::vector<Objective> AllObjectives() const;
  // The metrics by which trials are ranked, each once: the objectives', then the constraints'.
  // Reported::metric is an index of this list.
  std::vector<std::string> RankingMetrics() const;
  // The index of a metric in that list; -1: it ranks no trials.
  int64_t RankingIndex(const std::string& metric) const;

  // Ranks of a trial of `configuration`.
  int32_t Nodes(const Configuration& configuration) const;
  // Nodes of the narrowest and the widest trial possible.
  int32_t LeastNodes() const;
  int32_t MostNodes() const;

  // The level at which the trainer ends by itself under `configuration`; 0: not known beforehand.
  int64_t OwnEnd(const Configuration& configuration) const {
    if (own_end_parameter < 0) return own_end;
    const auto* end = std::get_if<int64_t>(&configuration[own_end_parameter]);
    return end == nullptr ? own_end : *end;
  }
  // The level at which a trial of `configuration` ends under a pruner without rungs: the trainer's own end,
  // or limits.max_trial_resource if that is lower; 0: not known beforehand.
  int64_t FullResource(const Configuration& configuration) const;

  bool operator==(const SearchSpec&) const = default;
};

// "GP sampler under the FREEZE_THAW pruner", "RANDOM sampler, every trial trained to its end".
std::string StrategyText(const SearchSpec& spec);

}  // namespace winnow

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace winnow {

using TrialNumber = int64_t;  // 1, 2, 3… within a job

// A hyperparameter's value: integer, continuous or categorical, as its range is.
using Value = std::variant<int64_t, double, std::string>;

// One point of the search space: values in the order of SearchSpec::parameters.
using Configuration = std::vector<Value>;

enum class Scaling { kLinear, kLog, kReverseLog };
enum class Goal { kMaximize, kMinimize };
enum class Strategy {
  kRandom,     // random sampler, every trial trained to its end
  kHyperband,  // Sobol sampler, Hyperband brackets
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
struct CategoricalRange {
  std::vector<std::string> values;

  bool operator==(const CategoricalRange&) const = default;
};
using Range = std::variant<IntegerRange, ContinuousRange, CategoricalRange>;

struct Parameter {
  std::string name;
  Range range;

  bool operator==(const Parameter&) const = default;
};

struct HyperbandSettings {
  int64_t min_resource = 1;
  int64_t max_resource = 0;      // R
  int64_t reduction_factor = 3;  // eta

  bool operator==(const HyperbandSettings&) const = default;
};

// 0 means: no such limit.
struct Limits {
  int64_t max_trials = 0;
  int64_t max_total_resource = 0;  // units; planned parts are counted when they start
  int64_t max_wall_time_us = 0;
  int64_t max_parallel_trials = 0;
  int64_t max_trial_resource = 0;  // RANDOM only: each trial is trained to at most this level
  int64_t max_attempts = 1;        // of the trainer's own failures

  bool operator==(const Limits&) const = default;
};

// What the search needs to know of a job; everything about trainers, data and machines is left out.
struct SearchSpec {
  std::vector<Parameter> parameters;
  std::string objective_metric;
  Goal goal = Goal::kMaximize;
  Strategy strategy = Strategy::kRandom;
  HyperbandSettings hyperband;
  Limits limits;
  int32_t nodes = 1;
  uint64_t seed = 0;
  bool resumes = true;  // the trainer goes on from its checkpoint

  // Where a trainer ends by itself: the value of this parameter (its index in `parameters`), or else
  // `own_end`.
  int own_end_parameter = -1;
  int64_t own_end = 0;  // 0: not known beforehand

  // The level at which the trainer ends by itself under `configuration`; 0: not known beforehand.
  int64_t OwnEnd(const Configuration& configuration) const {
    return own_end_parameter >= 0 ? std::get<int64_t>(configuration[own_end_parameter]) : own_end;
  }

  bool operator==(const SearchSpec&) const = default;
};

}  // namespace winnow

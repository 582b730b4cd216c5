#include "scheduler/validate.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "scheduler/has_end.h"
#include "scheduler/pruners/pruner.h"
#include "scheduler/samplers/random.h"
#include "scheduler/samplers/sampler.h"
#include "scheduler/space/grid.h"
#include "scheduler/space/space.h"
#include "scheduler/state/job_state.h"
#include "scheduler/validate_space.h"

namespace winnow {
namespace {

constexpr int64_t kMostBrackets = 100;
constexpr size_t kMostMetricConstraints = 8;
constexpr int64_t kMostLosses = 1000;  // of a trial's attempts to the machines

class SearchValidator {
 public:
  explicit SearchValidator(const SearchSpec& spec) : spec_(spec) {}

  std::vector<Violation> Run() {
    violations_ = ValidateSpace(spec_);
    if (spec_.objectives.empty() && spec_.objective_metric.empty())
      Add("objective.metric", "is empty; expected the name of a metric");
    Objectives();
    MetricConstraints();
    ContradictingConstraints();
    Sampler(spec_.sampler);
    if (HasRungs(spec_.pruner.kind)) Rungs();
    Pruner(spec_.pruner);
    LimitsOf(spec_.limits);
    CompletionOf(spec_.completion);
    if (spec_.nodes < 1 || spec_.nodes > kMostNodes) {
      Add("cluster.nodes", "is " + std::to_string(spec_.nodes) + "; expected 1 to 64 nodes per trial");
    }
    if (spec_.seed >> 63 != 0) {
      Add("seed", "is " + std::to_string(spec_.seed) + "; expected at most 9223372036854775807");
    }
    if (TraitsOf(spec_.pruner.kind).population) Population();
    if (violations_.empty() && spec_.sampler.kind == SamplerKind::kGrid) Grid();
    if (violations_.empty()) Beginning();
    return std::move(violations_);
  }

 private:
  void Add(const std::string& field, const std::string& description) {
    violations_.push_back({field, description});
  }

  void Objectives() {
    const std::vector<Objective>& objectives = spec_.objectives;
    if (objectives.empty()) return;
    if (objectives.size() < 2 || objectives.size() > kMostObjectives) {
      Add("objectives", "has " + std::to_string(objectives.size()) +
                            (objectives.size() == 1 ? " entry" : " entries") + "; expected 2 to " +
                            std::to_string(kMostObjectives) +
                            ", or objective in its place for a single metric");
    }
    std::set<std::string> seen;
    for (size_t i = 0; i < objectives.size(); ++i) {
      const std::string at = "objectives[" + std::to_string(i) + "].";
      const Objective& objective = objectives[i];
      if (objective.metric.empty()) Add(at + "metric", "is empty; expected the name of a metric");
      if (!seen.insert(objective.metric).second && !objective.metric.empty()) {
        Add(at + "metric", "\"" + objective.metric + "\" is given twice; expected every metric once");
      }
      if (objective.threshold) {
        Expect(at + "threshold", *objective.threshold, "a finite number, or none",
               std::isfinite(*objective.threshold));
      }
    }
    if (spec_.pruner.min_chance != 0 && spec_.repeats == 0) {
      Add("pruner.min_chance",
          std::string(TraitsOf(spec_.pruner.kind).name) +
              " extrapolates the curve of one objective; expected none of it with objectives");
    }
    const Completion& completion = spec_.completion;
    const std::string single = "is about one objective; expected none with objectives";
    if (completion.target_objective) Add("completion.target_objective", single);
    if (completion.convergence_tolerance != 0) Add("completion.convergence_tolerance", single);
    const bool fixed = std::all_of(objectives.begin(), objectives.end(), [](const Objective& objective) {
      return objective.threshold.has_value();
    });
    const std::string moving = "is about the hypervolume; expected a threshold for every objective";
    if (!fixed && completion.target_hypervolume) Add("completion.target_hypervolume", moving);
    if (!fixed && completion.no_improvement_trials != 0) Add("completion.no_improvement_trials", moving);
  }

  void MetricConstraints() {
    const std::vector<MetricConstraint>& constraints = spec_.metric_constraints;
    if (constraints.size() > kMostMetricConstraints) {
      Add("metric_constraints", "has " + std::to_string(constraints.size()) + " entries; expected at most " +
                                    std::to_string(kMostMetricConstraints));
    }
    for (size_t i = 0; i < constraints.size(); ++i) {
      const std::string at = "metric_constraints[" + std::to_string(i) + "]";
      const MetricConstraint& constraint = constraints[i];
      if (constraint.metric.empty()) Add(at + ".metric", "is empty; expected the name of a metric");
      const bool below = std::isfinite(constraint.at_most), above = std::isfinite(constraint.at_least);
      if (std::isnan(constraint.at_most) || std::isnan(constraint.at_least)) {
        Add(at + (std::isnan(constraint.at_most) ? ".at_most" : ".at_least"),
            "is NaN; expected a finite number");
      } else if (below == above) {
        Add(at, std::string(below ? "has two bounds" : "has no bound") + "; expected at_most or at_least");
      }
    }
  }

  // Finds bounds on one metric that no value can meet.
  void ContradictingConstraints() {
    const std::vector<MetricConstraint>& constraints = spec_.metric_constraints;
    for (size_t i = 0; i < constraints.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        if (constraints[i].metric != constraints[k].metric) continue;
        const double least = std::max(constraints[i].at_least, constraints[k].at_least);
        const double most = std::min(constraints[i].at_most, constraints[k].at_most);
        if (least <= most) continue;
        Add("metric_constraints[" + std::to_string(i) + "]",
            "with metric_constraints[" + std::to_string(k) + "] says that " + constraints[i].metric +
                " is at least " + DoubleToString(least) + " and at most " + DoubleToString(most) +
                "; expected bounds that a value can meet");
      }
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
    if (h.reduction_factor < 2 || h.reduction_factor > kMostResource) {
      Add("pruner.reduction_factor",
          "is " + std::to_string(h.reduction_factor) + "; expected 2 to 1000000000");
    }
    if (spec_.limits.max_trial_resource != 0) {
      Add("limits.max_trial_resource",
          "is " + std::to_string(spec_.limits.max_trial_resource) +
              " under a pruner with rungs; expected pruner.max_resource instead");
    }
  }

  void Bounded(const std::string& field, int64_t value, int64_t most) {
    if (value >= 0 && value <= most) return;
    Add(field, "is " + std::to_string(value) + "; expected 0 (no limit) to " + std::to_string(most));
  }

  void LimitsOf(const Limits& limits) {
    Bounded("limits.max_trials", limits.max_trials, kMostTrialsOfJob);
    Bounded("limits.max_total_resource", limits.max_total_resource, kMostUnitsOfJob);
    Bounded("limits.max_parallel_trials", limits.max_parallel_trials, kMostTrialsOfJob);
    Bounded("limits.max_trial_resource", limits.max_trial_resource, kMostResource);
    if (limits.max_wall_time_us < 0) {
      Add("limits.max_wall_time", "is negative; expected a duration such as \"3600s\"");
    }
    if (limits.max_node_time_us < 0) {
      Add("limits.max_node_seconds", "is negative; expected a number of seconds");
    }
    if (!(limits.max_cost >= 0)) Add("limits.max_cost", "is negative; expected an amount of money");
    if (limits.max_attempts < 1 || limits.max_attempts > 100) {
      Add("limits.max_attempts", "is " + std::to_string(limits.max_attempts) + "; expected 1 to 100");
    }
    if (limits.max_lost_attempts < 1 || limits.max_lost_attempts > kMostLosses) {
      Add("limits.max_lost_attempts", "is " + std::to_string(limits.max_lost_attempts) + "; expected 1 to " +
                                          std::to_string(kMostLosses));
    }
    Bounded("limits.max_first_failures", limits.max_first_failures, kMostTrialsOfJob);
    if (HasRungs(spec_.pruner.kind)) return;
    if (limits.max_total_resource > 0 && limits.max_trial_resource == 0 && spec_.own_end == 0 &&
        spec_.own_end_parameter < 0) {
      Add("limits.max_total_resource", "is " + std::to_string(limits.max_total_resource) +
                                           ", but nothing says how far a trial goes; expected "
                                           "limits.max_trial_resource beside it");
    }
  }

  void Expect(const std::string& field, double value, const std::string& expected, bool right) {
    if (!right) Add(field, "is " + DoubleToString(value) + "; expected " + expected);
  }

  void Sampler(const SamplerSettings& sampler) {
    if (sampler.startup_trials < 0 || sampler.startup_trials > kMostTrialsOfJob) {
      Add("sampler.startup_trials",
          "is " + std::to_string(sampler.startup_trials) + "; expected 0 (the sampler's default) to 1000000");
    }
    if (sampler.kind != SamplerKind::kGrid) return;
    for (size_t i = 0; i < spec_.parameters.size(); ++i) {
      if (!spec_.parameters[i].prior) continue;
      Add("parameters[" + std::to_string(i) + "].prior",
          "is given; the GRID sampler tries every combination, expected a prior with another sampler");
    }
    size_t choices = 0;
    for (const Parameter& parameter : spec_.parameters) {
      if (!HasGridPoints(parameter.range)) continue;
      const int64_t points = choices < sampler.grid_points.size() ? sampler.grid_points[choices] : 0;
      ++choices;
      if (points >= 0 && points <= Lattice::kMost) continue;
      Add("sampler.grid_points." + parameter.name,
          "is " + std::to_string(points) + "; expected 1 to 1048576");
    }
    if (sampler.grid_points.size() > choices) {
      Add("sampler.grid_points", "has " + std::to_string(sampler.grid_points.size()) + " numbers; expected " +
                                     std::to_string(choices) +
                                     ", for the continuous and the wide integer parameters");
    }
  }

  void Grid() {
    const auto grid = GridOf(spec_);
    if (grid == nullptr) {
      Add("sampler.grid_points", "make a grid of more than " + std::to_string(Lattice::kMost) +
                                     " combinations; expected fewer points, or another sampler");
    } else if (grid->size() == 0) {
      Add("constraints", "are kept by no point of the grid; expected more grid_points, or another sampler");
    }
  }

  void Pruner(const PrunerSettings& pruner) {
    if (pruner.open_brackets() < 1 || pruner.open_brackets() > kMostBrackets) {
      Add("pruner.brackets", "is " + std::to_string(pruner.asha_brackets) + "; expected 1 to 100");
    }
    if (pruner.bracket_trials < 0 || pruner.bracket_trials > kMostTrialsOfJob) {
      Add("pruner.trials", "is " + std::to_string(pruner.bracket_trials) +
                               "; expected 0 (reduction_factor^(rungs - 1)) to 1000000");
    }
    Expect("pruner.weak_bracket_level", pruner.weak_bracket_level, "a rate above 0 and below 1",
           pruner.weak_bracket_level > 0 && pruner.weak_bracket_level < 1);
    if (pruner.warm_up_resource < 0 || pruner.warm_up_resource > kMostResource) {
      Add("pruner.warm_up_resource",
          "is " + std::to_string(pruner.warm_up_resource) + "; expected 0 to 1000000000 units");
    }
    if (pruner.warm_up_trials < 0 || pruner.warm_up_trials > kMostTrialsOfJob) {
      Add("pruner.warm_up_trials", "is " + std::to_string(pruner.warm_up_trials) + "; expected 0 to 1000000");
    }
    Expect("pruner.min_chance", pruner.min_chance, "0 (off) or a probability below 1",
           pruner.min_chance >= 0 && pruner.min_chance < 1);
  }

  void CompletionOf(const Completion& completion) {
    if (completion.target_objective) {
      Expect("completion.target_objective", *completion.target_objective, "a finite number",
             std::isfinite(*completion.target_objective));
    }
    if (completion.target_hypervolume) {
      Expect("completion.target_hypervolume", *completion.target_hypervolume, "a finite number above 0",
             std::isfinite(*completion.target_hypervolume) && *completion.target_hypervolume > 0);
      if (spec_.objectives.empty())
        Add("completion.target_hypervolume", "is given; expected it with objectives");
    }
    if (completion.no_improvement_trials < 0 || completion.no_improvement_trials > kMostTrialsOfJob) {
      Add("completion.no_improvement_trials",
          "is " + std::to_string(completion.no_improvement_trials) + "; expected 0 (off) to 1000000");
    }
    Expect("completion.no_improvement_tolerance", completion.no_improvement_tolerance, "0 or more, below 1",
           completion.no_improvement_tolerance >= 0 && completion.no_improvement_tolerance < 1);
    Expect("completion.convergence_tolerance", completion.convergence_tolerance, "0 (off) or more, below 1",
           completion.convergence_tolerance >= 0 && completion.convergence_tolerance < 1);
  }

  // What population based training needs beside the settings of rungs.
  void Population() {
    const PrunerSettings& pruner = spec_.pruner;
    const int64_t population = pruner.bracket_trials;
    const std::string is = "is " + std::to_string(population);
    if (population < std::max<int64_t>(2, pruner.rungs.reduction_factor)) {
      Add("pruner.trials", is + "; expected a population of at least 2, and of reduction_factor = " +
                               std::to_string(pruner.rungs.reduction_factor));
    }
    const int64_t most = spec_.limits.max_trials;
    if (most > 0 && population > most) {
      Add("pruner.trials", is + ", more than limits.max_trials = " + std::to_string(most) +
                               "; expected a population within it, with room for the trials that take "
                               "the places of others");
    }
    if (violations_.empty()) {
      const int64_t size = SearchSpace(spec_.parameters, spec_.constraints).size();
      if (size > 0 && population > size)
        Add("pruner.trials", is + ", more than the " + std::to_string(size) + " configurations of the space");
    }
    const int64_t step = std::max<int64_t>(1, pruner.rungs.min_resource);
    if (pruner.rungs.max_resource / step >= kMostGenerations) {
      Add("pruner.min_resource", "is " + std::to_string(pruner.rungs.min_resource) +
                                     ", which makes more than " + std::to_string(kMostGenerations) +
                                     " generations up to max_resource = " +
                                     std::to_string(pruner.rungs.max_resource) + "; expected a larger one");
    }
    if (spec_.sampler.kind != SamplerKind::kRandom && spec_.sampler.kind != SamplerKind::kSobol) {
      Add("sampler.kind", "makes the first generation alone under the PBT pruner; expected RANDOM or SOBOL");
    }
    if (!spec_.resumes) {
      Add("pruner.kind",
          "is PBT, whose trials go on from each other's checkpoints; expected a trainer that resumes");
    }
    if (spec_.objective_value == ObjectiveValue::kMean) {
      Add("objective.value",
          "is MEAN; expected BEST or LAST under the PBT pruner, where the trials of a rung began at "
          "different levels");
    }
    if (spec_.nodes_parameter >= 0) {
      Add("cluster.nodes_parameter",
          "is given; expected one number of nodes under the PBT pruner, whose trials go on from each other's "
          "checkpoints");
    }
    if (spec_.own_end_parameter >= 0) {
      Add("parameters[" + std::to_string(spec_.own_end_parameter) + "]",
          "tunes how far a trial is trained; expected a constant under the PBT pruner, whose trials are all "
          "trained to max_resource");
    }
  }

  // A job has to end by itself, and one whose first trial does not fit would never begin. REQUIRES the rest
  // is valid.
  void Beginning() {
    const JobState state(spec_);
    const Limits& limits = spec_.limits;
    if (!HasEnd(state, limits)) {
      Add("limits",
          "the job would never end; expected max_trials, max_total_resource, max_wall_time or "
          "max_node_seconds");
    }
    if (limits.max_total_resource == 0) return;
    const auto drawn = SamplerOf(spec_).Next(state);
    const auto opening = PrunerOf(spec_).Open(
        state, drawn ? drawn->configuration : RandomConfiguration(spec_, state.space(), 1));
    const int64_t first = opening ? opening->to : 0;
    if (first > limits.max_total_resource) {
      Add("limits.max_total_resource", "is " + std::to_string(limits.max_total_resource) +
                                           "; expected at least the " + std::to_string(first) +
                                           " units of the first trial");
    }
  }

  const SearchSpec& spec_;
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> ValidateSearch(const SearchSpec& spec) { return SearchValidator(spec).Run(); }

}  // namespace winnow

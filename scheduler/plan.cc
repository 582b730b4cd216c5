#include "scheduler/plan.h"

#include <algorithm>

#include "scheduler/samplers/random.h"
#include "scheduler/samplers/sampler.h"
#include "scheduler/state/job_state.h"

namespace winnow {
namespace {

// Configurations that are drawn to see where their trials end; a plan must come at once.
constexpr int64_t kMostDrawn = 10'000;

void AddNote(Plan& plan, const std::string& sentence) {
  if (!plan.note.empty()) plan.note += " ";
  plan.note += sentence;
}

// The trials of PBT if none fails: the population, and in every generation but the last those that take the
// places of the worst. `last`: where trials end.
void CountHeirs(const SearchSpec& spec, const BracketPlan& bracket, int64_t last, Plan& plan) {
  const int64_t population = bracket.rungs[0].trials;
  const int64_t share = std::min(population / spec.pruner.rungs.reduction_factor, population / 2);
  const auto cuts = std::count_if(bracket.rungs.begin(), bracket.rungs.end(),
                                  [last](const RungPlan& rung) { return rung.resource < last; });
  plan.trials = population + share * cuts;
  if (spec.limits.max_trials > 0) plan.trials = std::min(plan.trials, spec.limits.max_trials);
  if (plan.trials == population) return;
  std::string until;
  if (plan.trials < population + share * cuts)
    until = ", until there are max_trials = " + std::to_string(spec.limits.max_trials);
  AddNote(plan,
          "After each generation of " + std::to_string(population) +
              " trials but the last, new trials with other configurations take the places of the worst " +
              std::to_string(share) + until + ". They go on from the checkpoints of better ones.");
}

Plan HyperbandPlan(const SearchSpec& spec) {
  const JobState state(spec);
  const HyperbandTable& table = state.table();
  const bool endless = table.bracket_count() < 0;
  Plan plan;
  plan.note = table.note();
  const int64_t count = endless ? table.cycle_size() : table.bracket_count();
  // Where trials end by a parameter of their own, the plan is what is trained at most.
  const int64_t own_end = spec.own_end_parameter < 0 ? spec.own_end : 0;
  const auto level = [own_end](int64_t resource) {
    return own_end > 0 ? std::min(resource, own_end) : resource;
  };
  for (int64_t b = 0; b < count; ++b) {
    plan.brackets.push_back(table.bracket(b));
    if (endless) continue;
    int64_t before = 0;
    for (const RungPlan& rung : plan.brackets.back().rungs) {
      const int64_t to = level(rung.resource);
      if (to > before) {
        plan.evaluations += rung.trials;
        plan.resource_with_resume += rung.trials * (to - before);
        plan.resource_without_resume += rung.trials * to;
      }
      before = to;
    }
  }
  plan.trials = table.trial_count();
  plan.full_resource = plan.trials * level(spec.pruner.rungs.max_resource);
  plan.resource = spec.goes_on() ? plan.resource_with_resume : plan.resource_without_resume;
  if (TraitsOf(spec.pruner.kind).population)
    CountHeirs(spec, plan.brackets[0], level(spec.pruner.rungs.max_resource), plan);
  if (own_end > 0 && own_end < spec.pruner.rungs.max_resource) {
    AddNote(plan, "The trainer ends by itself at resource " + std::to_string(own_end) +
                      ", below max_resource = " + std::to_string(spec.pruner.rungs.max_resource) +
                      ": rungs above that are passed without training.");
  }
  if (spec.own_end_parameter >= 0) {
    const Parameter& end = spec.parameters[spec.own_end_parameter];
    if (std::get<IntegerRange>(end.range).min < spec.pruner.rungs.max_resource) {
      AddNote(plan, "Trials whose " + end.name +
                        " is below a rung's resource end there by themselves, so less "
                        "may be trained than planned.");
    }
  }
  return plan;
}

// ASHA: as if each rung let its best part go on. FREEZE_THAW: at most.
Plan OpenRungsPlan(const SearchSpec& spec) {
  Plan plan;
  const JobState state(spec);
  const bool asha = !TraitsOf(spec.pruner.kind).asks_model;
  const int64_t own_end = spec.own_end_parameter < 0 ? spec.own_end : 0;
  const int64_t most =
      own_end > 0 ? std::min(own_end, spec.pruner.rungs.max_resource) : spec.pruner.rungs.max_resource;
  plan.trials = state.most_trials();
  plan.full_resource = plan.trials * most;
  const auto brackets = static_cast<int64_t>(state.brackets().size());
  for (int64_t b = 0; b < brackets && asha; ++b) {
    int64_t before = 0;
    int64_t trials = plan.trials / brackets + (b < plan.trials % brackets ? 1 : 0);
    for (const RungPlan& rung : state.brackets()[b].plan.rungs) {
      const int64_t to = std::min(most, rung.resource);
      if (to > before) {
        plan.evaluations += trials;
        plan.resource_with_resume += trials * (to - before);
        plan.resource_without_resume += trials * to;
      }
      before = to;
      trials /= spec.pruner.rungs.reduction_factor;
    }
  }
  if (spec.pruner.passes_rungs()) {
    plan.evaluations = plan.trials;
    plan.resource_without_resume = plan.resource_with_resume;
  }
  plan.resource = spec.goes_on() ? plan.resource_with_resume : plan.resource_without_resume;
  if (asha) {
    AddNote(plan, "ASHA decides as trials come: the best 1/" +
                      std::to_string(spec.pruner.rungs.reduction_factor) +
                      " of a rung so far go on, so that somewhat more may be trained than planned.");
  } else {
    plan.evaluations = plan.resource_with_resume = plan.resource_without_resume = 0;
    plan.resource = plan.full_resource;
    AddNote(plan,
            plan.trials == 0
                ? "FREEZE_THAW decides part by part what to train."
                : "FREEZE_THAW decides part by part what to train: this is the most that it may train.");
  }
  if (plan.trials == 0) AddNote(plan, "Trials are started until another limit ends the job.");
  return plan;
}

Plan RandomPlan(const SearchSpec& spec) {
  Plan plan;
  JobState state(spec);
  plan.trials = plan.evaluations = state.most_trials();
  bool known = true;
  if (spec.own_end_parameter < 0) {
    const int64_t to = spec.FullResource({});
    known = to > 0 || plan.trials == 0;
    plan.resource = known ? plan.trials * to : 0;
  }
  for (TrialNumber number = 1; number <= plan.trials && spec.own_end_parameter >= 0 && known; ++number) {
    if (number > kMostDrawn) {  // the rest are like these
      plan.resource =
          static_cast<int64_t>(static_cast<double>(plan.resource) / static_cast<double>(kMostDrawn) *
                               static_cast<double>(plan.trials));
      AddNote(plan, "Its units are estimated from the first " + std::to_string(kMostDrawn) + " trials.");
      break;
    }
    auto drawn = SamplerOf(spec).Next(state);
    const Configuration configuration =
        drawn ? std::move(drawn->configuration) : RandomConfiguration(spec, state.space(), number);
    state.Apply({number, 0, TrialCreated{number, configuration, -1, 0, 0}});
    const int64_t to = spec.FullResource(configuration);
    known = to > 0;
    plan.resource = known ? plan.resource + to : 0;
  }
  if (!known) AddNote(plan, "Where the trainer ends is not known beforehand.");
  plan.resource_with_resume = plan.resource_without_resume = plan.full_resource = plan.resource;
  if (plan.trials == 0) AddNote(plan, "Trials are started until another limit ends the job.");
  if (TraitsOf(spec.pruner.kind).averages) {
    AddNote(plan, "The median rule stops trials early, so that less is trained than planned.");
  }
  return plan;
}

}  // namespace

Plan MakePlan(const SearchSpec& spec) {
  Plan plan = HasBracketTable(spec.pruner.kind) ? HyperbandPlan(spec)
              : HasOpenRungs(spec.pruner.kind)  ? OpenRungsPlan(spec)
                                                : RandomPlan(spec);
  if (spec.repeats > 0 && spec.pruner.min_chance > 0) {
    AddNote(plan,
            "Configurations that can hardly be the best any more are not repeated further, so that less is "
            "trained than planned.");
  } else if (spec.pruner.min_chance > 0) {
    AddNote(
        plan,
        "Trials that can hardly win any more are stopped by their learning curves, so that less is trained "
        "than planned.");
  }
  const int64_t most = spec.limits.max_total_resource;
  if (most > 0 && plan.trials == 0) plan.resource = most;
  if (most > 0 && plan.resource > most) {
    AddNote(plan, "max_total_resource = " + std::to_string(most) + " ends the job before the " +
                      std::to_string(plan.resource) + " units of the whole plan are trained.");
    plan.resource = most;
  }
  return plan;
}

}  // namespace winnow

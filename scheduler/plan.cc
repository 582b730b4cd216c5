#include "scheduler/plan.h"

#include <algorithm>

#include "scheduler/job_state.h"
#include "scheduler/pruners/none.h"
#include "scheduler/samplers/random.h"
#include "scheduler/suggest.h"

namespace winnow {
namespace {

void AddNote(Plan& plan, const std::string& sentence) {
  if (!plan.note.empty()) plan.note += " ";
  plan.note += sentence;
}

Plan HyperbandPlan(const SearchSpec& spec) {
  const JobState state(spec);
  const HyperbandTable& table = state.table();
  const bool endless = table.bracket_count() < 0;
  Plan plan;
  plan.note = table.note();
  const int64_t count =
      endless ? table.cycle_size() : table.bracket_count();
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
  plan.resource = spec.resumes ? plan.resource_with_resume : plan.resource_without_resume;
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

Plan RandomPlan(const SearchSpec& spec) {
  Plan plan;
  JobState state(spec);
  plan.trials = plan.evaluations = state.most_trials();
  bool known = true;
  for (TrialNumber number = 1; number <= plan.trials && known; ++number) {
    Configuration configuration;
    if (spec.own_end_parameter >= 0) {
      auto drawn = DrawNext(state);
      configuration = drawn ? std::move(drawn->configuration) : RandomConfiguration(spec, state.space(), number);
      state.Apply({number, 0, TrialCreated{number, configuration, -1, 0, 0}});
    }
    const int64_t to = FullResource(spec, configuration);
    known = to > 0;
    plan.resource = known ? plan.resource + to : 0;
  }
  if (!known) AddNote(plan, "Where the trainer ends is not known beforehand.");
  plan.resource_with_resume = plan.resource_without_resume = plan.full_resource = plan.resource;
  return plan;
}

}  // namespace

Plan MakePlan(const SearchSpec& spec) {
  Plan plan = HasBracketTable(spec.pruner.kind) ? HyperbandPlan(spec) : RandomPlan(spec);
  const int64_t most = spec.limits.max_total_resource;
  if (most > 0 && plan.resource > most) {
    AddNote(plan, "max_total_resource = " + std::to_string(most) + " ends the job before the " +
                      std::to_string(plan.resource) + " units of the whole plan are trained.");
    plan.resource = most;
  }
  return plan;
}

}  // namespace winnow

#include "spec/plan_message.h"

namespace winnow {

v1::TuningPlan PlanMessage(const Plan& plan) {
  v1::TuningPlan message;
  for (size_t i = 0; i < plan.brackets.size(); ++i) {
    v1::PlannedBracket* bracket = message.add_brackets();
    bracket->set_index(static_cast<int64_t>(i));
    bracket->set_s(plan.brackets[i].s);
    for (const RungPlan& rung : plan.brackets[i].rungs) {
      v1::PlannedRung* added = bracket->add_rungs();
      added->set_trials(rung.trials);
      added->set_resource(rung.resource);
    }
  }
  message.set_trials(plan.trials);
  message.set_resource(plan.resource_with_resume);
  message.set_resource_without_resume(plan.resource_without_resume);
  message.set_full_resource(plan.full_resource);
  message.set_evaluations(plan.evaluations);
  message.set_note(plan.note);
  return message;
}

}  // namespace winnow

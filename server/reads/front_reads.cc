#include <fmt/format.h>

#include <algorithm>

#include "scheduler/state/front_summary.h"
#include "server/engine/answers/messages.h"
#include "server/reads/reads.h"

namespace winnow {
namespace {

constexpr size_t kMostTrials = 1000;
constexpr size_t kMostSteps = 500;

}  // namespace

absl::StatusOr<v1::ParetoFront> Reads::GetParetoFront(const v1::GetParetoFrontRequest& request) {
  v1::ParetoFront front;
  absl::Status status = store_.Read([&]() -> absl::Status {
    absl::StatusOr<const JobView*> view = views_.Get(request.job_id());
    if (!view.ok()) return view.status();
    const JobState& state = (*view)->state;
    const SearchSpec& spec = state.spec();
    if (!spec.has_several_objectives()) {
      return absl::FailedPreconditionError(
          fmt::format("job \"{}\" has one objective, {}, and so no Pareto front", request.job_id(),
                      spec.objective_metric));
    }
    const FrontSummary summary = SummaryOf(state, kMostSteps);
    front.set_job_id(request.job_id());
    for (size_t i = 0; i < spec.objectives.size(); ++i) {
      v1::FrontObjective& objective = *front.add_objectives();
      objective.set_metric(spec.objectives[i].metric);
      objective.set_goal(spec.objectives[i].goal == Goal::kMinimize ? v1::MINIMIZE : v1::MAXIMIZE);
      if (!summary.reference.empty()) objective.set_reference(summary.reference[i]);
    }
    front.set_total_size(static_cast<int64_t>(summary.members.size()));
    front.set_hypervolume(summary.hypervolume);
    front.set_infeasible_trials(summary.infeasible);
    for (size_t i = 0; i < std::min(summary.members.size(), kMostTrials); ++i) {
      const FrontSummary::Member& member = summary.members[i];
      v1::FrontTrial& message = *front.add_trials();
      *message.mutable_trial() = ToProto(request.job_id(), spec, MakeTrialRow(state.trial(member.number)));
      message.mutable_values()->Assign(member.values.begin(), member.values.end());
      message.set_own_hypervolume(member.own_hypervolume);
    }
    for (const FrontSummary::Step& step : summary.history) {
      v1::HypervolumeStep& message = *front.add_history();
      message.set_trial(step.trial);
      *message.mutable_time() = ToTimestamp(step.time_us);
      message.set_resource(step.resource);
      message.set_hypervolume(step.hypervolume);
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return front;
}

}  // namespace winnow

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "server/engine/answers/messages.h"
#include "server/reads/reads.h"

namespace winnow {

absl::StatusOr<v1::Schedule> Reads::GetSchedule(const v1::GetScheduleRequest& request) {
  v1::Schedule schedule;
  absl::Status status = store_.Read([&]() -> absl::Status {
    absl::StatusOr<const JobView*> view = views_.Get(request.job_id());
    if (!view.ok()) return view.status();
    const JobState& state = (*view)->state;
    const auto count = static_cast<int64_t>(state.trials().size());
    TrialNumber number = request.trial();
    if (number == 0) {
      absl::StatusOr<TrialNumber> best = HandedOutTrial(store_, (*view)->row, (*view)->spec, state.spec());
      if (!best.ok()) return best.status();
      number = *best;
      if (number == 0) return NoBest((*view)->row, state.spec());
    }
    if (number < 1 || number > count) {
      return absl::NotFoundError(
          fmt::format("trial {} does not exist; expected one from 1 to {} of job \"{}\"", number, count,
                      request.job_id()));
    }
    schedule.set_job_id(request.job_id());
    schedule.set_trial(number);
    int64_t to = std::max(state.trial(number).highest_level(), state.trial(number).origin_resource);
    for (TrialNumber at = number; at > 0; at = state.trial(at).origin) {
      const TrialState& trial = state.trial(at);
      v1::SchedulePart& part = *schedule.add_parts();
      part.set_trial(at);
      part.set_resource_from(trial.origin_resource);
      part.set_resource_to(to);
      v1::Trial row = ToProto(request.job_id(), state.spec(), MakeTrialRow(trial));
      *part.mutable_hyperparameters() = std::move(*row.mutable_hyperparameters());
      if (const auto value = trial.curve.at(to)) part.set_objective(*value);
      to = trial.origin_resource;
    }
    std::reverse(schedule.mutable_parts()->pointer_begin(), schedule.mutable_parts()->pointer_end());
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return schedule;
}

}  // namespace winnow

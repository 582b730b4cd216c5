// Several objectives against each other.

#include <fmt/format.h>

#include <algorithm>

#include "insight/objective_points.h"
#include "server/engine/answers/messages.h"
#include "server/insights/insights.h"

namespace winnow {
namespace {

// The index of the objective; `otherwise` for "". INVALID_ARGUMENT names the field.
absl::StatusOr<size_t> ObjectiveAt(const char* field, const std::string& metric, size_t otherwise,
                                   const JobTrials& job) {
  if (metric.empty()) return otherwise;
  std::string known;
  for (size_t i = 0; i < job.search.objectives.size(); ++i) {
    if (job.search.objectives[i].metric == metric) return i;
    known += (i > 0 ? ", " : "") + job.search.objectives[i].metric;
  }
  return absl::InvalidArgumentError(fmt::format("{}: job \"{}\" has no objective \"{}\"; expected one of {}",
                                                field, job.row.id, metric, known));
}

}  // namespace

absl::StatusOr<v1::ObjectivePoints> Insights::GetObjectives(const v1::GetObjectivesRequest& request) {
  const absl::StatusOr<size_t> most = Bounded("max_points", request.max_points(), 1000, 1, 5000);
  if (!most.ok()) return most.status();
  v1::ObjectivePoints answer;
  const absl::Status status =
      With(request, [&](const JobTrials& job, const std::vector<uint8_t>& marked) -> absl::Status {
        if (!job.search.has_several_objectives()) {
          return absl::FailedPreconditionError(
              fmt::format("job \"{}\" has one objective, {}", job.row.id, job.search.objective_metric));
        }
        const absl::StatusOr<size_t> x = ObjectiveAt("x_metric", request.x_metric(), 1, job);
        if (!x.ok()) return x.status();
        const absl::StatusOr<size_t> y = ObjectiveAt("y_metric", request.y_metric(), 0, job);
        if (!y.ok()) return y.status();
        const TrialColumns& columns = job.columns;
        const std::vector<uint8_t> front = FrontMarks(columns, job.search.objectives);
        const ObjectiveRows drawn = RowsToDraw(columns, marked, front, *x, *y, *most);
        answer.set_x_metric(job.search.objectives[*x].metric);
        answer.set_y_metric(job.search.objectives[*y].metric);
        answer.set_trials(drawn.count);
        for (const uint32_t row : drawn.rows) {
          answer.add_trial(static_cast<int32_t>(row + 1));
          answer.add_x_value(columns.metric[*x][row]);
          answer.add_y_value(columns.metric[*y][row]);
          answer.add_state(StateOf(columns.phase[row]));
          answer.add_violation(columns.violation[row]);
          answer.add_front(front[row] != 0);
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return answer;
}

}  // namespace winnow

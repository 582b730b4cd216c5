#include "server/engine/answers/job_facts.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

namespace winnow {
namespace {

const char* StateName(JobEnd end) {
  switch (end) {
    case JobEnd::kCompleted:
      return "completed";
    case JobEnd::kStopped:
      return "stopped";
    case JobEnd::kFailed:
      return "failed";
  }
  return "";
}

}  // namespace

absl::Status ApplyFacts(FactTable& facts, const JobRow& row, JobState& state,
                        const std::function<void(const Fact&)>& applied) {
  auto take = [&](const Fact& fact) -> absl::Status {
    if (const std::string why = state.Contradiction(fact); !why.empty()) {
      return absl::DataLossError(
          fmt::format("job \"{}\": fact {} contradicts those before it: {}", row.id, fact.sequence, why));
    }
    state.Apply(fact);
    applied(fact);
    return absl::OkStatus();
  };
  if (state.last_sequence() == 0) return facts.ForEach(row.key, take);
  absl::StatusOr<std::vector<Fact>> newer = facts.Load(row.key, state.last_sequence());
  if (!newer.ok()) return newer.status();
  for (const Fact& fact : *newer) {
    absl::Status status = take(fact);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::TuningJobSpec> SpecFromJson(const std::string& json) {
  v1::TuningJobSpec spec;
  auto status = google::protobuf::util::JsonStringToMessage(json, &spec);
  if (!status.ok()) return absl::DataLossError("a stored spec cannot be read: " + status.ToString());
  return spec;
}

absl::StatusOr<JobRow> FindChangeable(JobTable& jobs, const std::string& id, const Requester& by) {
  absl::StatusOr<std::optional<JobRow>> row = jobs.Find(id);
  if (!row.ok()) return row.status();
  if (!*row) return NoJob(id);
  if (absl::Status mine = by.MayChange(id, (*row)->owner); !mine.ok()) return mine;
  return **std::move(row);
}

void NoteInRow(const Fact& fact, JobRow& row) {
  if (std::holds_alternative<StopRequested>(fact.body)) row.state = "stopping";
  if (const auto* paused = std::get_if<JobPaused>(&fact.body))
    row.reason = paused->by.empty() ? "paused" : "paused by " + paused->by;
  if (std::holds_alternative<JobResumed>(fact.body)) row.reason.clear();
  if (std::holds_alternative<JobContinued>(fact.body)) {
    row.state = "running";
    row.reason.clear();
    row.end_us = 0;
  }
  if (const auto* ended = std::get_if<JobEnded>(&fact.body)) {
    row.state = StateName(ended->end);
    row.reason = ended->reason;
    row.end_us = fact.time_us;
  }
}

}  // namespace winnow

// Reads::GetLogs and Reads::GetLogTimes: the output of trials' processes, and when it was received.

#include <fmt/format.h>

#include <algorithm>

#include "server/engine/answers/messages.h"
#include "server/engine/answers/requester.h"
#include "server/reads/reads.h"

namespace winnow {
namespace {

constexpr int64_t kLogAnswer = 1 << 20;  // by default
constexpr int64_t kMaxLogAnswer = 4 << 20;

// Why the trial has no attempt on a worker.
std::string WithoutAttempt(const TrialRow& trial) {
  if (trial.start_us > 0) return "has no output here: a client of the job trains it, and has what it prints";
  if (trial.end_us > 0) return "has no output: it ended before it had started";
  return "has no attempt yet: it has not started";
}

// Names the attempts or ranks that exist. `ranks` of all attempts, by attempt and rank.
template <typename Request>
absl::Status NoRank(const Request& request, const TrialRow& found, const std::vector<AssignmentRow>& ranks) {
  std::string trial = fmt::format("trial {} of job \"{}\"", request.trial(), request.job_id());
  if (ranks.empty()) return absl::NotFoundError(trial + " " + WithoutAttempt(found));
  int64_t newest = ranks.back().attempt;
  int64_t attempt = request.attempt() == 0 ? newest : request.attempt();
  int32_t last = -1;
  for (const AssignmentRow& row : ranks) {
    if (row.attempt == attempt) last = std::max(last, row.rank);
  }
  if (last < 0) {
    return absl::NotFoundError(fmt::format("{} has no attempt {}; its newest is {}", trial, attempt, newest));
  }
  return absl::NotFoundError(fmt::format("attempt {} of {} has no rank {}; its ranks are 0 to {}", attempt,
                                         trial, request.rank(), last));
}

// The rank's assignment of the attempt that is asked for. NOT_FOUND says what there is.
template <typename Request>
absl::StatusOr<AssignmentRow> FindRank(Store& store, const Request& request) {
  if (request.offset() < 0) {
    return absl::InvalidArgumentError(fmt::format("offset: {} is negative", request.offset()));
  }
  const absl::StatusOr<std::optional<JobRow>> job = store.jobs.Find(request.job_id());
  if (!job.ok()) return job.status();
  if (!*job) return NoJob(request.job_id());
  const int64_t key = (*job)->key;
  const absl::StatusOr<std::optional<TrialRow>> trial = store.trials.Find(key, request.trial());
  if (!trial.ok()) return trial.status();
  if (!*trial) return NoTrial(request.job_id(), request.trial());
  const absl::StatusOr<std::vector<AssignmentRow>> ranks = store.assignments.OfTrial(key, request.trial());
  if (!ranks.ok()) return ranks.status();
  const auto found = std::find_if(ranks->rbegin(), ranks->rend(), [&](const AssignmentRow& row) {
    return row.rank == request.rank() && (request.attempt() == 0 || row.attempt == request.attempt());
  });
  if (found == ranks->rend()) return NoRank(request, **trial, *ranks);
  return *found;
}

}  // namespace

absl::StatusOr<LogAnswer> Reads::GetLogs(const v1::GetLogsRequest& request) {
  const int64_t limit = request.limit() == 0 ? kLogAnswer : request.limit();
  if (limit < 0 || limit > kMaxLogAnswer) {
    return absl::InvalidArgumentError(fmt::format(
        "limit: {} is out of range; expected 1 to {}, or 0 for the default", request.limit(), kMaxLogAnswer));
  }
  LogAnswer answer;
  const absl::Status status = store_.Read([&]() -> absl::Status {
    const absl::StatusOr<AssignmentRow> rank = FindRank(store_, request);
    if (!rank.ok()) return rank.status();
    absl::StatusOr<LogPart> part = store_.logs.Read(rank->key, request.stream(), request.offset(), limit);
    if (!part.ok()) return part.status();
    answer.assignment = rank->key;
    answer.response.set_next_offset(part->next_offset);
    answer.response.set_ended(rank->state == RankState::kGone &&
                              static_cast<int64_t>(part->data.size()) < limit);
    answer.response.set_attempt(rank->attempt);
    answer.response.set_truncated(part->truncated);
    answer.response.set_data(std::move(part->data));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return answer;
}

absl::StatusOr<v1::GetLogTimesResponse> Reads::GetLogTimes(const v1::GetLogTimesRequest& request) {
  v1::GetLogTimesResponse response;
  const absl::Status status = store_.Read([&]() -> absl::Status {
    const absl::StatusOr<AssignmentRow> rank = FindRank(store_, request);
    if (!rank.ok()) return rank.status();
    const absl::StatusOr<std::vector<LogTime>> times =
        store_.logs.Times(rank->key, request.stream(), request.offset());
    if (!times.ok()) return times.status();
    for (const LogTime& time : *times) {
      v1::GetLogTimesResponse::Part* part = response.add_parts();
      part->set_offset(time.offset);
      if (time.received_us != 0) *part->mutable_receive_time() = ToTimestamp(time.received_us);
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return response;
}

}  // namespace winnow

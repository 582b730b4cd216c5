#include "server/engine/recorder.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/mutant.h"

namespace winnow {

// `ended`: the trials that the facts just recorded ended, in order.
void Recorder::Stop(OpenJob& job, std::vector<TrialNumber> ended) {
  for (size_t i = 0; i < ended.size(); ++i) {
    std::optional<AttemptEnded> over = attempts_.Stop(job, ended[i]);
    if (!over) continue;
    for (const TrialNumber trial : jobs_.Record(job, *std::move(over))) ended.push_back(trial);
  }
}

void Recorder::Record(OpenJob& job, FactBody body) { Stop(job, jobs_.Record(job, std::move(body))); }

bool Recorder::RecordReport(OpenJob& job, const ReportRow& report) {
  job.ran = true;
  std::optional<std::vector<TrialNumber>> ended = jobs_.RecordReport(job, report);
  if (ended) Stop(job, *std::move(ended));
  return ended.has_value();
}

void Recorder::RecordNotice(OpenJob& job, Noticed notice) {
  if (!job.state.noticed(notice.kind)) Record(job, std::move(notice));
}

void Recorder::StartAttempt(OpenJob& job, TrialNumber trial, int64_t from, int64_t to,
                            const std::vector<RankPlace>& ranks) {
  Record(job, attempts_.Place(job, trial, from, to, ranks));
}

void Recorder::CountStart(PartStart start, OpenJob& job) {
  if (start == PartStart::kUnknown) return;
  if (start == PartStart::kNewProcess) ++job.row.new_process_parts;
  if (start == PartStart::kForked) ++job.row.forked_parts;
  if (start == PartStart::kContinued) ++job.row.continued_parts;
  job.changed = true;
}

void Recorder::EndRank(Rank& rank, const RankEnd& end) {
  OpenJob* job = jobs_.FindKey(rank.row.job);
  WINNOW_CHECK(job != nullptr, "a job with a live attempt is open");
  const bool of_machines = end.cause == FailureCause::kNotStarted || end.cause == FailureCause::kRanksGone;
  if (end.outcome == AttemptOutcome::kFinished || (end.outcome == AttemptOutcome::kFailed && !of_machines))
    job->ran = true;
  if (rank.row.rank == 0) CountStart(rank.row.part_start, *job);
  if (end.outcome == AttemptOutcome::kFinished && end.start_us > 0) job->NotePart(end.end_us - end.start_us);
  if (std::optional<AttemptEnded> over = attempts_.EndRank(rank, end)) Record(*job, *std::move(over));
}

void Recorder::EndUnprepared(Rank& rank, const RankEnd& end, std::string_view what) {
  OpenJob* job = jobs_.FindKey(rank.row.job);
  WINNOW_CHECK(job != nullptr, "a job with a live attempt is open");
  const std::string worker = workers_.row(rank.row.worker).name;
  // It has worked before, or elsewhere.
  const bool of_worker = job->ran || job->state.any_finite_objective();
  if (std::optional<AttemptEnded> over = attempts_.EndRank(rank, end)) Record(*job, *std::move(over));
  if (of_worker) {
    workers_.marks().NoteTrouble(worker, WorkerMarks::Trouble::kNotStarted, end.reason);
    return;
  }
  if (++job->unprepared < kMostUnprepared || job->state.closing() || job->state.ended()) return;
  Record(*job, StopRequested{.reason = fmt::format("{}, so that no trial could be started. On worker {}: {}",
                                                   what, worker, end.reason),
                             .failed = true});
}

void Recorder::LoseWorker(WorkerEntry& worker, const std::string& reason) {
  workers_.GiveUp(worker, WorkerState::kLost);
  while (!WINNOW_MUTANT("a lost worker keeps its ranks") && !worker.held.empty()) {
    Rank& rank = *worker.held.begin()->second;
    const bool ran = rank.told;
    EndRank(rank,
            {AttemptOutcome::kLost, reason, ran ? rank.row.place_us : 0, ran ? worker.row.last_sync_us : 0});
  }
}

void Recorder::TakeBackUntold(WorkerEntry& worker) {
  std::vector<std::string> untold;
  for (const auto& [id, rank] : worker.held) {
    if (!rank->told) untold.push_back(id);
  }
  for (const std::string& id : untold) {
    if (Rank* rank = attempts_.Find(id)) EndRank(*rank, {AttemptOutcome::kHandedBack, "its worker leaves"});
  }
}

void Recorder::Drain(WorkerEntry& worker, const std::string& reason) {
  TakeBackUntold(worker);
  for (auto next = worker.held.begin(); next != worker.held.end();) {
    Rank& rank = *(next++)->second;
    attempts_.Drain(
        rank, fmt::format("worker {} is drained{}{}", worker.row.name, reason.empty() ? "" : ": ", reason));
  }
}

void Recorder::Preempt(OpenJob& job, TrialNumber trial, const std::string& reason) {
  std::vector<std::string> untold;
  for (Rank* rank : attempts_.RanksOf(job, trial)) {
    if (!rank->wanted()) continue;
    if (rank->told) {
      attempts_.Drain(*rank, reason);
    } else {
      untold.push_back(rank->row.id);
    }
  }
  for (const std::string& id : untold) {
    Rank* rank = attempts_.Find(id);
    if (rank != nullptr) EndRank(*rank, {AttemptOutcome::kHandedBack, reason});
  }
}

}  // namespace winnow

#include "tests/simulation/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/replay.h"
#include "server/engine/answers/job_facts.h"
#include "spec/search_spec.h"

namespace winnow {

// ---- processes

void Ledger::Prepared(const v1::Assignment& assignment) {
  prepared_[{assignment.job_id(), assignment.trial(), assignment.attempt()}].insert(assignment.rank());
}

std::optional<AssignmentRow> Ledger::Find(const std::string& assignment) {
  absl::StatusOr<std::optional<AssignmentRow>> row = store().assignments.Find(assignment);
  if (!row.ok()) {
    FailOnCommit("the store cannot be read: " + row.status().ToString());
    return std::nullopt;
  }
  return *row;
}

void Ledger::Started(const std::string& host, const HostRoom& room, const v1::Assignment& assignment) {
  if (!ever_started_.insert(assignment.id()).second) {
    Fail(fmt::format("{} was started twice", assignment.id()));
  }
  if (assignment.await_start()) Fail(fmt::format("{} was started before the word to start", assignment.id()));
  const auto ready = prepared_.find({assignment.job_id(), assignment.trial(), assignment.attempt()});
  const int prepared = ready == prepared_.end() ? 0 : static_cast<int>(ready->second.size());
  if (prepared < assignment.world_size()) {
    Fail(fmt::format("{} was started when {} of {} ranks were prepared", assignment.id(), prepared,
                     assignment.world_size()));
  }
  int used = 1;
  double cpus = assignment.cpus();
  for (const auto& [id, process] : processes_) {
    const v1::Assignment& other = process.assignment;
    if (process.host == host) {
      if (!process.saves) ++used;
      cpus += other.cpus();
    }
    if (other.job_id() != assignment.job_id() || other.trial() != assignment.trial()) continue;
    if (other.attempt() == assignment.attempt()) {
      if (other.rank() == assignment.rank()) Fail(fmt::format("a rank of {} runs twice", assignment.id()));
      continue;
    }
    // A fenced process may linger, or start late where it could not be informed.
    const std::optional<AssignmentRow> own = Find(assignment.id());
    const std::optional<AssignmentRow> row = Find(id);
    if (row && row->state == RankState::kGone && row->outcome != AttemptOutcome::kLost) {
      Fail(fmt::format("{} was started while {} runs and is taken for gone ({})", assignment.id(), id,
                       row->reason));
    }
    if (own && own->state != RankState::kGone && row && row->state != RankState::kGone) {
      Fail(fmt::format("{} was started while {} runs and is {}", assignment.id(), id, TextOf(row->state)));
    }
  }
  if (used > room.slots) Fail(fmt::format("{} has {} slots and runs {} ranks", host, room.slots, used));
  if (room.cpus > 0 && cpus > room.cpus + 1e-9) {
    Fail(fmt::format("{} has {} processors and runs ranks of {}", host, room.cpus, cpus));
  }
  processes_[assignment.id()] = {host, assignment, false};
  if (!assignment.gpus().empty()) CheckGpus(host, room, assignment);
}

// Checks the devices of a process that starts beside those of the processes that live.
void Ledger::CheckGpus(const std::string& host, const HostRoom& room, const v1::Assignment& assignment) {
  const auto part_of = [](const v1::Assignment& of) { return of.gpu_share() > 0 ? of.gpu_share() : 1; };
  for (const std::string& gpu : assignment.gpus()) {
    if (std::stoi(gpu) >= room.gpus) Fail(fmt::format("{} has no GPU {}", host, gpu));
    double used = 0;
    for (const auto& [id, process] : processes_) {
      const auto& gpus = process.assignment.gpus();
      if (process.host == host && std::find(gpus.begin(), gpus.end(), gpu) != gpus.end())
        used += part_of(process.assignment);
    }
    if (used > 1 + 1e-9) Fail(fmt::format("{} of GPU {} of {} are used at once", used, gpu, host));
  }
}

void Ledger::Saves(const std::string& assignment) { processes_.at(assignment).saves = true; }

void Ledger::Ended(const std::string& assignment) { processes_.erase(assignment); }

void Ledger::Emitted(const v1::Assignment& assignment, int64_t resource, double value) {
  emitted_[assignment.id()][resource] = value;
  reached_[{assignment.job_id(), assignment.trial(), assignment.attempt()}] = resource;
}

int64_t Ledger::Reached(const v1::Assignment& assignment) const {
  const auto found = reached_.find({assignment.job_id(), assignment.trial(), assignment.attempt()});
  return found == reached_.end() ? 0 : found->second;
}

int Ledger::RunningRanks(const v1::Assignment& assignment) const {
  return static_cast<int>(std::count_if(processes_.begin(), processes_.end(), [&](const auto& entry) {
    const v1::Assignment& other = entry.second.assignment;
    return other.trial() == assignment.trial() && other.attempt() == assignment.attempt() &&
           other.job_id() == assignment.job_id();
  }));
}

void Ledger::Saved(const std::string& storage, const v1::Assignment& assignment, int64_t level) {
  int64_t& saved = checkpoints_[{storage, assignment.job_id(), assignment.trial()}];
  saved = std::max(saved, level);
}

void Ledger::Writes(const std::string& storage, const v1::Assignment& assignment, int64_t level) {
  unsaved_[{storage, assignment.job_id(), assignment.trial()}] = {assignment.id(), level};
}

std::optional<int64_t> Ledger::Checkpoint(const std::string& storage, const v1::Assignment& assignment) {
  const int64_t from = assignment.resource_from();
  if (from == 0 || assignment.has_restore()) return from;
  const std::tuple trial(storage, assignment.job_id(), assignment.trial());
  const auto saved = checkpoints_.find(trial);
  const int64_t level = saved == checkpoints_.end() ? 0 : saved->second;
  if (level >= from) return from;
  // A process that did not come to its end may have left the checkpoint of its last level unwritten.
  const auto unsaved = unsaved_.find(trial);
  if (unsaved == unsaved_.end() || unsaved->second.second < from) return std::nullopt;
  const std::optional<AssignmentRow> row = Find(unsaved->second.first);
  if (row && row->outcome == AttemptOutcome::kFinished) return std::nullopt;
  return level;
}

void Ledger::TakeCheckpoint(const std::string& storage, const v1::Assignment& assignment) {
  const int64_t from = assignment.resource_from();
  if (assignment.origin() == 0 || from == 0) return;
  int64_t& own = checkpoints_[{storage, assignment.job_id(), assignment.trial()}];
  if (assignment.has_restore()) own = std::max(own, from);
  if (!assignment.take_checkpoint() || own > 0) return;
  const auto theirs = checkpoints_.find({storage, assignment.job_id(), assignment.origin()});
  const int64_t level = theirs == checkpoints_.end() ? 0 : theirs->second;
  const std::optional<AssignmentRow> row = Find(assignment.id());
  if (level != from && row && row->state == RankState::kWanted) {
    Fail(fmt::format("{} is to go on from trial {} at {}, whose checkpoint is at {}", assignment.id(),
                     assignment.origin(), from, level));
  }
  own = level;
}

// ---- Syncs

std::optional<double> Ledger::Stored(const ReportKey& key, const std::string& metric) {
  const auto& [job, trial, attempt, resource] = key;
  absl::StatusOr<std::optional<ReportRow>> row =
      store().facts.FindReport(job, trial, attempt, resource, metric);
  if (!row.ok()) FailOnCommit("the store cannot be read: " + row.status().ToString());
  if (!row.ok() || !*row) return std::nullopt;
  return (*row)->value;
}

std::optional<double> Ledger::Known(const ReportKey& key) const {
  for (const auto* reports : {&pending_, &accepted_}) {
    if (const auto found = reports->find(key); found != reports->end()) return found->second;
  }
  return std::nullopt;
}

Ledger::Ticket Ledger::Take(const v1::SyncRequest& request, const std::function<void()>& take) {
  const Ticket ticket = ++last_ticket_;
  const auto may_count = [&](const std::optional<AssignmentRow>& row) {
    return row && row->state == RankState::kWanted && row->worker == request.worker_id() && row->rank == 0;
  };
  std::map<std::string, std::optional<AssignmentRow>> before;
  for (const v1::Report& report : request.reports()) {
    if (before.count(report.assignment_id()) == 0)
      before[report.assignment_id()] = Find(report.assignment_id());
  }
  for (const v1::RunningAssignment& running : request.running()) {
    if (running.state() == v1::RunningAssignment::ENDED && before.count(running.assignment_id()) == 0) {
      before[running.assignment_id()] = Find(running.assignment_id());
    }
  }
  // A request as the server must treat it: what it knew before, what it should accept.
  std::vector<std::tuple<ReportKey, double, bool>> offered;
  for (const v1::Report& report : request.reports()) {
    const std::optional<AssignmentRow>& row = before[report.assignment_id()];
    if (!row) continue;
    const bool counts = may_count(row) && report.resource() >= 1 &&
                        (row->resource_to == 0 || report.resource() <= row->resource_to);
    offered.emplace_back(ReportKey{row->job, row->trial, row->attempt, report.resource()},
                         report.metrics(0).value(), counts);
  }
  take();
  std::vector<ReportKey>& taken = taken_[ticket];
  for (const auto& [key, value, counts] : offered) {
    const std::optional<double> stored = Stored(key, metric_);
    if (!stored) continue;  // refused: checked below
    taken.push_back(key);
    if (const std::optional<double> known = Known(key)) {
      if (!Identical(*known, *stored)) FailOnCommit("a report that was stored has changed");
      continue;
    }
    if (!counts) {
      FailOnCommit(
          fmt::format("a report of trial {} attempt {} at {} was counted under an assignment that is fenced",
                      std::get<1>(key), std::get<2>(key), std::get<3>(key)));
    }
    if (!Identical(*stored, value)) FailOnCommit("a report was stored with another value");
    pending_[key] = *stored;
  }
  for (const v1::Report& report : request.reports()) {
    const std::optional<AssignmentRow>& row = before[report.assignment_id()];
    if (!may_count(row) || report.resource() < 1) continue;
    if (row->resource_to > 0 && report.resource() > row->resource_to) continue;
    const ReportKey key{row->job, row->trial, row->attempt, report.resource()};
    if (Known(key)) continue;
    // Correct only if an earlier report of the same request has ended the trial.
    const std::optional<AssignmentRow> after = Find(report.assignment_id());
    if (after && after->state == RankState::kWanted) {
      FailOnCommit(fmt::format("a report of {} at {} was answered and not stored", report.assignment_id(),
                               report.resource()));
    }
  }
  for (const auto& [id, row] : before) {
    if (row && row->state == RankState::kWanted && row->worker == request.worker_id() && row->rank == 0)
      CheckOutcome(id);
  }
  return ticket;
}

// Checks that a finished attempt has all reports of its process.
void Ledger::CheckOutcome(const std::string& assignment) {
  const std::optional<AssignmentRow> row = Find(assignment);
  if (!row || row->state != RankState::kGone || row->outcome != AttemptOutcome::kFinished) return;
  for (const auto& [resource, value] : emitted_[assignment]) {
    const ReportKey key{row->job, row->trial, row->attempt, resource};
    if (!Known(key)) {
      FailOnCommit(
          fmt::format("{} has finished, and what it reported at {} is not stored", assignment, resource));
    }
  }
}

void Ledger::Committed() {
  if (!pending_violation_.empty()) Fail(pending_violation_);
  for (const auto& [key, value] : pending_) accepted_.insert_or_assign(key, value);
  pending_.clear();
  first_pending_ = last_ticket_ + 1;
}

void Ledger::RolledBack() {
  pending_violation_.clear();
  pending_.clear();
  for (Ticket ticket = first_pending_; ticket <= last_ticket_; ++ticket) taken_.erase(ticket);
}

void Ledger::Acknowledged(Ticket ticket) {
  if (ticket >= first_pending_) Fail("a Sync was answered before it was committed");
  const auto taken = taken_.find(ticket);
  if (taken == taken_.end()) {
    Fail("a Sync was answered although it was rolled back");
    return;
  }
  for (const ReportKey& key : taken->second) {
    if (accepted_.count(key) == 0) Fail("a report was acknowledged that is not stored");
  }
  taken_.erase(taken);
}

// Checks that what was placed in this batch is expected to end before its worker leaves, or takes
// nearly the whole life of such a worker. A trial whose program is suspended can go on in one place alone.
void Ledger::CheckEnds(Engine& engine) {
  const int64_t now_us = engine.context().wall_us();
  for (const auto& [id, worker] : engine.workers().all()) {
    if (worker.row.ends_us == 0) continue;
    for (const auto& [assignment, rank] : worker.held) {
      if (rank->row.place_us != now_us || !looked_at_.insert(assignment).second) continue;
      const OpenJob* job = engine.jobs().FindKey(rank->row.job);
      const Startup& startup = job->state.startup();
      const int64_t units = rank->row.resource_to - rank->row.resource_from;
      if (job->state.spec().suspends || !startup.seconds() || !startup.unit_seconds() || units <= 0) continue;
      const double takes_us =
          1e6 * (*startup.seconds() + *startup.unit_seconds() * static_cast<double>(units));
      const auto left_us = static_cast<double>(worker.row.ends_us - now_us);
      const auto life_us = static_cast<double>(worker.row.ends_us - worker.row.register_us);
      if (takes_us > left_us + 1 && takes_us < 0.9 * life_us - 1) {
        Fail(fmt::format("{} takes {:.3f} s on {}, which leaves in {:.3f} s", assignment, takes_us / 1e6,
                         worker.row.name, left_us / 1e6));
      }
    }
  }
}

void Ledger::CheckEngine(Engine& engine, bool thorough) {
  if (thorough) CheckReload(engine);
  CheckEnds(engine);
  for (const auto& [key, job] : engine.jobs().all()) {
    const Limits& limits = job->state.spec().limits;
    const JobTotals& totals = job->state.totals();
    if (limits.max_trials > 0 && static_cast<int64_t>(job->state.trials().size()) > limits.max_trials) {
      Fail(fmt::format("{} has {} trials of {}", job->row.id, job->state.trials().size(), limits.max_trials));
    }
    if (limits.max_total_resource > 0 &&
        totals.resource + totals.reserved_resource > limits.max_total_resource) {
      Fail(fmt::format("{} trains {} units of {}", job->row.id, totals.resource + totals.reserved_resource,
                       limits.max_total_resource));
    }
  }
  std::map<std::pair<int64_t, TrialNumber>, int64_t> attempts;
  for (const auto& [id, worker] : engine.workers().all()) {
    int64_t slots = 0;
    double cpus = 0;
    std::map<std::string, double> gpus;
    for (const auto& [name, held] : worker.held) {
      for (const std::string& gpu : held->row.gpus)
        gpus[gpu] += held->row.gpu_share > 0 ? held->row.gpu_share : 1;
      slots += held->row.slots;
      cpus += held->row.cpus;
      const auto [found, fresh] =
          attempts.emplace(std::make_pair(held->row.job, held->row.trial), held->row.attempt);
      if (!fresh && found->second != held->row.attempt) {
        Fail(fmt::format("trial {} has two live attempts", held->row.trial));
      }
    }
    if (slots > worker.row.slots + ahead_[worker.row.name]) {
      Fail(fmt::format("{} of {} slots of {} are taken", slots, worker.row.slots, worker.row.name));
    }
    if (worker.row.cpus > 0 && cpus > worker.row.cpus + 1e-9) {
      Fail(fmt::format("{} of {} processors of {} are taken", cpus, worker.row.cpus, worker.row.name));
    }
    for (const auto& [gpu, used] : gpus) {
      if (used > 1 + 1e-9) Fail(fmt::format("{} of GPU {} of {} are taken", used, gpu, worker.row.name));
    }
  }
}

// Checks that the state in memory equals the loaded state.
void Ledger::CheckReload(Engine& engine) {
  for (const auto& [key, job] : engine.jobs().all()) {
    const auto facts = store().facts.Load(key);
    if (!facts.ok()) {
      Fail("facts cannot be read: " + facts.status().ToString());
      return;
    }
    JobState loaded(job->submitted);
    for (const Fact& fact : *facts) {
      if (const std::string why = loaded.Contradiction(fact); !why.empty()) {
        Fail(fmt::format("fact {} contradicts those before it: {}", fact.sequence, why));
        return;
      }
      loaded.Apply(fact);
    }
    if (!(loaded == job->state)) Fail(fmt::format("{} as it lives is not what its facts make", job->row.id));
  }
}

void Ledger::CheckStored(const std::string& job_id) {
  const auto row = store().jobs.Find(job_id);
  if (!row.ok() || !*row) {
    Fail(fmt::format("{} is not stored", job_id));
    return;
  }
  const int64_t key = (*row)->key;
  const auto facts = store().facts.Load(key);
  const auto message = SpecFromJson((*row)->spec);
  if (!facts.ok() || !message.ok()) {
    Fail(fmt::format("{} cannot be read", job_id));
    return;
  }
  const SearchSpec spec = ToSearchSpec(*message);
  if (const Mismatch mismatch = Verify(spec, *facts); !mismatch.ok()) {
    Fail(fmt::format("{} does not replay: fact {} is {}, and {} was due", job_id, mismatch.sequence,
                     mismatch.recorded, mismatch.expected));
  }
  std::set<ReportKey> counted;
  JobState state(spec);
  bool out_of_time = false;
  for (const Fact& fact : *facts) {
    ++facts_;
    if (std::holds_alternative<AttemptStarted>(fact.body)) {
      const int64_t most = state.spec().limits.max_parallel_trials;
      if (state.paused()) Fail(fmt::format("{} is paused, and a trial of it starts", job_id));
      if (most > 0 && state.totals().live_attempts >= most)
        Fail(fmt::format("{} runs {} trials of {} at once", job_id, state.totals().live_attempts + 1, most));
    }
    state.Apply(fact);
    if (!IsObserved(fact.body)) ++decisions_;
    if (std::holds_alternative<TimeLimitReached>(fact.body)) out_of_time = true;
    if (std::holds_alternative<JobContinued>(fact.body)) out_of_time = false;
    if (const auto* report = std::get_if<Reported>(&fact.body)) {
      const ReportKey report_key{key, report->trial, report->attempt, report->resource};
      if (!counted.insert(report_key).second) Fail(fmt::format("{}: a report is counted twice", job_id));
      const auto accepted = accepted_.find(report_key);
      if (accepted == accepted_.end()) {
        Fail(fmt::format("{}: a report is counted that no worker has sent", job_id));
      } else if (!Identical(accepted->second, report->objective)) {
        Fail(fmt::format("{}: a report has another value than was sent", job_id));
      }
    }
    if (std::holds_alternative<AttemptStarted>(fact.body) && out_of_time) {
      Fail(fmt::format("{}: an attempt was started after the time was up", job_id));
    }
  }
  // Each report is of one unit, and what cannot resume trains each unit that it reports.
  const auto units = static_cast<int64_t>(counted.size());
  if (message->trainer().has_resumes() && !message->trainer().resumes() && state.totals().resource != units) {
    Fail(fmt::format("{} counts {} units, and {} were trained", job_id, state.totals().resource, units));
  }
  for (const auto& [report_key, value] : accepted_) {
    if (std::get<0>(report_key) == key && counted.count(report_key) == 0) {
      Fail(fmt::format("{}: the report of trial {} attempt {} at {} was acknowledged and is lost", job_id,
                       std::get<1>(report_key), std::get<2>(report_key), std::get<3>(report_key)));
    }
  }
}

void Ledger::CheckReleased() {
  const auto held = store().assignments.Held();
  if (!held.ok()) {
    Fail("the store cannot be read: " + held.status().ToString());
  } else if (!held->empty()) {
    Fail(fmt::format("all jobs have ended and {} is still held", held->front().id));
  }
}

}  // namespace winnow

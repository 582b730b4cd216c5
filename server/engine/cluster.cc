#include "server/engine/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/mutant.h"
#include "scheduler/random.h"
#include "server/engine/artifacts.h"
#include "server/engine/feasible.h"
#include "server/engine/usage.h"
#include "spec/launch.h"

namespace winnow {
namespace {

// Of a failure: it is not the trainer's own.
bool IsMachines(const std::string& cause) { return cause == "not_started" || cause == "ranks_gone"; }

// What a trainer did wrong itself comes before what the machines did to others of its cluster.
// Of several that failed by themselves the one that did so first is the cause of the others.
std::vector<AssignmentRow>::const_iterator FirstFailure(const std::vector<AssignmentRow>& ranks) {
  const auto own = [](const AssignmentRow& row) { return row.outcome == "failed" && !IsMachines(row.cause); };
  auto first = ranks.end();
  for (auto rank = ranks.begin(); rank != ranks.end(); ++rank) {
    if (own(*rank) && (first == ranks.end() || rank->end_us < first->end_us)) first = rank;
  }
  if (first != ranks.end()) return first;
  return std::find_if(ranks.begin(), ranks.end(),
                      [](const AssignmentRow& row) { return row.outcome == "failed"; });
}

// How an attempt ended, from the ends of its ranks. A lost worker or one that leaves explains failures of
// the other ranks, whichever was seen first.
AttemptEnded Summarise(TrialNumber trial, const std::vector<AssignmentRow>& ranks, bool trial_ended) {
  auto first = [&](const char* outcome) {
    return std::find_if(ranks.begin(), ranks.end(), [&](const auto& row) { return row.outcome == outcome; });
  };
  AttemptEnded ended;
  ended.trial = trial;
  ended.attempt = ranks[0].attempt;
  ended.started_us = ranks[0].start_us;
  ended.ended_us = ranks[0].end_us;
  auto cause = ranks.end();
  if (trial_ended) {
    ended.outcome = AttemptOutcome::kStopped;
  } else if ((cause = first("lost")) != ranks.end()) {
    ended.outcome = AttemptOutcome::kLost;
  } else if ((cause = first("handed_back")) != ranks.end()) {
    ended.outcome = AttemptOutcome::kHandedBack;
  } else if ((cause = FirstFailure(ranks)) != ranks.end()) {
    ended.outcome = IsMachines(cause->cause) ? AttemptOutcome::kLost : AttemptOutcome::kFailed;
  } else {
    ended.outcome = AttemptOutcome::kFinished;
    ended.reason = ranks[0].reason;  // why it has told nothing of the objective; mostly empty
  }
  if (cause != ranks.end()) {
    ended.reason = ranks.size() == 1 ? cause->reason : fmt::format("rank {}: {}", cause->rank, cause->reason);
  }
  return ended;
}

}  // namespace

RankShape WorkerEntry::Used() const {
  RankShape used{used_slots};
  for (const auto& [id, assignment] : held) {
    used.cpus += assignment->row.cpus;
    used.memory_gib += assignment->row.memory_gib;
  }
  return used;
}

absl::Status Cluster::Load() {
  if (absl::Status status = marks_.Load(); !status.ok()) return status;
  absl::StatusOr<std::vector<WorkerRow>> workers = context_.store.workers.List(true);
  if (!workers.ok()) return workers.status();
  for (WorkerRow& row : *workers) {
    WorkerEntry& worker = workers_[row.id];
    worker.row = std::move(row);
    if (worker.present()) RenewLease(worker);
  }
  for (const auto& [key, job] : jobs_.all()) {
    absl::StatusOr<std::vector<AssignmentRow>> newest = context_.store.assignments.NewestOfJob(key);
    if (!newest.ok()) return newest.status();
    for (const AssignmentRow& row : *newest) homes_[{key, row.trial}] = row.worker;
  }
  absl::StatusOr<std::vector<AssignmentRow>> held = context_.store.assignments.Held();
  if (!held.ok()) return held.status();
  for (AssignmentRow& row : *held) attempts_[{row.job, row.trial}].push_back(std::move(row));
  for (const auto& [key, ranks] : attempts_) {
    OpenJob* job = jobs_.FindKey(key.first);
    if (job == nullptr) return absl::DataLossError("an assignment is held for a job that has ended");
    // Described as it was when it was placed.
    if (absl::Status status = SetHomeBefore(key, ranks[0].attempt); !status.ok()) return status;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank].state != "gone") Hold(ranks[rank], Describe(*job, ranks, rank), true);
    }
    homes_[key] = ranks[0].worker;
  }
  return absl::OkStatus();
}

void Cluster::ForgetJob(int64_t job) {
  homes_.erase(homes_.lower_bound({job, 0}), homes_.lower_bound({job + 1, 0}));
}

absl::Status Cluster::SetHomeBefore(AttemptKey key, int64_t attempt) {
  homes_.erase(key);
  if (attempt == 1) return absl::OkStatus();
  absl::StatusOr<std::vector<AssignmentRow>> rows = context_.store.assignments.OfTrial(key.first, key.second);
  if (!rows.ok()) return rows.status();
  for (const AssignmentRow& row : *rows) {
    if (row.rank == 0 && row.attempt < attempt) homes_[key] = row.worker;
  }
  return absl::OkStatus();
}

WorkerEntry* Cluster::FindWorker(const std::string& id) {
  auto found = workers_.find(id);
  return found == workers_.end() ? nullptr : &found->second;
}

WorkerEntry* Cluster::FindPresentByName(const std::string& name) {
  const auto known = names_.find(name);
  if (known == names_.end()) return nullptr;
  WorkerEntry& worker = workers_.at(known->second);
  return worker.present() && worker.row.name == name ? &worker : nullptr;
}

void Cluster::NoteRoom(const WorkerEntry& worker) {
  if (worker.live() && worker.used_slots < worker.row.slots) {
    roomy_.insert(worker.row.id);
  } else {
    roomy_.erase(worker.row.id);
  }
}

WorkerEntry& Cluster::Register(WorkerRow row) {
  context_.Check(context_.store.workers.Put(row));
  WorkerEntry& worker = workers_[row.id];
  worker.row = std::move(row);
  return worker;
}

void Cluster::RenewLease(WorkerEntry& worker) {
  std::string& named = names_[worker.row.name];
  if (named != worker.row.id) named = worker.row.id;
  NoteRoom(worker);
  context_.deadlines.Set(Deadlines::Kind::kLease, worker.row.id,
                         context_.steady_us() + context_.options.lease_us);
}

void Cluster::Lose(WorkerEntry& worker, const std::string& reason) {
  worker.row.state = "lost";
  NoteRoom(worker);
  context_.Check(context_.store.workers.Put(worker.row));
  context_.deadlines.Clear(Deadlines::Kind::kLease, worker.row.id);
  dismissed.insert(worker.row.id);
  while (!WINNOW_MUTANT("a lost worker keeps its ranks") && !worker.held.empty()) {
    HeldAssignment& assignment = *worker.held.begin()->second;
    bool ran = assignment.told;
    EndRank(assignment,
            {"lost", reason, ran ? assignment.row.place_us : 0, ran ? worker.row.last_sync_us : 0});
  }
}

void Cluster::Leave(WorkerEntry& worker) {
  worker.row.state = "gone";
  NoteRoom(worker);
  context_.Check(context_.store.workers.Put(worker.row));
  context_.deadlines.Clear(Deadlines::Kind::kLease, worker.row.id);
}

void Cluster::TakeBackUntold(WorkerEntry& worker) {
  std::vector<std::string> untold;
  for (const auto& [id, assignment] : worker.held) {
    if (!assignment->told) untold.push_back(id);
  }
  for (const std::string& id : untold) {
    if (HeldAssignment* assignment = FindAssignment(id)) {
      EndRank(*assignment, {"handed_back", "its worker leaves", 0, 0});
    }
  }
}

absl::Status Cluster::SetScheduling(const std::string& name, const std::string& scheduling,
                                    const std::string& reason) {
  WorkerEntry* worker = FindPresentByName(name);
  const bool known = worker != nullptr || marks_.Find(name) != nullptr ||
                     std::any_of(workers_.begin(), workers_.end(),
                                 [&name](const auto& entry) { return entry.second.row.name == name; });
  if (!known) return absl::NotFoundError(fmt::format("no worker is named \"{}\"", name));
  if (scheduling == "open") {
    marks_.Clear(name);
    return absl::OkStatus();
  }
  marks_.Put({name, scheduling, reason, 0});
  if (scheduling == "draining" && worker != nullptr) Drain(*worker, reason);
  return absl::OkStatus();
}

void Cluster::Drain(WorkerEntry& worker, const std::string& reason) {
  TakeBackUntold(worker);
  std::vector<std::string> ids;
  for (const auto& [id, assignment] : worker.held) ids.push_back(id);
  for (const std::string& id : ids) {
    if (HeldAssignment* assignment = FindAssignment(id)) {
      Revoke(*assignment, fmt::format("worker {} is drained{}{}", worker.row.name, reason.empty() ? "" : ": ", reason));
    }
  }
}

std::vector<WorkerRoom> Cluster::Rooms() const {
  std::vector<WorkerRoom> rooms;
  for (const std::string& id : roomy_) {
    const WorkerEntry& worker = workers_.at(id);
    if (marks_.Find(worker.row.name) != nullptr) continue;
    WorkerRoom& room = rooms.emplace_back(WholeRoom(worker.row));
    const RankShape used = worker.Used();
    room.free_slots -= used.slots;
    room.free_cpus -= used.cpus;
    room.free_memory_gib -= used.memory_gib;
  }
  return rooms;
}

HeldAssignment* Cluster::FindAssignment(const std::string& id) {
  auto found = held_.find(id);
  return found == held_.end() ? nullptr : found->second.get();
}

v1::Assignment Cluster::Describe(const OpenJob& job, const std::vector<AssignmentRow>& ranks,
                                 size_t rank) const {
  const AssignmentRow& row = ranks[rank];
  const TrialState& trial = job.state.trial(row.trial);
  Launch launch = MakeLaunch(job.spec, trial.configuration, TrialSeed(job.state.spec().seed, row.trial));
  v1::Assignment message;
  message.set_id(row.id);
  message.set_job_id(job.row.id);
  message.set_trial(row.trial);
  message.set_attempt(row.attempt);
  message.set_rank(row.rank);
  message.set_world_size(static_cast<int32_t>(ranks.size()));
  for (const AssignmentRow& peer : ranks) {
    const WorkerRow& worker = workers_.at(peer.worker).row;
    v1::Peer* added = message.add_peers();
    added->set_worker(worker.name);
    added->set_host(worker.host);
  }
  message.set_master_address(message.peers(0).host());
  message.set_master_port(ranks[0].port);
  message.mutable_command()->Assign(launch.command.begin(), launch.command.end());
  message.mutable_environment()->insert(launch.environment.begin(), launch.environment.end());
  message.mutable_secrets()->insert(job.spec.trainer().secrets().begin(), job.spec.trainer().secrets().end());
  message.set_owner(job.row.owner);
  message.set_working_directory(launch.working_directory);
  message.set_resource_from(row.resource_from);
  message.set_resource_to(row.resource_to);
  message.set_resumes(launch.resumes);
  message.mutable_grace_period()->set_seconds(launch.grace_period_ms / 1000);
  message.mutable_grace_period()->set_nanos(static_cast<int32_t>(launch.grace_period_ms % 1000) * 1'000'000);
  message.mutable_metrics()->Assign(launch.metrics.begin(), launch.metrics.end());
  message.set_resource_regex(launch.resource_regex);
  message.set_resource_offset(launch.resource_offset);
  message.set_objective_metric(job.state.spec().objective_metric);
  message.set_await_start(row.phase != "started");
  message.set_cpus(row.cpus);
  message.set_memory_gib(row.memory_gib);
  if (job.spec.limits().has_max_attempt_time()) {
    *message.mutable_max_attempt_time() = job.spec.limits().max_attempt_time();
  }
  SetStorage(trial, ranks, message);
  return message;
}

// REQUIRES that homes_ is of the attempt before while this one has not started.
void Cluster::SetStorage(const TrialState& trial, const std::vector<AssignmentRow>& ranks,
                         v1::Assignment& message) const {
  StoragePlaces places;
  for (const AssignmentRow& row : ranks) places.ranks.push_back(workers_.at(row.worker).row.storage_id);
  const auto home = homes_.find({ranks[0].job, ranks[0].trial});
  if (home != homes_.end()) places.home = workers_.at(home->second).row.storage_id;
  places.idle = trial.attempt_reached <= trial.attempt_from;
  context_.artifacts->Describe(*this, ranks[0].job, places, message);
}

void Cluster::Hold(AssignmentRow row, v1::Assignment message, bool told) {
  std::string id = row.id;
  auto held = std::make_unique<HeldAssignment>(HeldAssignment{std::move(row), std::move(message), told});
  held->told_us = context_.steady_us();
  held->runs = told;  // of those that were there before the server nobody asks when they began
  WorkerEntry& worker = workers_.at(held->row.worker);
  worker.held[id] = held.get();
  worker.used_slots += held->row.slots - (WINNOW_MUTANT("a rank takes a slot less than it should") ? 1 : 0);
  worker.held_slots.Set(worker.used_slots, context_.steady_us());
  NoteRoom(worker);
  attention.insert(held->row.worker);
  held_[id] = std::move(held);
}

void Cluster::StartAttempt(OpenJob& job, TrialNumber trial, int64_t from, int64_t to,
                           const std::vector<std::string>& workers) {
  int64_t attempt = job.state.trial(trial).attempts + 1;
  const v1::ClusterSpec& cluster = job.spec.cluster();
  std::vector<AssignmentRow> ranks;
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    AssignmentRow row;
    row.id = fmt::format("{}.{}.{}.{}.{:08x}", job.row.id, trial, attempt, rank,
                         static_cast<uint32_t>(context_.options.random_bits()));
    row.job = job.row.key;
    row.trial = trial;
    row.attempt = attempt;
    row.rank = static_cast<int32_t>(rank);
    row.worker = workers[rank];
    row.phase = workers.size() > 1 ? "placed" : "started";  // alone, it has nobody to wait for
    row.slots = std::max(1, cluster.slots());
    row.cpus = cluster.cpus();
    row.memory_gib = cluster.memory_gib();
    row.resource_from = from + (WINNOW_MUTANT("another attempt begins at the wrong level") && attempt > 1 ? 1 : 0);
    row.resource_to = to;
    row.place_us = context_.wall_us();
    row.key = context_.Check(context_.store.assignments.Insert(row));
    ranks.push_back(std::move(row));
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank) Hold(ranks[rank], Describe(job, ranks, rank), false);
  AttemptKey key{job.row.key, trial};
  homes_[key] = workers[0];
  attempts_[key] = std::move(ranks);
  Observe(job, AttemptStarted{trial, attempt, from, to});
}

void Cluster::Prepared(HeldAssignment& assignment, int32_t rendezvous_port) {
  if (assignment.row.state != "wanted" || assignment.row.phase != "placed") return;
  const AttemptKey key{assignment.row.job, assignment.row.trial};
  std::vector<AssignmentRow>& ranks = attempts_.at(key);
  AssignmentRow& row = ranks[assignment.row.rank];
  row.phase = "prepared";
  if (row.rank == 0) row.port = rendezvous_port;
  const bool all =
      std::all_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.phase == "prepared"; });
  if (!all && !WINNOW_MUTANT("a gang starts when some ranks are prepared")) {
    assignment.row = row;
    context_.Check(context_.store.assignments.Update(row));
    return;
  }
  for (AssignmentRow& rank : ranks) rank.phase = "started";
  const OpenJob& job = *jobs_.FindKey(key.first);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    context_.Check(context_.store.assignments.Update(ranks[rank]));
    HeldAssignment& held = *held_.at(ranks[rank].id);
    held.row = ranks[rank];
    held.message = Describe(job, ranks, rank);
    attention.insert(ranks[rank].worker);
  }
}

bool Cluster::AllRun(const HeldAssignment& assignment) const {
  const std::vector<AssignmentRow>& ranks = attempts_.at({assignment.row.job, assignment.row.trial});
  return std::all_of(ranks.begin(), ranks.end(), [this](const AssignmentRow& rank) {
    const auto held = held_.find(rank.id);
    return held != held_.end() && held->second->runs;
  });
}

void Cluster::EndRank(HeldAssignment& assignment, const RankEnd& said) {
  AssignmentRow row = assignment.row;
  RankEnd end = said;
  if (row.phase != "started" && end.outcome == "finished") {  // there was nothing that it could finish
    end.outcome = "failed";
    end.reason = "it ended before all ranks were prepared";
    end.cause = "not_started";
  }
  bool asked = row.state == "revoked";
  // A worker says FAILED only of what failed before it was stopped: another rank's failure may just have been heard of
  // first.
  bool explains = end.outcome == "lost" || end.outcome == "handed_back" || end.outcome == "failed";
  const bool drained = asked && !row.reason.empty();  // see Drain
  row.state = "gone";
  row.outcome = drained && end.outcome != "lost" ? "handed_back"
                : asked && !explains             ? "stopped"
                                                 : end.outcome;
  if (!drained) row.reason = end.reason;
  row.cause = row.outcome == "failed" ? end.cause : "";
  WorkerEntry& worker = workers_.at(row.worker);
  if (row.outcome == "handed_back" && row.reason.empty()) row.reason = worker.leaving_reason;
  // Ranks that lost each other do not say which worker is to blame.
  if (row.cause == "not_started") marks_.NoteTrouble(worker.row.name, WorkerMarks::Trouble::kNotStarted, end.reason);
  row.start_us = end.start_us;
  row.end_us = end.end_us;
  context_.Check(context_.store.assignments.Update(row));
  AttemptKey key{row.job, row.trial};
  worker.held.erase(row.id);
  worker.used_slots -= row.slots;
  worker.held_slots.Set(worker.used_slots, context_.steady_us());
  context_.usage->Ended(row.key);
  NoteRoom(worker);
  attention.insert(row.worker);
  held_.erase(row.id);  // `assignment` is no more
  std::vector<AssignmentRow>& ranks = attempts_.at(key);
  ranks[row.rank] = row;
  if (row.outcome != "finished") {
    std::vector<std::string> others;
    for (const AssignmentRow& other : ranks) {
      if (other.state == "wanted") others.push_back(other.id);
    }
    for (const std::string& id : others) {
      if (HeldAssignment* other = FindAssignment(id)) Revoke(*other);
    }
  }
  EndAttempt(key);
}

void Cluster::EndAttempt(AttemptKey key) {
  auto found = attempts_.find(key);
  if (found == attempts_.end()) return;  // a revoked rank that was never told has already ended it
  const std::vector<AssignmentRow>& ranks = found->second;
  const bool over = std::all_of(ranks.begin(), ranks.end(), [](const auto& row) { return row.state == "gone"; });
  if (!over && !WINNOW_MUTANT("an attempt ends when one rank is gone")) return;
  OpenJob* job = jobs_.FindKey(key.first);
  if (job == nullptr) std::abort();
  AttemptEnded ended = Summarise(key.second, ranks, job->state.trial(key.second).ended());
  attempts_.erase(found);
  Observe(*job, std::move(ended));
}

void Cluster::Revoke(HeldAssignment& assignment, const std::string& reason) {
  if (assignment.row.state != "wanted") return;
  assignment.row.state = "revoked";
  assignment.row.reason = reason;
  attempts_.at({assignment.row.job, assignment.row.trial})[assignment.row.rank] = assignment.row;
  attention.insert(assignment.row.worker);
  if (WINNOW_MUTANT("a slot is free as soon as its rank is to stop") || !assignment.told) {
    EndRank(assignment, {"stopped", "it had not started", 0, 0});
    return;
  }
  context_.Check(context_.store.assignments.Update(assignment.row));
}

void Cluster::RevokeTrial(OpenJob& job, TrialNumber trial) {
  auto found = attempts_.find({job.row.key, trial});
  if (found == attempts_.end()) return;
  std::vector<std::string> ids;
  for (const AssignmentRow& row : found->second) ids.push_back(row.id);
  for (const std::string& id : ids) {
    if (HeldAssignment* assignment = FindAssignment(id)) Revoke(*assignment);
  }
}

void Cluster::Settle() {
  if (settling_) return;  // the outermost call goes on with what is queued here
  settling_ = true;
  while (!jobs_.ended_trials.empty()) {
    auto [job, trial] = jobs_.ended_trials.front();
    jobs_.ended_trials.pop_front();
    RevokeTrial(*job, trial);
  }
  settling_ = false;
}

void Cluster::Observe(OpenJob& job, FactBody body) {
  jobs_.Observe(job, std::move(body));
  Settle();
}

bool Cluster::ObserveReport(OpenJob& job, const ReportRow& report) {
  bool fresh = jobs_.ObserveReport(job, report);
  Settle();
  return fresh;
}

int64_t Cluster::LiveAttempts(const OpenJob& job) const {
  auto first = attempts_.lower_bound({job.row.key, 0});
  auto last = attempts_.lower_bound({job.row.key + 1, 0});
  return std::distance(first, last);
}

bool Cluster::CanRestore(const OpenJob& job, TrialNumber trial, int64_t from) const {
  return context_.artifacts->CanRestore(job.row.key, trial, from);
}

bool Cluster::Share(const std::vector<std::string>& workers, const std::string& storage_id) const {
  return std::all_of(workers.begin(), workers.end(),
                     [&](const std::string& id) { return workers_.at(id).row.storage_id == storage_id; });
}

GangRequest Cluster::Gang(const OpenJob& job, TrialNumber trial, int64_t from) const {
  GangRequest gang;
  gang.nodes = job.state.spec().nodes;
  auto home = homes_.find({job.row.key, trial});
  if (from <= 0 || home == homes_.end()) return gang;
  gang.worker_id = home->second;
  gang.storage_id = workers_.at(home->second).row.storage_id;
  return gang;
}

}  // namespace winnow

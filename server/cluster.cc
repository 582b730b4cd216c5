#include "server/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "scheduler/random.h"
#include "spec/launch.h"

namespace winnow {
namespace {

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
  } else if ((cause = first("failed")) != ranks.end()) {
    ended.outcome = AttemptOutcome::kFailed;
  } else {
    ended.outcome = AttemptOutcome::kFinished;
  }
  if (cause != ranks.end()) {
    ended.reason = ranks.size() == 1 ? cause->reason : fmt::format("rank {}: {}", cause->rank, cause->reason);
  }
  return ended;
}

}  // namespace

absl::Status Cluster::Load() {
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
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank].state != "gone") Hold(ranks[rank], Describe(*job, ranks, rank), true);
    }
  }
  return absl::OkStatus();
}

WorkerEntry* Cluster::FindWorker(const std::string& id) {
  auto found = workers_.find(id);
  return found == workers_.end() ? nullptr : &found->second;
}

WorkerEntry* Cluster::FindPresentByName(const std::string& name) {
  for (auto& [id, worker] : workers_) {
    if (worker.present() && worker.row.name == name) return &worker;
  }
  return nullptr;
}

WorkerEntry& Cluster::Register(WorkerRow row) {
  context_.Check(context_.store.workers.Put(row));
  WorkerEntry& worker = workers_[row.id];
  worker.row = std::move(row);
  return worker;
}

void Cluster::RenewLease(WorkerEntry& worker) {
  context_.deadlines.Set(Deadlines::Kind::kLease, worker.row.id,
                         context_.steady_us() + context_.options.lease_us);
}

void Cluster::Lose(WorkerEntry& worker, const std::string& reason) {
  worker.row.state = "lost";
  context_.Check(context_.store.workers.Put(worker.row));
  context_.deadlines.Clear(Deadlines::Kind::kLease, worker.row.id);
  dismissed.insert(worker.row.id);
  while (!worker.held.empty()) {
    HeldAssignment& assignment = *worker.held.begin()->second;
    bool ran = assignment.told;
    EndRank(assignment,
            {"lost", reason, ran ? assignment.row.place_us : 0, ran ? worker.row.last_sync_us : 0});
  }
}

void Cluster::Leave(WorkerEntry& worker) {
  worker.row.state = "gone";
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

std::vector<WorkerRoom> Cluster::Rooms() const {
  std::vector<WorkerRoom> rooms;
  for (const auto& [id, worker] : workers_) {
    int32_t free = worker.row.slots - static_cast<int32_t>(worker.held.size());
    if (worker.live() && free > 0) rooms.push_back({id, free, worker.row.storage_id});
  }
  return rooms;
}

bool Cluster::CouldHold(int32_t nodes) const {
  int64_t slots = 0;
  for (const auto& [id, worker] : workers_) {
    if (worker.live()) slots += worker.row.slots;
  }
  return slots >= nodes;
}

HeldAssignment* Cluster::FindAssignment(const std::string& id) {
  auto found = held_.find(id);
  return found == held_.end() ? nullptr : found->second.get();
}

int32_t Cluster::FreePort(const WorkerEntry& worker) const {
  if (worker.row.rendezvous_port == 0) return 0;
  std::set<int32_t> used;
  for (const auto& [id, assignment] : worker.held) used.insert(assignment->row.port);
  int32_t port = worker.row.rendezvous_port;
  while (used.count(port) != 0) ++port;
  return port;
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
  return message;
}

void Cluster::Hold(AssignmentRow row, v1::Assignment message, bool told) {
  std::string id = row.id;
  auto held = std::make_unique<HeldAssignment>(HeldAssignment{std::move(row), std::move(message), told});
  workers_.at(held->row.worker).held[id] = held.get();
  attention.insert(held->row.worker);
  held_[id] = std::move(held);
}

void Cluster::StartAttempt(OpenJob& job, TrialNumber trial, int64_t from, int64_t to,
                           const std::vector<std::string>& workers) {
  int64_t attempt = job.state.trial(trial).attempts + 1;
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
    if (rank == 0) row.port = FreePort(workers_.at(row.worker));
    row.resource_from = from;
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

void Cluster::EndRank(HeldAssignment& assignment, const RankEnd& end) {
  AssignmentRow row = assignment.row;
  bool asked = row.state == "revoked";
  bool explains = end.outcome == "lost" || end.outcome == "handed_back";
  row.state = "gone";
  row.outcome = asked && !explains ? "stopped" : end.outcome;
  row.reason = end.reason;
  row.start_us = end.start_us;
  row.end_us = end.end_us;
  context_.Check(context_.store.assignments.Update(row));
  AttemptKey key{row.job, row.trial};
  workers_.at(row.worker).held.erase(row.id);
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
  if (std::any_of(ranks.begin(), ranks.end(), [](const auto& row) { return row.state != "gone"; })) return;
  OpenJob* job = jobs_.FindKey(key.first);
  if (job == nullptr) std::abort();
  AttemptEnded ended = Summarise(key.second, ranks, job->state.trial(key.second).ended());
  attempts_.erase(found);
  Observe(*job, std::move(ended));
}

void Cluster::Revoke(HeldAssignment& assignment) {
  if (assignment.row.state != "wanted") return;
  assignment.row.state = "revoked";
  attempts_.at({assignment.row.job, assignment.row.trial})[assignment.row.rank].state = "revoked";
  attention.insert(assignment.row.worker);
  if (!assignment.told) {
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

#include "server/engine/attempts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/mutant.h"
#include "scheduler/space/random.h"
#include "server/engine/metrics.h"
#include "spec/launch.h"

namespace winnow {

namespace {

// Nothing follows the last part of a trial, so that its program ends as any other, with the time to save its
// model.
v1::TrainerSpec::Warm WarmthOf(v1::TrainerSpec::Warm warm, const OpenJob& job, const AssignmentRow& row) {
  const PrunerSettings& pruner = job.state.spec().pruner;
  const bool pauses =
      HasRungs(pruner.kind) && !pruner.passes_rungs() && row.resource_to < pruner.rungs.max_resource;
  return warm == v1::TrainerSpec::SUSPEND && !pauses ? v1::TrainerSpec::OFF : warm;
}

}  // namespace

absl::Status Attempts::Load() {
  attempts_.clear();
  ranks_.clear();
  homes_.clear();
  for (const auto& [key, job] : jobs_.all()) {
    absl::StatusOr<std::vector<AssignmentRow>> newest = context_.store.assignments.NewestOfJob(key);
    if (!newest.ok()) return newest.status();
    for (const AssignmentRow& row : *newest) homes_[{key, row.trial}] = row.worker;
  }
  absl::StatusOr<std::vector<AssignmentRow>> held = context_.store.assignments.Held();
  if (!held.ok()) return held.status();
  for (AssignmentRow& row : *held) {
    Rank& rank = attempts_[{row.job, row.trial}].emplace_back();
    rank.row = std::move(row);
    rank.told = true;
    rank.runs = true;  // nobody asks when those began that were there before the server
    if (context_.options.rank_tls == RankTls::kNever) continue;
    // Credentials are not kept. Ranks that wait for others get new ones, once their workers have called and
    // so said whether they can pass them on.
    if (rank.row.phase == RankPhase::kPrepared) rank.row.phase = RankPhase::kPlaced;
  }
  for (auto& [key, ranks] : attempts_) {
    const OpenJob* job = jobs_.FindKey(key.first);
    if (job == nullptr) return absl::DataLossError("an assignment is held for a job that has ended");
    // Described as it was when it was placed.
    if (absl::Status status = SetHomeBefore(key, ranks[0].row.attempt); !status.ok()) return status;
    const bool encrypts = AreToEncrypt(ranks);
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank].gone()) continue;
      ranks[rank].may_lack = encrypts && ranks[rank].row.phase == RankPhase::kStarted;
      ranks[rank].message = Describe(*job, ranks, rank);
      Hold(ranks[rank]);
    }
    homes_[key] = ranks[0].row.worker;
  }
  return absl::OkStatus();
}

void Attempts::ForgetJob(int64_t job) {
  homes_.erase(homes_.lower_bound({job, 0}), homes_.lower_bound({job + 1, 0}));
}

absl::Status Attempts::SetHomeBefore(AttemptKey key, int64_t attempt) {
  homes_.erase(key);
  if (attempt == 1) return absl::OkStatus();
  absl::StatusOr<std::vector<AssignmentRow>> rows = context_.store.assignments.OfTrial(key.first, key.second);
  if (!rows.ok()) return rows.status();
  for (const AssignmentRow& row : *rows) {
    if (row.rank == 0 && row.attempt < attempt) homes_[key] = row.worker;
  }
  return absl::OkStatus();
}

Rank* Attempts::Find(const std::string& id) {
  auto found = ranks_.find(id);
  return found == ranks_.end() ? nullptr : found->second;
}

v1::Assignment Attempts::Describe(const OpenJob& job, const Ranks& ranks, size_t rank) const {
  const AssignmentRow& row = ranks[rank].row;
  const TrialState& trial = job.state.trial(row.trial);
  const SearchSpec& search = job.state.spec();
  const int64_t repeat = search.repeats > 0 ? row.resource_to : 0;
  Launch launch =
      MakeLaunch(job.spec, trial.configuration, TrainingSeed(search, trial.root, row.resource_to), repeat);
  v1::Assignment message;
  message.set_id(row.id);
  message.set_job_id(job.row.id);
  message.set_job_mark(context_.MarkOf(job.row.id));
  message.set_trial(row.trial);
  message.set_attempt(row.attempt);
  message.set_rank(row.rank);
  message.set_world_size(static_cast<int32_t>(ranks.size()));
  for (const Rank& peer : ranks) {
    const WorkerRow& worker = workers_.row(peer.row.worker);
    v1::Peer* added = message.add_peers();
    added->set_worker(worker.name);
    added->set_host(worker.host);
  }
  message.set_master_address(message.peers(0).host());
  message.set_master_port(ranks[0].row.port);
  message.mutable_command()->Assign(launch.command.begin(), launch.command.end());
  message.mutable_environment()->insert(launch.environment.begin(), launch.environment.end());
  message.mutable_channels()->Assign(launch.channels.begin(), launch.channels.end());
  message.mutable_secrets()->insert(job.spec.trainer().secrets().begin(), job.spec.trainer().secrets().end());
  message.set_owner(job.row.owner);
  message.set_working_directory(launch.working_directory);
  if (repeat > 0) {
    message.mutable_repeat()->set_number(repeat);
    message.mutable_repeat()->set_goal(job.spec.objective().goal());
    message.mutable_repeat()->set_value(job.spec.objective().value());
  } else {
    message.set_resource_from(row.resource_from);
    message.set_resource_to(row.resource_to);
  }
  message.set_resumes(launch.resumes);
  message.set_warm(WarmthOf(launch.warm, job, row));
  message.mutable_grace_period()->set_seconds(launch.grace_period_ms / 1000);
  message.mutable_grace_period()->set_nanos(static_cast<int32_t>(launch.grace_period_ms % 1000) * 1'000'000);
  message.mutable_metrics()->Assign(launch.metrics.begin(), launch.metrics.end());
  message.set_resource_regex(launch.resource_regex);
  message.set_resource_offset(launch.resource_offset);
  message.set_objective_metric(search.objective_metric);
  message.set_resource_key(job.spec.trainer().resource_key());
  message.set_metrics_file(job.spec.trainer().metrics_file());
  if (job.spec.trainer().has_container()) *message.mutable_container() = job.spec.trainer().container();
  if (!job.source_digest.empty()) {
    message.mutable_source()->set_digest(job.source_digest);
    *message.mutable_source()->mutable_setup() = job.spec.trainer().setup();
  }
  message.set_await_start(row.phase != RankPhase::kStarted);
  message.set_slots(row.slots);
  message.set_cpus(row.cpus);
  message.set_memory_gib(row.memory_gib);
  message.mutable_gpus()->Assign(row.gpus.begin(), row.gpus.end());
  message.set_gpu_share(row.gpu_share);
  if (job.spec.limits().has_max_attempt_time()) {
    *message.mutable_max_attempt_time() = job.spec.limits().max_attempt_time();
  }
  message.set_origin(trial.origin);
  SetStorage(job, trial, ranks, message);
  return message;
}

// REQUIRES that homes_ is of the attempt before while this one has not started.
void Attempts::SetStorage(const OpenJob& job, const TrialState& trial, const Ranks& ranks,
                          v1::Assignment& message) const {
  const TrialState& of = job.state.trial(trial.checkpoint_of());
  StoragePlaces places;
  places.of = of.number;
  for (const Rank& rank : ranks) places.ranks.push_back(workers_.row(rank.row.worker).storage_id);
  const auto home = homes_.find({job.row.key, of.number});
  if (home != homes_.end()) places.home = workers_.row(home->second).storage_id;
  places.idle = of.attempt_reached <= of.attempt_from;
  artifacts_.Describe(ranks[0].row.job, places, message);
}

void Attempts::Hold(Rank& rank) {
  rank.told_us = context_.steady_us();
  ranks_[rank.row.id] = &rank;
  workers_.Hold(rank);
}

void Attempts::AddPrices(const Ranks& ranks, AttemptStarted& started) const {
  bool worth_telling = false;
  for (const Rank& rank : ranks) {
    const WorkerRow& worker = workers_.row(rank.row.worker);
    const auto pool = worker.labels.find(kPoolLabel);
    started.pools.push_back(pool == worker.labels.end() ? "" : pool->second);
    started.prices.push_back(worker.cost_per_hour * rank.row.slots / std::max(1, worker.slots));
    worth_telling = worth_telling || !started.pools.back().empty() || started.prices.back() > 0;
  }
  if (worth_telling) return;
  started.pools.clear();
  started.prices.clear();
}

AttemptStarted Attempts::Place(const OpenJob& job, TrialNumber trial, int64_t from, int64_t to,
                               const std::vector<RankPlace>& places) {
  const int64_t attempt = job.state.trial(trial).attempts + 1;
  const v1::ClusterSpec& cluster = job.spec.cluster();
  const AttemptKey key{job.row.key, trial};
  Ranks& ranks = attempts_[key];
  ranks.resize(places.size());
  for (size_t rank = 0; rank < places.size(); ++rank) {
    AssignmentRow& row = ranks[rank].row;
    row.id = fmt::format("{}.{}.{}.{}.{:08x}", job.row.id, trial, attempt, rank,
                         static_cast<uint32_t>(context_.options.random_bits()));
    row.job = job.row.key;
    row.trial = trial;
    row.attempt = attempt;
    row.rank = static_cast<int32_t>(rank);
    row.worker = places[rank].worker;
    const bool waits_for_others = places.size() > 1;
    row.phase = waits_for_others ? RankPhase::kPlaced : RankPhase::kStarted;
    row.slots = std::max(1, cluster.slots());
    row.cpus = cluster.cpus();
    row.memory_gib = cluster.memory_gib();
    row.gpus = places[rank].gpus;
    row.gpu_share = cluster.gpu_share();
    row.resource_from =
        from + (WINNOW_MUTANT("another attempt begins at the wrong level") && attempt > 1 ? 1 : 0);
    row.resource_to = to;
    row.place_us = context_.wall_us();
    row.key = context_.Note(context_.store.assignments.Insert(row));
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank].message = Describe(job, ranks, rank);
    Hold(ranks[rank]);
  }
  homes_[key] = places[0].worker;
  AttemptStarted started{trial, attempt, from, to};
  AddPrices(ranks, started);
  return started;
}

void Attempts::Prepared(Rank& rank, int32_t rendezvous_port) {
  if (!rank.wanted() || rank.row.phase != RankPhase::kPlaced) return;
  rank.row.phase = RankPhase::kPrepared;
  if (rank.row.rank == 0) rank.row.port = rendezvous_port;
  Ranks& ranks = attempts_.at(KeyOf(rank));
  const bool all = std::all_of(ranks.begin(), ranks.end(),
                               [](const Rank& other) { return other.row.phase == RankPhase::kPrepared; });
  if (!all && !WINNOW_MUTANT("a gang starts when some ranks are prepared")) {
    context_.Note(context_.store.assignments.Update(rank.row));
    return;
  }
  for (Rank& other : ranks) other.row.phase = RankPhase::kStarted;
  const OpenJob& job = *jobs_.FindKey(rank.row.job);
  for (size_t i = 0; i < ranks.size(); ++i) {
    context_.Note(context_.store.assignments.Update(ranks[i].row));
    ranks[i].message = Describe(job, ranks, i);
    workers_.NoteChange(ranks[i].row.worker);
  }
  if (AreToEncrypt(ranks) && PlainFor(rank) == nullptr) GiveCredentials(job, ranks);
}

bool Attempts::AreToEncrypt(const Ranks& ranks) const {
  const RankTls rank_tls = context_.options.rank_tls;
  if (rank_tls == RankTls::kNever || ranks.size() < 2) return false;
  const std::string& host = workers_.row(ranks[0].row.worker).host;
  return rank_tls == RankTls::kAlways || std::any_of(ranks.begin(), ranks.end(), [&](const Rank& rank) {
           return workers_.row(rank.row.worker).host != host;
         });
}

const WorkerRow* Attempts::PlainFor(const Rank& rank) const {
  const Ranks& ranks = attempts_.at(KeyOf(rank));
  if (!AreToEncrypt(ranks)) return nullptr;
  for (const Rank& other : ranks) {
    const WorkerEntry& worker = workers_.all().at(other.row.worker);
    if (!worker.encrypts) return &worker.row;
  }
  return nullptr;
}

void Attempts::GiveCredentials(const OpenJob& job, Ranks& ranks) {
  const AssignmentRow& first = ranks[0].row;
  std::vector<v1::RankCredentials> credentials = context_.Note(context_.options.issue_credentials(
      job.row.id, first.trial, first.attempt, static_cast<int32_t>(ranks.size())));
  for (size_t rank = 0; rank < credentials.size(); ++rank)
    *ranks[rank].message.mutable_credentials() = std::move(credentials[rank]);
}

bool Attempts::AllRun(const Rank& rank) const {
  const Ranks& ranks = attempts_.at(KeyOf(rank));
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const Rank& other) { return !other.gone() && other.runs; });
}

std::optional<AttemptEnded> Attempts::EndRank(Rank& rank, const RankEnd& said) {
  const AttemptKey key = KeyOf(rank);
  Remove(rank, said);
  if (rank.row.outcome != AttemptOutcome::kFinished) {
    for (Rank& other : attempts_.at(key)) Revoke(other, RankState::kRevoked, "");
  }
  return EndIfOver(key);
}

void Attempts::Remove(Rank& rank, const RankEnd& said) {
  AssignmentRow& row = rank.row;
  const WorkerEntry& worker = *workers_.Find(row.worker);
  const RankEnd end = RecordedEnd(said, row.state, row.phase, row.reason, worker.leaving_reason);
  row.state = RankState::kGone;
  row.outcome = end.outcome;
  row.reason = end.reason;
  row.start_us = end.start_us;
  row.end_us = end.end_us;
  row.cause = end.cause;
  // Ranks that lost each other do not say which worker is to blame.
  if (row.cause == FailureCause::kNotStarted) {
    workers_.marks().NoteTrouble(worker.row.name, WorkerMarks::Trouble::kNotStarted, row.reason);
  }
  context_.Note(context_.store.assignments.Update(row));
  if (context_.options.metrics != nullptr) context_.options.metrics->preparations.Set(row.id, "");
  usage_.Ended(row.key);
  workers_.Release(rank);
  ranks_.erase(row.id);
}

std::optional<AttemptEnded> Attempts::EndIfOver(AttemptKey key) {
  const auto found = attempts_.find(key);
  if (found == attempts_.end()) return std::nullopt;
  Ranks& ranks = found->second;
  for (Rank& rank : ranks) {
    if (rank.gone()) continue;
    if (!WINNOW_MUTANT("an attempt ends when one rank is gone")) return std::nullopt;
    Remove(rank, {AttemptOutcome::kStopped, ""});
  }
  const OpenJob* job = jobs_.FindKey(key.first);
  WINNOW_CHECK(job != nullptr, "a job with a live attempt is open");
  std::vector<RankEnd> ends;
  for (const Rank& rank : ranks) {
    const AssignmentRow& row = rank.row;
    ends.push_back(
        {row.outcome.value_or(AttemptOutcome::kFinished), row.reason, row.start_us, row.end_us, row.cause});
  }
  AttemptEnded ended =
      EndOfAttempt(key.second, ranks[0].row.attempt, ends, job->state.trial(key.second).ended());
  attempts_.erase(found);
  return ended;
}

// An unwanted rank stays as it is.
void Attempts::Revoke(Rank& rank, RankState state, const std::string& reason) {
  if (!rank.wanted()) return;
  rank.row.state = state;
  rank.row.reason = reason;
  workers_.NoteChange(rank.row.worker);
  if (!rank.told || WINNOW_MUTANT("a slot is free as soon as its rank is to stop")) {
    Remove(rank, {AttemptOutcome::kStopped, "it had not started"});
    return;
  }
  context_.Note(context_.store.assignments.Update(rank.row));
}

void Attempts::Drain(Rank& rank, const std::string& reason) { Revoke(rank, RankState::kDrained, reason); }

std::vector<Rank*> Attempts::RanksOf(const OpenJob& job, TrialNumber trial) {
  std::vector<Rank*> ranks;
  const auto found = attempts_.find({job.row.key, trial});
  if (found == attempts_.end()) return ranks;
  for (Rank& rank : found->second) {
    if (!rank.gone()) ranks.push_back(&rank);
  }
  return ranks;
}

std::optional<AttemptEnded> Attempts::Stop(const OpenJob& job, TrialNumber trial) {
  const AttemptKey key{job.row.key, trial};
  const auto found = attempts_.find(key);
  if (found == attempts_.end()) return std::nullopt;
  for (Rank& rank : found->second) Revoke(rank, RankState::kRevoked, "");
  return EndIfOver(key);
}

GangRequest Attempts::Gang(const OpenJob& job, TrialNumber trial, int64_t from) const {
  GangRequest gang;
  gang.nodes = job.state.spec().nodes;
  if (from <= 0) return gang;
  const auto home = homes_.find({job.row.key, job.state.trial(trial).checkpoint_of()});
  if (home == homes_.end()) return gang;
  gang.worker_id = home->second;
  gang.storage_id = workers_.row(home->second).storage_id;
  return gang;
}

// Ids are made by Place: JOB.TRIAL.ATTEMPT.RANK.RANDOM.
std::string_view JobOfAssignment(std::string_view id) {
  for (int part = 0; part < 4; ++part) id = id.substr(0, id.rfind('.'));
  return id;
}

}  // namespace winnow

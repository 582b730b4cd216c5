#include "server/engine/engine.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "base/status_text.h"
#include "server/engine/answers/job_facts.h"
#include "server/engine/answers/job_view.h"
#include "server/engine/answers/messages.h"
#include "server/engine/answers/violations.h"
#include "server/engine/dispatch.h"
#include "server/engine/feasible.h"
#include "server/engine/hub.h"
#include "spec/checks/change.h"
#include "store/tables/projects.h"
#include "winnow/v1/webhooks.pb.h"

namespace winnow {

using google::protobuf::util::TimeUtil;

namespace {

constexpr double kMicrosOfSecond = 1e6;

double InSeconds(int64_t us) { return static_cast<double>(us) / kMicrosOfSecond; }

// The limits of time and cost that are used up already, so that the job would end at once.
std::vector<Violation> UsedUp(const OpenJob& job, const LimitsChanged& limits, int64_t now_us) {
  std::vector<Violation> violations;
  const auto compare = [&violations](const char* field, double limit, double used) {
    if (limit <= 0 || used < limit) return;
    violations.push_back(
        {fmt::format("continue_with.{}", field),
         fmt::format("is {}; expected 0 (none) or more than {:.6g}, which is used already", limit, used)});
  };
  compare("max_wall_seconds", InSeconds(limits.max_wall_time_us), InSeconds(now_us - job.row.create_us));
  compare("max_node_seconds", InSeconds(limits.max_node_time_us), InSeconds(job.NodeTimeUs(now_us)));
  compare("max_cost", limits.max_cost, job.Cost(now_us));
  return violations;
}

v1::Worker::Scheduling SchedulingOf(Marked mark) {
  switch (mark) {
    case Marked::kCordoned:
      return v1::Worker::CORDONED;
    case Marked::kDraining:
      return v1::Worker::DRAINING;
    case Marked::kQuarantined:
      return v1::Worker::QUARANTINED;
  }
  return v1::Worker::OPEN;
}

v1::Worker::State StateOf(WorkerState state) {
  switch (state) {
    case WorkerState::kLive:
      return v1::Worker::LIVE;
    case WorkerState::kLeaving:
      return v1::Worker::LEAVING;
    case WorkerState::kLost:
      return v1::Worker::LOST;
    case WorkerState::kGone:
      return v1::Worker::GONE;
  }
  return v1::Worker::STATE_UNSPECIFIED;
}

}  // namespace

Engine::Engine(Store& store, EngineOptions options) : context_(store, std::move(options)) {}

absl::Status Engine::Load() {
  context_.deadlines = Deadlines();
  context_.ForgetFailure();
  usage_.Clear();
  absl::StatusOr<std::string> identity = context_.store.Identity();
  if (!identity.ok()) return identity.status();
  context_.database = *std::move(identity);
  context_.deletions = context_.wall_us();
  absl::Status status = jobs_.Load();
  if (!status.ok()) return status;
  client_attempts_.Load();
  if (status = workers_.Load(); !status.ok()) return status;
  if (status = artifacts_.Load(); !status.ok()) return status;
  if (status = AskOpenChoices(); !status.ok()) return status;
  if (context_.options.audit_keep_us > 0)
    context_.deadlines.Set(Deadlines::Kind::kAuditAge, "", context_.steady_us());
  if (context_.options.jobs_keep_us > 0 || context_.options.jobs_keep_number > 0 ||
      context_.options.jobs_keep_bytes > 0)
    context_.deadlines.Set(Deadlines::Kind::kJobAge, "", context_.steady_us());
  const absl::StatusOr<bool> removes = removal_.Any();
  if (!removes.ok()) return removes.status();
  if (*removes) context_.deadlines.Set(Deadlines::Kind::kRemoval, "", context_.steady_us());
  if (status = LoadProjects(); !status.ok()) return status;
  // They may have been used up while no server ran.
  if (projects_.on()) context_.deadlines.Set(Deadlines::Kind::kNodeHours, "", context_.steady_us());
  return attempts_.Load();
}

absl::Status Engine::LoadProjects() {
  const absl::StatusOr<std::vector<ProjectRow>> rows = ProjectTable(context_.store.database()).List();
  if (!rows.ok()) return rows.status();
  return projects_.Load(!rows->empty(), jobs_.Uses(), context_.wall_us());
}

absl::Status Engine::ReloadProjects() {
  SettleProjects();
  return context_.failure().ok() ? LoadProjects() : context_.failure();
}

void Engine::NodeHoursOver() {
  const int64_t now_us = context_.wall_us();
  projects_.Count(jobs_.Uses(), now_us);
  for (const QuotaStop& stop : projects_.UsedUp(now_us)) {
    for (const auto& [key, job] : jobs_.all()) {
      const bool its = job->row.project == stop.project &&
                       (stop.person.empty() || job->row.owner == stop.person) && !job->external();
      if (!its) continue;
      // Its trials stay, whatever ends meanwhile.
      for (TrialNumber trial = 1; trial <= static_cast<int64_t>(job->state.trials().size()); ++trial) {
        if (job->state.trial(trial).live) recorder_.Preempt(*job, trial, TextOf(stop, now_us));
      }
    }
  }
}

void Engine::SettleProjects() {
  if (!projects_.on()) return;
  const int64_t now_us = context_.wall_us();
  projects_.Count(jobs_.Uses(), now_us);
  context_.Note(projects_.Settle(now_us));
  for (const QuotaStop& stop : context_.Note(projects_.TakeNear(now_us))) {
    v1::Event event;
    event.set_kind(v1::Event::QUOTA_NEAR);
    event.set_project(stop.project.empty() ? kDefaultProject : stop.project);
    event.set_person(stop.person);
    event.set_text(NearText(stop, now_us));
    context_.Tell(event);
  }
  // One that fell due in the middle of this batch has not fired yet.
  const std::optional<int64_t> set_us = context_.deadlines.At(Deadlines::Kind::kNodeHours, "");
  if (set_us && *set_us <= context_.steady_us()) return;
  const std::optional<int64_t> next_us = projects_.NextChange(now_us);
  if (next_us) {
    context_.deadlines.Set(Deadlines::Kind::kNodeHours, "", context_.steady_us() + *next_us - now_us);
  } else {
    context_.deadlines.Clear(Deadlines::Kind::kNodeHours, "");
  }
}

absl::StatusOr<std::string> Engine::CreateJob(const v1::TuningJobSpec& spec, const std::string& request_id,
                                              const WarmStart& start, const std::string& owner,
                                              const v1::Source* source, const std::string& project) {
  const auto fits = [&]() -> absl::Status {
    absl::Status status = Fits(spec, project, workers_, context_.options.declared);
    if (status.ok()) status = FitsQuotas(spec, project, owner, projects_);
    if (!status.ok() || source == nullptr) return status;
    status = FitsStorageQuotas(source->manifest(), project, owner, projects_, context_.wall_us());
    return status.ok() ? artifacts_.ClaimSource(source->manifest()) : status;
  };
  if (source == nullptr) return jobs_.Create(spec, request_id, start, owner, fits, "", nullptr, project);
  v1::Source told = *source;
  told.clear_manifest();
  return jobs_.Create(
      spec, request_id, start, owner, fits, ToStoredJson(told),
      [&](int64_t job) {
        artifacts_.AddSource({job, project, owner}, source->manifest());
      },
      project);
}

absl::Status Engine::StopJob(const std::string& id, const Requester& by) {
  OpenJob* job = jobs_.Find(id);
  if (job == nullptr) return FindChangeable(context_.store.jobs, id, by).status();
  if (absl::Status mine = by.MayChange(id, job->row.owner); !mine.ok()) return mine;
  if (!job->state.stop_requested() && !job->state.ended())
    recorder_.Record(*job, StopRequested{by.StopReason()});
  return absl::OkStatus();
}

absl::Status Engine::ChangeJob(const v1::ChangeTuningJobRequest& request, const Requester& by) {
  const std::string& id = request.id();
  OpenJob* job = jobs_.Find(id);
  std::unique_ptr<OpenJob> ended;
  if (job == nullptr) {
    absl::StatusOr<JobRow> row = FindChangeable(context_.store.jobs, id, by);
    if (!row.ok()) return row.status();
    if (absl::StatusOr<bool> made = WasMade(row->key, request.request_id()); !made.ok() || *made)
      return made.status();
    if (!request.has_continue_with())
      return absl::FailedPreconditionError(
          fmt::format("job \"{}\" has ended: it is {}{}", id, row->state,
                      request.has_limits() ? "; winnow continue lets it go on within higher limits" : ""));
    absl::StatusOr<std::unique_ptr<OpenJob>> read = ReadJob(context_.store, *std::move(row));
    if (!read.ok()) return read.status();
    ended = *std::move(read);
    job = ended.get();
  } else if (absl::Status mine = by.MayChange(id, job->row.owner); !mine.ok()) {
    return mine;
  } else if (absl::StatusOr<bool> made = WasMade(job->row.key, request.request_id()); !made.ok() || *made) {
    return made.status();
  }
  auto read = ReadChange(request, job->spec, job->state, by.name);
  if (const auto* violations = std::get_if<std::vector<Violation>>(&read))
    return ViolationsError(*violations);
  std::vector<FactBody>& facts = std::get<std::vector<FactBody>>(read);
  const std::string why_not = job->state.Contradiction({job->state.last_sequence() + 1, 0, facts.front()});
  if (!why_not.empty()) {
    return absl::FailedPreconditionError(fmt::format("job \"{}\" was not changed: {}", id, why_not));
  }
  if (ended) {
    const std::vector<Violation> used =
        UsedUp(*ended, std::get<LimitsChanged>(facts.back()), context_.wall_us());
    if (!used.empty()) return ViolationsError(used);
    job = &jobs_.Add(std::move(ended));
  }
  for (FactBody& fact : facts) recorder_.Record(*job, std::move(fact));
  if (!request.request_id().empty())
    context_.Note(change_requests_.Insert(job->row.key, request.request_id()));
  return absl::OkStatus();
}

// Whether a change of the job came with this request id; "": none did.
absl::StatusOr<bool> Engine::WasMade(int64_t job, const std::string& request_id) {
  if (request_id.empty()) return false;
  if (request_id.size() > kMostRequestId)
    return absl::InvalidArgumentError(
        fmt::format("request_id: has {} characters; expected at most {}", request_id.size(), kMostRequestId));
  return change_requests_.Has(job, request_id);
}

absl::Status Engine::DeleteJob(const std::string& id, const Requester& by) {
  const absl::StatusOr<JobRow> row = jobs_.FindDeletable(id, by);
  if (!row.ok()) return row.status();
  Delete(*row);
  return absl::OkStatus();
}

// Its rows go later, a few at a time.
void Engine::Delete(const JobRow& row) {
  artifacts_.ForgetJob(row.key);
  context_.Note(removal_.Mark(row.key, std::max<int64_t>(1, context_.wall_us())));
  ++context_.deletions;
  context_.Publish(JobTopic(row.id));
  context_.deadlines.Set(Deadlines::Kind::kRemoval, "", context_.steady_us());
}

std::vector<v1::Worker> Engine::ListWorkers(bool include_gone) const {
  std::vector<const WorkerEntry*> listed;
  if (include_gone) {
    for (const auto& [id, worker] : workers_.all()) listed.push_back(&worker);
  } else {
    listed = workers_.Present();
  }
  std::vector<v1::Worker> list;
  for (const WorkerEntry* entry : listed) {
    const WorkerEntry& worker = *entry;
    v1::Worker& message = list.emplace_back();
    message.set_id(worker.row.id);
    message.set_name(worker.row.name);
    message.set_host(worker.row.host);
    message.set_slots(worker.row.slots);
    message.set_version(worker.row.version);
    message.set_state(StateOf(worker.row.state));
    message.mutable_labels()->insert(worker.row.labels.begin(), worker.row.labels.end());
    message.set_cpus(worker.row.cpus);
    message.set_memory_gib(worker.row.memory_gib);
    message.set_limits(worker.row.limits);
    message.set_cost_per_hour(worker.row.cost_per_hour);
    if (worker.row.ends_us != 0)
      *message.mutable_end_time() = TimeUtil::MicrosecondsToTimestamp(worker.row.ends_us);
    const RankShape used = worker.Used();
    message.set_used_slots(worker.SlotsInUse());
    message.set_used_cpus(used.cpus);
    message.set_used_memory_gib(used.memory_gib);
    const UsageRecorder::Newest* const newest = worker.present() ? usage_.Find(worker.row.name) : nullptr;
    const WorkerRoom room = worker.Room(true);
    for (size_t i = 0; i < worker.row.gpus.size(); ++i) {
      v1::Gpu& gpu = *message.add_gpus();
      gpu.set_id(worker.row.gpus[i].id);
      gpu.set_model(worker.row.gpus[i].model);
      gpu.set_fault(worker.row.gpus[i].fault);
      gpu.set_used(1 - room.gpus[i].free);
      if (newest == nullptr) continue;
      const auto use = newest->gpus.find(gpu.id());
      if (use == newest->gpus.end()) continue;
      if (use->second.utilization) gpu.set_utilization(*use->second.utilization);
      if (use->second.memory) gpu.set_memory(*use->second.memory);
    }
    if (worker.waiting) {
      for (const v1::WaitingTrainer& program : *worker.waiting) {
        if (program.trial() == 0) {
          message.set_parents(message.parents() + 1);
          continue;
        }
        message.set_waiting_trainers(message.waiting_trainers() + 1);
        if (program.suspended()) message.set_suspended_trainers(message.suspended_trainers() + 1);
      }
    }
    if (newest != nullptr) {
      message.set_host_cpu(newest->cpu);
      message.set_host_memory(newest->memory);
    }
    if (const WorkerMark* mark = workers_.marks().Find(worker.row.name)) {
      message.set_scheduling(SchedulingOf(mark->scheduling));
      message.set_scheduling_reason(mark->reason);
    }
    *message.mutable_last_sync_time() = TimeUtil::MicrosecondsToTimestamp(worker.row.last_sync_us);
    *message.mutable_register_time() = TimeUtil::MicrosecondsToTimestamp(worker.row.register_us);
    for (const auto& [assignment, held] : worker.held) message.add_assignment_ids(assignment);
  }
  return list;
}

absl::StatusOr<v1::Worker> Engine::SetWorkerScheduling(const v1::SetWorkerSchedulingRequest& request) {
  const std::string& name = request.name();
  const v1::Worker::Scheduling scheduling = request.scheduling();
  if (scheduling != v1::Worker::OPEN && scheduling != v1::Worker::CORDONED &&
      scheduling != v1::Worker::DRAINING) {
    return absl::InvalidArgumentError(
        fmt::format("scheduling: {} is not valid; expected OPEN, CORDONED or DRAINING",
                    v1::Worker::Scheduling_IsValid(scheduling) ? v1::Worker::Scheduling_Name(scheduling)
                                                               : std::to_string(scheduling)));
  }
  if (!workers_.KnowsName(name)) return absl::NotFoundError(fmt::format("no worker is named \"{}\"", name));
  if (scheduling == v1::Worker::OPEN) {
    workers_.marks().Clear(name);
  } else {
    const bool drains = scheduling == v1::Worker::DRAINING;
    workers_.marks().Put({name, drains ? Marked::kDraining : Marked::kCordoned, request.reason(), 0});
    if (WorkerEntry* worker = drains ? workers_.FindPresentByName(name) : nullptr) {
      recorder_.Drain(*worker, request.reason());
    }
  }
  // The newest of that name.
  v1::Worker newest;
  for (v1::Worker& worker : ListWorkers(true)) {
    const bool newer = TimeUtil::TimestampToMicroseconds(worker.register_time()) >=
                       TimeUtil::TimestampToMicroseconds(newest.register_time());
    if (worker.name() == name && newer) newest = std::move(worker);
  }
  return newest;
}

std::vector<Question> Engine::TakeQuestions() {
  std::vector<Question> questions = jobs_.TakeQuestions();
  for (Question& question : questions) question.epoch = epoch_;
  return questions;
}

void Engine::TakeSuggestion(int64_t key, int64_t epoch, const std::optional<Suggested>& answer) {
  OpenJob* job = jobs_.FindKey(key);
  if (job == nullptr || epoch != epoch_) return;
  job->awaits_suggestion = false;
  if (answer && jobs_.IsWanted(*job, *answer)) recorder_.Record(*job, *answer);
}

void Engine::TakeChoice(const std::string& id, int64_t key, const std::optional<v1::BestTrial>& best) {
  const auto row = context_.Note(context_.store.jobs.Find(id));
  if (!best || !row || row->key != key) return;
  auto kept = context_.Note(KeptDescription(context_.store, *row));
  if (!kept) return;
  const TrialNumber seen = kept->best().trial();
  *kept->mutable_best() = *best;
  kept->clear_spec();
  context_.Note(context_.store.summaries.PutDescription(key, kept->SerializeAsString()));
  std::set<std::string> asked;
  artifacts_.Choose(*row, seen, best->trial(), asked);
  AnswerNow(asked);
  context_.Publish(JobTopic(id));
}

// Ended jobs whose trial to hand out was not chosen before the server stopped.
absl::Status Engine::AskOpenChoices() {
  constexpr int64_t kNewestJobs = 1000;
  const absl::StatusOr<std::vector<JobRow>> rows = context_.store.jobs.List(INT64_MAX, kNewestJobs);
  if (!rows.ok()) return rows.status();
  for (const JobRow& row : *rows) {
    if (row.end_us == 0) continue;
    const absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson(row.spec);
    if (!spec.ok()) return spec.status();
    if (!SelectsExpected(*spec)) continue;
    const absl::StatusOr<std::optional<v1::TuningJob>> kept = KeptDescription(context_.store, row);
    if (!kept.ok()) return kept.status();
    if (*kept && (*kept)->has_best() && !(*kept)->best().has_expected())
      effects_.choices.push_back({row.id, row.key, *spec});
  }
  return absl::OkStatus();
}

void Engine::Begin() {
  context_.ForgetFailure();
  artifacts_.Begin();
}

void Engine::NodeTimeOver(OpenJob& job) {
  if (job.state.closing() || job.state.ended()) return;
  if (job.NodeTimeUs(context_.wall_us()) < job.state.spec().limits.max_node_time_us) {
    jobs_.WatchSpending(job);  // the wall clock was set back
  } else {
    recorder_.Record(job, TimeLimitReached{TimeLimit::kNode});
  }
}

void Engine::CostOver(OpenJob& job) {
  if (job.state.closing() || job.state.ended()) return;
  // The deadline was rounded to a microsecond, and the sum of many prices has been rounded too.
  constexpr double kRounding = 1e-9;
  const double limit = job.state.spec().limits.max_cost;
  if (job.Cost(context_.wall_us()) < limit * (1 - kRounding)) {
    jobs_.WatchSpending(job);  // the wall clock was set back
  } else {
    recorder_.Record(job, TimeLimitReached{TimeLimit::kCost});
  }
}

void Engine::RemoveOldAudit() {
  constexpr int64_t kMostAtOnce = 1'000, kAgainUs = 1'000'000, kEveryUs = 600'000'000;
  const int64_t before_us = context_.wall_us() - context_.options.audit_keep_us;
  const int64_t removed = context_.Note(context_.store.audit.RemoveBefore(before_us, kMostAtOnce));
  context_.deadlines.Set(Deadlines::Kind::kAuditAge, "",
                         context_.steady_us() + (removed == kMostAtOnce ? kAgainUs : kEveryUs));
}

void Engine::DeleteAsOld(const JobRow& row, const char* why) {
  if (jobs_.FindKey(row.key) != nullptr) return;  // it is continued in this batch
  Delete(row);
  AuditRow entry;
  entry.time_us = context_.wall_us();
  entry.person = "winnow-server";
  entry.method = "DeleteTuningJob";
  entry.job = row.id;
  entry.detail = why;
  entry.outcome = "OK";
  context_.Note(context_.store.audit.Add(entry));
}

void Engine::DeleteOldJobs() {
  constexpr int64_t kMostAtOnce = 100, kAgainUs = 1'000'000, kEveryUs = 600'000'000;
  const EngineOptions& options = context_.options;
  JobTable& jobs = context_.store.jobs;
  bool more = false;
  if (options.jobs_keep_us > 0) {
    const auto old = context_.Note(jobs.EndedBefore(context_.wall_us() - options.jobs_keep_us, kMostAtOnce));
    for (const JobRow& row : old) DeleteAsOld(row, "it ended longer ago than --keep-jobs-days says");
    more = more || old.size() == kMostAtOnce;
  }
  if (options.jobs_keep_number > 0) {
    const auto old = context_.Note(jobs.BeyondNewest(options.jobs_keep_number, kMostAtOnce));
    for (const JobRow& row : old)
      DeleteAsOld(row, "its project has more ended jobs than --keep-jobs-number says");
    more = more || old.size() == kMostAtOnce;
  }
  const auto exceeds = [&] { return artifacts_.stored().Total() > options.jobs_keep_bytes; };
  if (options.jobs_keep_bytes > 0 && exceeds()) {
    const auto old = context_.Note(jobs.EndedWithArtifacts(kMostAtOnce));
    for (const JobRow& row : old) {
      if (!exceeds()) break;
      DeleteAsOld(row, "jobs had stored more than --keep-jobs-gib says");
    }
    more = more || (old.size() == kMostAtOnce && exceeds());
  }
  context_.deadlines.Set(Deadlines::Kind::kJobAge, "", context_.steady_us() + (more ? kAgainUs : kEveryUs));
}

void Engine::RemoveDeleted() {
  constexpr int64_t kPauseUs = 20'000;  // others come in between
  if (context_.Note(removal_.RemoveSome()))
    context_.deadlines.Set(Deadlines::Kind::kRemoval, "", context_.steady_us() + kPauseUs);
}

void Engine::Fire(Deadlines::Kind kind, const std::string& subject) {
  switch (kind) {
    case Deadlines::Kind::kHold:
      sync_calls_.HoldExpired(subject);
      break;
    case Deadlines::Kind::kLease:
      if (WorkerEntry* worker = workers_.Find(subject)) {
        const std::string name = worker->row.name;
        const std::string why =
            fmt::format("worker {} was not heard of for {:.1f} s{}{}", name,
                        static_cast<double>(context_.options.lease_us) / 1e6,
                        worker->end_words.empty() ? "" : "; its engine says: ", worker->end_words);
        recorder_.LoseWorker(*worker, why);
        workers_.marks().NoteTrouble(name, WorkerMarks::Trouble::kLost, why);
      }
      break;
    case Deadlines::Kind::kWallTime:
      if (OpenJob* job = jobs_.Find(subject)) {
        if (!job->state.ended()) recorder_.Record(*job, TimeLimitReached{TimeLimit::kWall});
      }
      break;
    case Deadlines::Kind::kNodeTime:
      if (OpenJob* job = jobs_.Find(subject)) NodeTimeOver(*job);
      break;
    case Deadlines::Kind::kCost:
      if (OpenJob* job = jobs_.Find(subject)) CostOver(*job);
      break;
    case Deadlines::Kind::kClientLease:
      client_attempts_.LeaseExpired(subject);
      break;
    case Deadlines::Kind::kQuarantine:
      workers_.marks().EndQuarantine(subject);
      break;
    case Deadlines::Kind::kNodeHours:
      NodeHoursOver();
      break;
    case Deadlines::Kind::kAuditAge:
      RemoveOldAudit();
      break;
    case Deadlines::Kind::kJobAge:
      DeleteOldJobs();
      break;
    case Deadlines::Kind::kRemoval:
      RemoveDeleted();
      break;
    case Deadlines::Kind::kSuggestCall:
      suggest_calls_.WaitOver(std::stoll(subject));
      break;
  }
}

void Engine::RenewLeases() {
  workers_.RenewLeases();
  client_attempts_.RenewLeases();
}

void Engine::FireDeadlines(int64_t now_us) {
  // What falls due may let others fall due: an attempt that is lost can use up a job's node time.
  for (auto due = context_.deadlines.TakeDue(now_us); !due.empty();
       due = context_.deadlines.TakeDue(now_us)) {
    for (const auto& [kind, subject] : due) Fire(kind, subject);
  }
}

absl::Status Engine::Finish() {
  if (context_.failure().ok())
    Dispatch(context_, jobs_, workers_, attempts_, artifacts_, recorder_, projects_);
  if (context_.failure().ok()) suggest_calls_.Serve();
  if (context_.failure().ok()) AnswerNow(artifacts_.Settle());
  if (context_.failure().ok()) SettleProjects();
  if (context_.failure().ok()) jobs_.Flush();
  return context_.failure();
}

absl::Status Engine::RequestModelFile(const v1::GetArtifactRequest& request) {
  std::set<std::string> asked;
  absl::Status status = artifacts_.RequestModelFile(request, asked);
  AnswerNow(asked);
  return status;
}

void Engine::AnswerNow(const std::set<std::string>& workers) {
  for (const std::string& worker : workers) sync_calls_.HoldExpired(worker);
}

void Engine::Committed() {
  artifacts_.Committed();
  for (const auto& [key, job] : jobs_.all()) {
    if (!job->state.ended()) continue;
    ++ended_jobs_[job->row.state];
    if (SelectsExpected(job->spec) && job->state.best_trial())
      effects_.choices.push_back({job->row.id, key, job->spec});
  }
  for (const int64_t job : jobs_.ForgetEnded()) {
    attempts_.ForgetJob(job);
    effects_.ended.push_back(job);
  }
  for (Question& question : TakeQuestions()) effects_.questions.push_back(std::move(question));
  jobs_.Committed();
  effects_.topics.merge(context_.TakeTopics());
  sync_calls_.Answer();
  suggest_calls_.Answer();
}

void Engine::RolledBack(const absl::Status& status) {
  RefuseAll(absl::UnavailableError(MessageOf(status)));
  context_.TakeTopics();
  ++epoch_;
}

void Engine::StopHolding() {
  sync_calls_.StopHolding();
  sync_calls_.RefuseAll(absl::UnavailableError("the server is stopping"));
  suggest_calls_.StopHolding();
}

void Engine::RefuseAll(const absl::Status& status) {
  sync_calls_.RefuseAll(status);
  suggest_calls_.RefuseAll(status);
}

}  // namespace winnow

#include "server/engine/sync.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/mutant.h"
#include "base/names.h"
#include "base/utf8.h"
#include "scheduler/state/standing.h"
#include "scheduler/validate.h"
#include "server/engine/hub.h"
#include "server/engine/metrics.h"
#include "spec/values.h"

namespace winnow {
namespace {

using google::protobuf::util::TimeUtil;

constexpr size_t kMaxIdLength = 128;
constexpr size_t kFolderIdLength = 16;
constexpr int32_t kMaxSlots = 10'000;
constexpr int64_t kMaxHoldUs = 60'000'000;
// How long a worker waits for an answer, beside the hold that it asked for (SyncLimits::say_timeout).
constexpr int64_t kCallUs = 10'000'000;
constexpr int kRanksGone = 75;  // exit code of docs/trainer-contract.md
constexpr int kMaxLabels = 64;
constexpr int kMaxGpus = 1024;
constexpr int kMostWaiting = 10'000;  // waiting trainers of a request that are looked at
constexpr int kMostHeldJobs = 1000;   // of a request that are looked at
// Bytes of assignments that are new to a worker, in one answer; a message has at most 16 MiB.
constexpr size_t kMostNewBytes = 12 << 20;
constexpr size_t kMostSpared = 16;      // of them that are named to be ended first
constexpr size_t kMaxTextBytes = 2000;  // of a notice, or why a model does not come
constexpr size_t kMaxReasonBytes = 4096;
constexpr size_t kMaxFieldBytes = 1024;  // of a worker's host, storage_id, version or limits

// It stands in tables, paths and log lines.
absl::Status CheckName(const std::string& name) {
  const bool prints =
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  const bool plain = prints && name.find('/') == std::string::npos && name != "." && name != "..";
  if (plain && !name.empty() && name.size() <= kMaxIdLength) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "name: {} is not valid; expected 1 to 128 printable characters without '/', and not \".\" or \"..\"",
      Quoted(absl::CHexEscape(name))));
}

absl::Status CheckRequest(const v1::SyncRequest& request) {
  auto invalid = [](const char* field, const std::string& value, const char* expected) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} is not valid; expected {}", field, value, expected));
  };
  if (request.worker_id().empty() || request.worker_id().size() > kMaxIdLength) {
    return invalid("worker_id", Quoted(request.worker_id()), "1 to 128 characters");
  }
  if (request.slots() < 1 || request.slots() > kMaxSlots) {
    return invalid("slots", std::to_string(request.slots()), "1 to 10000");
  }
  for (const auto& [field, value] :
       {std::pair{"host", &request.host()}, std::pair{"loopback_of", &request.loopback_of()},
        std::pair{"storage_id", &request.storage_id()}, std::pair{"version", &request.version()},
        std::pair{"limits", &request.limits()}}) {
    if (value->size() > kMaxFieldBytes)
      return invalid(field, fmt::format("a text of {} bytes", value->size()), "at most 1024 bytes");
  }
  if (request.rendezvous_port() < 0 || request.rendezvous_port() > 65536 - request.slots()) {
    return invalid("rendezvous_port", std::to_string(request.rendezvous_port()),
                   "0, or a port after which a port for each slot is left");
  }
  if (request.labels_size() > kMaxLabels) {
    return invalid("labels", fmt::format("a list of {}", request.labels_size()), "at most 64");
  }
  for (const auto& [name, value] : request.labels()) {
    if (name.empty() || name.size() > kMaxIdLength || value.size() > kMaxIdLength) {
      return invalid("labels", fmt::format("\"{}={}\"", name, value), "1 to 128 characters = at most 128");
    }
  }
  if (request.gpus_size() > kMaxGpus) {
    return invalid("gpus", fmt::format("a list of {}", request.gpus_size()), "at most 1024");
  }
  std::set<std::string> gpus;
  for (const v1::Gpu& gpu : request.gpus()) {
    if (gpu.id().empty() || gpu.id().size() > kMaxIdLength || !gpus.insert(gpu.id()).second) {
      return invalid("gpus", Quoted(gpu.id()), "1 to 128 characters, each device once");
    }
  }
  for (const auto& [field, value] :
       {std::pair{"cpus", request.cpus()}, std::pair{"memory_gib", request.memory_gib()},
        std::pair{"cost_per_hour", request.cost_per_hour()}}) {
    if (!(value >= 0 && value < 1e9))
      return invalid(field, fmt::format("{}", value), "a number of at least 0");
  }
  return absl::OkStatus();
}

// A worker's id begins with the id of its work folder, which one process at a time can hold: equal ones are
// one worker, of which only the newer can still run.
bool SameFolder(const std::string& one, const std::string& other) {
  return one.size() > kFolderIdLength && one.compare(0, kFolderIdLength, other, 0, kFolderIdLength) == 0;
}

std::vector<TrialNumber> BestFirst(const SearchSpec& spec, std::vector<Standing> standings) {
  std::vector<TrialNumber> trials;
  if (spec.has_several_objectives()) {
    for (const RankedTrial& trial : RankingOf(spec.objectives, std::move(standings)))
      trials.push_back(trial.number);
    return trials;
  }
  const auto key = [](const Standing& standing) {
    return std::make_tuple(!standing.finite(), standing.violation, standing.finite() ? standing.keys[0] : 0);
  };
  std::stable_sort(standings.begin(), standings.end(),
                   [&key](const Standing& one, const Standing& other) { return key(one) < key(other); });
  for (const Standing& standing : standings) trials.push_back(standing.number);
  return trials;
}

// Microseconds since the epoch; 0 if it was not given, or is no time.
int64_t Micros(bool given, const google::protobuf::Timestamp& time) {
  const bool is_time = time.seconds() >= 0 && time.seconds() <= TimeUtil::kTimestampMaxSeconds;
  return given && is_time ? TimeUtil::TimestampToMicroseconds(time) : 0;
}

// The times that a worker says, whose clock may be wrong. What a rank took is paid: not much more than has
// passed here since it was placed. Its end is not to come.
void SetTimes(const v1::Outcome& outcome, int64_t placed_us, int64_t now_us, RankEnd& end) {
  constexpr int64_t kClockToleranceUs = 60'000'000;
  const int64_t start_us = Micros(outcome.has_start_time(), outcome.start_time());
  if (start_us == 0) return;
  const int64_t said_us = Micros(outcome.has_end_time(), outcome.end_time()) - start_us;
  const int64_t most_us = std::max<int64_t>(0, now_us - placed_us) + kClockToleranceUs;
  const int64_t took_us = std::clamp<int64_t>(said_us, 0, most_us);
  end.start_us = std::min(start_us, std::max<int64_t>(1, now_us - took_us));
  end.end_us = end.start_us + took_us;
}

// When the worker leaves by itself; 0: not known. What was known stays unless it is wrong by more than
// messages take, so that its row is not written with each call.
int64_t EndOf(const v1::SyncRequest& request, int64_t known_us, int64_t now_us) {
  constexpr int64_t kNearUs = 2'000'000, kLongestUs = int64_t{1} << 55;
  if (!request.has_remaining_life()) return 0;
  const int64_t left_us = TimeUtil::DurationToMicroseconds(request.remaining_life());
  const int64_t ends_us = now_us + std::clamp<int64_t>(left_us, 0, kLongestUs);
  return known_us != 0 && std::abs(ends_us - known_us) <= kNearUs ? known_us : ends_us;
}

std::string Beginning(const std::string& text) { return std::string(Utf8Prefix(text, kMaxTextBytes)); }

FailureCause CauseOf(const v1::Outcome& outcome) {
  switch (outcome.cause()) {
    case v1::Outcome::OUT_OF_MEMORY:
      return FailureCause::kOutOfMemory;
    case v1::Outcome::TIME_LIMIT:
      return FailureCause::kTimeLimit;
    case v1::Outcome::NOT_STARTED:
      return FailureCause::kNotStarted;
    case v1::Outcome::SETUP_FAILED:
    case v1::Outcome::DATA_FAILED:
    case v1::Outcome::IMAGE_FAILED:
      return FailureCause::kRanksGone;  // neither the trainer's fault nor, before others succeed, the
                                        // worker's
    default:
      return outcome.exit_code() == kRanksGone ? FailureCause::kRanksGone : FailureCause::kTrainer;
  }
}

// What could not be prepared, as the beginning of a sentence; empty: it was something else.
std::string_view Unprepared(v1::Outcome::Cause cause) {
  switch (cause) {
    case v1::Outcome::SETUP_FAILED:
      return "The setup of the job's source failed";
    case v1::Outcome::DATA_FAILED:
      return "The job's data could not be had";
    case v1::Outcome::IMAGE_FAILED:
      return "The job's container could not be had";
    default:
      return "";
  }
}

PartStart ToPartStart(v1::PartStart start) {
  if (start == v1::NEW_PROCESS) return PartStart::kNewProcess;
  if (start == v1::FORKED) return PartStart::kForked;
  return start == v1::CONTINUED ? PartStart::kContinued : PartStart::kUnknown;
}

RankEnd ToRankEnd(const v1::Outcome& outcome, bool asked_to_stop, int64_t placed_us, int64_t now_us) {
  RankEnd end;
  end.reason = std::string(Utf8Prefix(outcome.reason(), kMaxReasonBytes));
  SetTimes(outcome, placed_us, now_us, end);
  switch (outcome.kind()) {
    case v1::Outcome::FINISHED:
      end.outcome = AttemptOutcome::kFinished;
      break;
    case v1::Outcome::FAILED:
      end.outcome = AttemptOutcome::kFailed;
      end.cause = CauseOf(outcome);
      if (end.reason.empty()) end.reason = fmt::format("exit code {}", outcome.exit_code());
      break;
    case v1::Outcome::HANDED_BACK:
      end.outcome = AttemptOutcome::kHandedBack;
      break;
    default:
      end.outcome = asked_to_stop ? AttemptOutcome::kStopped : AttemptOutcome::kLost;
      if (!asked_to_stop && end.reason.empty()) end.reason = "its worker stopped it unasked";
  }
  return end;
}

}  // namespace

// REQUIRES `holder` is present: its lease has not run out, counted from the server's start if that is later.
absl::Status SyncCalls::NameInUse(const WorkerEntry& holder) const {
  int64_t silent_us = std::max<int64_t>(0, context_.wall_us() - holder.row.last_sync_us);
  std::string heard = holder.row.last_sync_us >= started_us_
                          ? fmt::format("last heard of {} s ago", silent_us / 1'000'000)
                          : "not heard of since the server started";
  return absl::AlreadyExistsError(
      fmt::format("the name {} is in use by a live worker (on host {}, {}); give this one another --name",
                  holder.row.name, holder.row.host, heard));
}

absl::StatusOr<WorkerEntry*> SyncCalls::Admit(const v1::SyncRequest& request, const std::string& caller,
                                              const std::vector<std::string>& projects) {
  absl::Status status = CheckRequest(request);
  if (!status.ok()) return status;
  WorkerEntry* worker = workers_.Find(request.worker_id());
  if (worker != nullptr && worker->present() && !worker->MayCallWith(caller, projects)) {
    return absl::PermissionDeniedError(
        fmt::format("worker id {} is that of a worker which registered with another token; register under an "
                    "id of your own",
                    request.worker_id()));
  }
  // A worker that is known keeps the name that it has.
  if (worker == nullptr || worker->row.name != request.name()) {
    if (status = CheckName(request.name()); !status.ok()) return status;
  }
  if (worker == nullptr) {
    if (WorkerEntry* older = workers_.FindPresentByName(request.name())) {
      const bool same =
          SameFolder(request.worker_id(), older->row.id) && older->MayCallWith(caller, projects);
      if (!same) return NameInUse(*older);
      recorder_.LoseWorker(*older, fmt::format("worker {} was started anew", request.name()));
    }
    WorkerRow row;
    row.id = request.worker_id();
    row.register_us = context_.wall_us();
    worker = &workers_.Register(std::move(row));
  } else if (worker->lost() || (worker->row.state == WorkerState::kGone && !request.leaving())) {
    return absl::FailedPreconditionError(fmt::format(
        "worker id {} of {} was given up; register under a new one", worker->row.id, worker->row.name));
  } else if (const WorkerEntry* named = workers_.FindPresentByName(request.name());
             named != nullptr && worker->row.name != request.name()) {
    return NameInUse(*named);
  }
  WorkerRow row = worker->row;
  row.name = request.name();
  row.host = request.host();
  row.loopback_of = request.loopback_of();
  row.slots = request.slots();
  row.storage_id = request.storage_id();
  row.version = request.version();
  row.rendezvous_port = request.rendezvous_port();
  row.labels = {request.labels().begin(), request.labels().end()};
  row.cpus = request.cpus();
  row.memory_gib = request.memory_gib();
  row.gpus.clear();
  for (const v1::Gpu& gpu : request.gpus())
    row.gpus.push_back({gpu.id(), Beginning(gpu.model()), Beginning(gpu.fault())});
  row.limits = request.limits();
  row.cost_per_hour = request.cost_per_hour();
  row.ends_us = EndOf(request, row.ends_us, context_.wall_us());
  row.projects = projects;
  row.token = caller;
  row.last_sync_us = context_.wall_us();
  bool leaves = request.leaving() && row.state == WorkerState::kLive;
  if (leaves) row.state = WorkerState::kLeaving;
  WorkerRow before = worker->row;
  before.last_sync_us = row.last_sync_us;  // which alone is not worth a write
  const bool same = row == before;
  worker->row = std::move(row);
  worker->caller = caller;
  worker->leaving_reason = Beginning(request.leaving_reason());
  worker->ahead = std::clamp(request.ahead(), 0, kMaxSlots);
  worker->encrypts = request.encrypts_ranks();
  if (!same) context_.Note(context_.store.workers.Put(worker->row));
  if (worker->present()) workers_.RenewLease(*worker);
  if (leaves) recorder_.TakeBackUntold(*worker);
  return worker;
}

void SyncCalls::TakeReport(OpenJob& job, const AssignmentRow& held, const v1::Report& report) {
  const int64_t most = held.resource_to > 0 ? held.resource_to : kMostResource;
  if (report.resource() < 1 || report.resource() > most) {
    ++refused_.beyond_budget;
    return;
  }
  int64_t now = context_.wall_us();
  int64_t time = Micros(report.has_time(), report.time());
  if (time <= 0 || time > now) time = now;
  ReportRow row{held.trial, held.attempt, report.resource(), "", 0, time, 0};
  const SearchSpec& spec = job.state.spec();
  std::map<int64_t, const v1::MetricValue*, std::greater<>> ranking;  // by index, the first objective last
  int64_t fresh = 0;
  for (const v1::MetricValue& metric : report.metrics()) {
    if (metric.name().size() > kMostMetricBytes) {
      ++refused_.long_metric;
      continue;
    }
    if (const int64_t index = spec.RankingIndex(metric.name()); index >= 0) {
      ranking.emplace(index, &metric);
      continue;
    }
    row.metric = metric.name();
    row.value = metric.value();
    const bool known = !jobs_.StoreMetric(job, row);
    known ? ++refused_.duplicate : ++fresh;
  }
  for (const auto& [index, metric] : ranking) {
    if (job.state.trial(row.trial).ended()) break;
    row.metric = metric->name();
    row.value = metric->value();
    const bool known = !recorder_.RecordReport(job, row);  // `held` may be gone now
    known ? ++refused_.duplicate : ++fresh;
  }
  ++(fresh > 0 ? reports_.accepted : reports_.duplicate);
}

void SyncCalls::TakeReports(const WorkerEntry& worker, const v1::SyncRequest& request) {
  for (const v1::Report& report : request.reports()) {
    const Rank* rank = attempts_.Find(report.assignment_id());
    const bool live = rank != nullptr && rank->row.worker == worker.row.id && rank->row.rank == 0 &&
                      (rank->wanted() || WINNOW_MUTANT("reports of fenced assignments count"));
    OpenJob* job = live ? jobs_.FindKey(rank->row.job) : nullptr;
    if (job == nullptr || job->state.trial(rank->row.trial).ended()) {
      ++refused_.fenced;
      continue;
    }
    TakeReport(*job, rank->row, report);
  }
}

// What a process printed is kept even when its assignment is not live any more.
void SyncCalls::TakeLogs(const WorkerEntry& worker, const v1::SyncRequest& request) {
  for (const v1::LogChunk& chunk : request.logs()) {
    int64_t key = 0;
    std::string holder;
    if (const Rank* rank = attempts_.Find(chunk.assignment_id())) {
      key = rank->row.key;
      holder = rank->row.worker;
    } else {
      auto row = context_.Note(context_.store.assignments.Find(chunk.assignment_id()));
      if (!row) continue;  // of a job that was deleted
      key = row->key;
      holder = row->worker;
    }
    if (chunk.offset() < 0) continue;
    // A worker that is bound to projects writes no output of those of others.
    if (!worker.row.projects.empty() && holder != worker.row.id) {
      const WorkerEntry* other = workers_.Find(holder);
      if (other == nullptr || other->row.projects != worker.row.projects) continue;
    }
    context_.Note(context_.store.logs.Append(key, chunk.stream(), chunk.offset(), chunk.data(),
                                             chunk.truncated(), context_.wall_us()));
    context_.Publish(LogTopic(key));
  }
}

static_assert(kMostNoticeKind == v1::JobNotice::Kind_MAX,
              "NoticeKind and JobNotice.Kind have the same numbers");

// Notices of a rank that is no longer wanted count too: what it has shown is true all the same.
void SyncCalls::TakeNotices(const WorkerEntry& worker, const v1::SyncRequest& request) {
  for (const v1::AssignmentNotice& notice : request.notices()) {
    const Rank* rank = attempts_.Find(notice.assignment_id());
    if (rank == nullptr || rank->row.worker != worker.row.id) continue;
    OpenJob* job = jobs_.FindKey(rank->row.job);
    if (job == nullptr || notice.kind() < 1 || notice.kind() > kMostNoticeKind || notice.text().empty())
      continue;
    recorder_.RecordNotice(
        *job, {rank->row.trial, static_cast<NoticeKind>(notice.kind()), Beginning(notice.text())});
  }
}

// All ranks have what their trial goes on from: its origin may be trained on.
void SyncCalls::NoteTaken(const Rank& rank) {
  OpenJob* job = jobs_.FindKey(rank.row.job);
  if (job == nullptr || !job->state.trial(rank.row.trial).has_to_take) return;
  if (rank.row.attempt == job->state.trial(rank.row.trial).attempts)
    recorder_.Record(*job, CheckpointTaken{rank.row.trial});
}

void SyncCalls::NotePlain(const Rank& rank) {
  const WorkerRow* const older = attempts_.PlainFor(rank);
  OpenJob* job = older == nullptr ? nullptr : jobs_.FindKey(rank.row.job);
  if (job == nullptr) return;
  recorder_.RecordNotice(
      *job,
      {rank.row.trial, NoticeKind::kPlainRanks,
       fmt::format("The ranks talk in plain text, because worker {} (winnow-worker {}) cannot give them "
                   "certificates. Upgrade it.",
                   older->name, older->version)});
}

void SyncCalls::NoteRunning(Rank& rank) {
  if (rank.runs || rank.row.phase != RankPhase::kStarted) return;
  rank.runs = true;
  if (context_.options.metrics == nullptr || !attempts_.AllRun(rank)) return;
  const int64_t taken_us = std::max<int64_t>(0, context_.wall_us() - rank.row.place_us);
  context_.options.metrics->dispatch.Observe(static_cast<double>(taken_us) / 1e6);
}

void SyncCalls::TakeOutcomes(WorkerEntry& worker, const v1::SyncRequest& request) {
  std::set<std::string> stated;
  for (const v1::RunningAssignment& running : request.running()) {
    stated.insert(running.assignment_id());
    Rank* rank = attempts_.Find(running.assignment_id());
    if (rank == nullptr || rank->row.worker != worker.row.id) continue;
    rank->stated = true;
    if (running.state() == v1::RunningAssignment::PREPARED) {
      const int32_t port = running.rendezvous_port();
      if (rank->row.rank == 0 && (port < 1 || port > 65535)) {
        RankEnd end{AttemptOutcome::kFailed,
                    fmt::format("its worker gave {} as rendezvous port; expected 1 to 65535", port)};
        end.cause = FailureCause::kNotStarted;
        recorder_.EndRank(*rank, end);
      } else {
        const bool began = rank->row.phase == RankPhase::kStarted;
        attempts_.Prepared(*rank, port);
        if (rank->row.phase == RankPhase::kStarted) NoteTaken(*rank);
        if (rank->row.phase == RankPhase::kStarted && !began) NotePlain(*rank);
        if (rank->may_lack)
          recorder_.EndRank(
              *rank, {AttemptOutcome::kHandedBack, "the server was started anew when its ranks began"});
      }
      continue;
    }
    if (context_.options.metrics != nullptr)
      context_.options.metrics->preparations.Set(running.assignment_id(), Beginning(running.preparing()));
    if (running.took_checkpoint()) NoteTaken(*rank);
    if (running.state() == v1::RunningAssignment::RUNNING && running.preparing().empty()) NoteRunning(*rank);
    if (running.state() != v1::RunningAssignment::ENDED) continue;
    context_.Publish(LogTopic(rank->row.key));
    rank->row.part_start = ToPartStart(running.outcome().part_start());
    const RankEnd end = ToRankEnd(running.outcome(), rank->revoked(), rank->row.place_us, context_.wall_us());
    if (const std::string_view what = Unprepared(running.outcome().cause()); !what.empty()) {
      recorder_.EndUnprepared(*rank, end, what);
    } else {
      recorder_.EndRank(*rank, end);
    }
  }
  // A rank that is not wanted, and that the worker does not name, is gone. But the request may be older than
  // the answer that named the rank. So one that the worker has named before is not gone, and none is as long
  // as a request from before our answer may still come.
  const int64_t told_before_us = context_.steady_us() - kCallUs - context_.options.lease_us / 3;
  std::vector<std::string> gone;
  for (const auto& [id, rank] : worker.held) {
    const bool may_be_there = rank->stated || rank->told_us >= told_before_us || stated.count(id) != 0;
    if (rank->revoked() && !may_be_there) gone.push_back(id);
  }
  for (const std::string& id : gone) {
    if (Rank* rank = attempts_.Find(id))
      recorder_.EndRank(*rank, {AttemptOutcome::kStopped, "it had not started"});
  }
}

void SyncCalls::Take(const v1::SyncRequest& request, const std::string& caller,
                     const std::vector<std::string>& projects, SyncDone done) {
  absl::StatusOr<WorkerEntry*> admitted = Admit(request, caller, projects);
  if (!admitted.ok()) {
    refused_calls_.emplace_back(admitted.status(), std::move(done));
    return;
  }
  WorkerEntry& worker = **admitted;
  const std::string& id = worker.row.id;
  TakeReports(worker, request);
  TakeLogs(worker, request);
  TakeNotices(worker, request);
  for (const v1::ModelProblem& problem : request.model_problems()) {
    if (!MayRun(worker.row.projects, ProjectOfJob(problem.job_id()))) continue;
    artifacts_.NoteProblem(worker, problem.job_id(), problem.trial(), Beginning(problem.reason()));
  }
  usage_.Take(worker, request);
  TakeWaiting(worker, request);
  TakeOutcomes(worker, request);
  if (worker.row.state == WorkerState::kLeaving && worker.held.empty() && request.running().empty()) {
    workers_.GiveUp(worker, WorkerState::kGone);
  }

  Call call;
  call.done = std::move(done);
  call.at_once = !request.reports().empty() || !request.logs().empty() || !worker.present();
  call.deleted = DeletedOf(request);
  for (const v1::RunningAssignment& running : request.running()) {
    if (running.state() == v1::RunningAssignment::ENDED) call.at_once = true;
    call.stated.insert(running.assignment_id());
    if (running.state() == v1::RunningAssignment::RUNNING) call.running.insert(running.assignment_id());
    if (running.state() == v1::RunningAssignment::PREPARED) call.prepared.insert(running.assignment_id());
  }
  int64_t hold = std::clamp<int64_t>(TimeUtil::DurationToMicroseconds(request.hold()), 0,
                                     std::min(kMaxHoldUs, context_.options.lease_us / 3));
  if (hold == 0 || !holding_) call.at_once = true;
  auto older = calls_.find(id);
  if (older != calls_.end()) older_.emplace_back(id, std::move(older->second));
  calls_[id] = std::move(call);
  workers_.NoteChange(id);
  context_.deadlines.Set(Deadlines::Kind::kHold, id, context_.steady_us() + hold);
}

bool SyncCalls::Differs(const Call& call, const WorkerEntry& worker) const {
  for (const auto& [id, rank] : worker.held) {
    if (!rank->wanted()) continue;
    if (call.stated.count(id) == 0) return true;
    if (call.prepared.count(id) != 0 && rank->row.phase == RankPhase::kStarted) return true;
  }
  auto unwanted = [&](const std::string& id) {
    auto held = worker.held.find(id);
    return held == worker.held.end() || !held->second->wanted();
  };
  return std::any_of(call.running.begin(), call.running.end(), unwanted) ||
         std::any_of(call.prepared.begin(), call.prepared.end(), unwanted);
}

std::vector<std::string> SyncCalls::DeletedOf(const v1::SyncRequest& request) {
  std::vector<std::string> deleted;
  const int count = std::min(request.held_jobs_size(), kMostHeldJobs);
  for (int i = 0; i < count; ++i) {
    const std::string& mark = request.held_jobs(i);
    const std::string job = context_.JobOf(mark);
    if (!job.empty() && context_.Note(context_.store.jobs.WasDeleted(job))) deleted.push_back(mark);
  }
  return deleted;
}

void SyncCalls::TakeWaiting(WorkerEntry& worker, const v1::SyncRequest& request) {
  const int count = std::min(request.waiting_size(), kMostWaiting);
  worker.waiting.emplace(request.waiting().begin(), request.waiting().begin() + count);
}

bool SyncCalls::MayGoOn(const WorkerEntry& worker, const v1::WaitingTrainer& program) const {
  const bool may_run = MayRun(worker.row.projects, ProjectOfJob(program.job_id()));
  const OpenJob* job = may_run ? jobs_.Find(program.job_id()) : nullptr;
  const bool is_parent = program.trial() == 0;  // from which programs of the job are forked
  if (job == nullptr || job->state.ended()) return is_parent && WINNOW_MUTANT("a parent outlives its job");
  if (is_parent) return true;
  if (program.trial() < 1 || program.trial() >= job->state.next_trial()) return false;
  const TrialState& trial = job->state.trial(program.trial());
  if (trial.ended()) return false;
  if (!trial.live) return trial.checkpoint == program.resource();
  return std::any_of(worker.held.begin(), worker.held.end(), [&](const auto& held) {
    return held.second->row.job == job->row.key && held.second->row.trial == program.trial();
  });
}

// A trial goes on rather if few of those that wait at its level, in its job, are better.
std::vector<v1::WaitingTrainer> SyncCalls::BestSpared(const WorkerEntry& worker) const {
  if (!worker.waiting || worker.waiting->size() <= kMostSpared) return {};
  std::map<std::pair<std::string, int64_t>, std::vector<Standing>> rungs;
  for (const v1::WaitingTrainer& program : *worker.waiting) {
    const bool counts = program.trial() > 0 && !program.suspended() &&
                        MayRun(worker.row.projects, ProjectOfJob(program.job_id()));
    const OpenJob* job = counts ? jobs_.Find(program.job_id()) : nullptr;
    if (job == nullptr || program.trial() >= job->state.next_trial()) continue;
    const TrialState& trial = job->state.trial(program.trial());
    if (trial.live || trial.ended()) continue;
    rungs[{program.job_id(), program.resource()}].push_back(
        StandingAt(job->state.spec(), trial, program.resource()));
  }
  std::vector<std::pair<double, v1::WaitingTrainer>> ranked;
  for (auto& [rung, standings] : rungs) {
    const auto count = static_cast<double>(standings.size());
    double better = 0;
    for (const TrialNumber trial : BestFirst(jobs_.Find(rung.first)->state.spec(), standings)) {
      v1::WaitingTrainer& program = ranked.emplace_back(better++ / count, v1::WaitingTrainer()).second;
      program.set_job_id(rung.first);
      program.set_trial(trial);
      program.set_resource(rung.second);
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& one, const auto& other) { return one.first > other.first; });
  ranked.resize(std::min(ranked.size(), kMostSpared));
  std::vector<v1::WaitingTrainer> spared;
  for (auto& [share, program] : ranked) spared.push_back(std::move(program));
  return spared;
}

// A single rank that the call names is there, and nothing about it changes: its id is enough.
v1::SyncResponse SyncCalls::Compose(WorkerEntry& worker, const Call& call) const {
  v1::SyncResponse response;
  size_t bytes = 0;
  const auto name = [&](const std::string& id, Rank& rank) {
    if (rank.message.world_size() <= 1 && call.stated.count(id) != 0) {
      response.add_assignments()->set_id(id);
    } else {
      // With its credentials also if the call says that it runs: it may have been sent before that was so.
      bytes += rank.message.ByteSizeLong();
      *response.add_assignments() = rank.message;
    }
    rank.told = true;
    rank.told_us = context_.steady_us();
  };
  // What the worker may hold is named always. What it has not heard of comes with a later answer if this one
  // is full: the worker calls again at once, because it has something new to state.
  for (const bool told : {true, false}) {
    for (const auto& [id, rank] : worker.held) {
      if (rank->wanted() && rank->told == told && (told || bytes < kMostNewBytes)) name(id, *rank);
    }
  }
  artifacts_.AddWanted(worker, response);
  if (worker.waiting) {
    for (const v1::WaitingTrainer& program : *worker.waiting) {
      if (!MayGoOn(worker, program) && !WINNOW_MUTANT("no waiting program is let go"))
        *response.add_let_go() = program;
    }
  }
  for (v1::WaitingTrainer& program : BestSpared(worker)) *response.add_spare() = std::move(program);
  response.mutable_deleted_jobs()->Assign(call.deleted.begin(), call.deleted.end());
  response.set_deletions(context_.deletions);
  *response.mutable_next_interval() = TimeUtil::MicrosecondsToDuration(context_.options.lease_us / 3);
  *response.mutable_lease() = TimeUtil::MicrosecondsToDuration(context_.options.lease_us);
  return response;
}

void SyncCalls::Answer() {
  for (auto& [status, done] : refused_calls_) done(status);
  refused_calls_.clear();
  auto refusal = [](const std::string& id) {
    return absl::FailedPreconditionError(
        fmt::format("worker id {} was given up; register under a new one", id));
  };
  for (auto& [id, call] : older_) {
    WorkerEntry* worker = workers_.Find(id);
    worker->lost() ? call.done(refusal(id)) : call.done(Compose(*worker, call));
  }
  older_.clear();
  std::set<std::string> looked_at = workers_.TakeChanged();
  looked_at.insert(due_.begin(), due_.end());
  for (const std::string& id : looked_at) {
    auto found = calls_.find(id);
    if (found == calls_.end()) continue;
    WorkerEntry* worker = workers_.Find(id);
    const bool lost = worker->lost();
    Call& call = found->second;
    if (!lost && holding_ && !call.at_once && due_.count(id) == 0 && !Differs(call, *worker)) continue;
    const Call answered = std::move(call);
    calls_.erase(found);
    context_.deadlines.Clear(Deadlines::Kind::kHold, id);
    lost ? answered.done(refusal(id)) : answered.done(Compose(*worker, answered));
  }
  due_.clear();
}

void SyncCalls::RefuseAll(const absl::Status& status) {
  for (auto& [refusal, done] : refused_calls_) done(status);
  for (auto& [id, call] : older_) call.done(status);
  for (auto& [id, call] : calls_) {
    context_.deadlines.Clear(Deadlines::Kind::kHold, id);
    call.done(status);
  }
  refused_calls_.clear();
  older_.clear();
  calls_.clear();
  due_.clear();
}

}  // namespace winnow

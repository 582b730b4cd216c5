#include "server/sagemaker/jobs/follower.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_text.h"
#include "base/utf8.h"
#include "server/sagemaker/jobs/job_spec.h"
#include "server/sagemaker/jobs/model_archive.h"
#include "server/sagemaker/jobs/script_spec.h"
#include "server/sagemaker/jobs/search_spec.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/digests.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kLookEvery{200};
// A job that cannot be followed is looked at less and less often, up to this.
constexpr std::chrono::milliseconds kLongestWait{60'000};
// While the server starts, and where it is busy for a moment, calls are unavailable; no log says so.
constexpr std::chrono::milliseconds kMoment{3'000};
constexpr std::chrono::hours kForgetUploadsEvery{1};
// The wait for a model that is asked for.
constexpr std::chrono::seconds kModelPatience{5};
// In the place of the id of a job that could not be started.
constexpr char kNotStarted[] = "-";

int64_t UsOf(const google::protobuf::Timestamp& time) {
  return time.seconds() * 1'000'000 + time.nanos() / 1000;
}

int64_t NowMicros() { return absl::ToUnixMicros(absl::Now()); }

bool HasEnded(v1::TuningJob::State state) {
  return state == v1::TuningJob::COMPLETED || state == v1::TuningJob::STOPPED ||
         state == v1::TuningJob::FAILED;
}

bool HasEnded(v1::Trial::State state) { return state >= v1::Trial::COMPLETED; }

std::string ValueText(const v1::HyperparameterValue& value) {
  if (value.has_integer()) return std::to_string(value.integer());
  if (value.has_continuous()) return fmt::format("{}", value.continuous());
  return value.categorical();
}

// The status of a trial that has ended.
std::pair<std::string, std::string> EndOf(const v1::Trial& trial) {
  if (trial.state() == v1::Trial::FAILED) return {"Failed", "Failed"};
  if (trial.state() == v1::Trial::COMPLETED) return {"Completed", "Completed"};
  return {"Stopped", "Stopped"};
}

// As long as FailureReason may be.
std::string Bounded(const std::string& text) { return std::string(Utf8Prefix(text, 1024)); }

// The last value of each metric.
json FinalMetrics(const std::vector<v1::MetricPoint>& points) {
  std::map<std::string, const v1::MetricPoint*> last;
  for (const v1::MetricPoint& point : points) {
    const v1::MetricPoint*& newest = last[point.metric()];
    if (newest == nullptr || newest->resource() <= point.resource()) newest = &point;
  }
  json metrics = json::array();
  for (const auto& [name, point] : last) {
    if (!std::isfinite(point->value()) || metrics.size() == 40 || name == kOwnMetric) continue;
    metrics.push_back({{"MetricName", name},
                       {"Value", point->value()},
                       {"Timestamp", static_cast<double>(UsOf(point->time()) / 1000) / 1000}});
  }
  return metrics;
}

// The number of a trial's training job within a tuning job whose definitions have a job each.
int64_t NumberOf(int64_t trial, size_t definition, size_t definitions) {
  return (trial - 1) * static_cast<int64_t>(definitions) + static_cast<int64_t>(definition) + 1;
}

bool IsMaximized(const json& request) { return TextIn(ObjectiveOf(request, 0), "Type") == "Maximize"; }

// Whether the best trial of a job is better than that of another one; both have one.
bool IsBetter(const json& request, const v1::TuningJob& a, const v1::TuningJob& b) {
  return IsMaximized(request) ? a.best().objective() > b.best().objective()
                              : a.best().objective() < b.best().objective();
}

// Whether one of the jobs has reached what ends the whole tuning job.
bool TargetIsReached(const json& request, const std::vector<v1::TuningJob>& jobs) {
  const json& criteria = ObjectIn(request["HyperParameterTuningJobConfig"], "TuningJobCompletionCriteria");
  const auto target = criteria.find("TargetObjectiveMetricValue");
  if (target == criteria.end()) return false;
  return std::any_of(jobs.begin(), jobs.end(), [&](const v1::TuningJob& job) {
    if (!job.has_best()) return false;
    return IsMaximized(request) ? job.best().objective() >= target->get<double>()
                                : job.best().objective() <= target->get<double>();
  });
}

}  // namespace

std::string TrainingJobName(const SagemakerJob& tuning_job, int64_t number) {
  const std::string name = fmt::format("{}-{:03}", tuning_job.name, number);
  const std::string of = tuning_job.trial == 0 ? name : fmt::format("{}/{}", name, tuning_job.trial);
  return name + "-" + absl::BytesToHexString(Sha256Bytes(of)).substr(0, 8);
}

std::string ModelUri(const std::string& output_path, const std::string& training_job) {
  return output_path + (output_path.ends_with('/') ? "" : "/") + training_job + "/output/model.tar.gz";
}

Follower::Follower(SagemakerJobs& table, ObjectStore& objects, WinnowCalls& calls, JobStarter& starter,
                   std::function<CallerOf(const SagemakerJob&)> caller_of)
    : table_(table), objects_(objects), calls_(calls), starter_(starter), caller_of_(std::move(caller_of)) {
  thread_ = std::thread([this] { Run(); });
}

Follower::~Follower() {
  AnnounceStop();
  thread_.join();
  archiver_.Stop();
}

void Follower::Wake() {
  MutexLock lock(mutex_);
  woken_ = true;
  changed_.NotifyAll();
}

void Follower::AnnounceStop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

bool Follower::stopping() {
  MutexLock lock(mutex_);
  return stopping_;
}

void Follower::Run() {
  std::chrono::steady_clock::time_point forget_uploads;  // when; at once
  MutexLock lock(mutex_);
  while (!stopping_) {
    const bool woken = std::exchange(woken_, false);
    archived_ = false;
    lock.Unlock();
    if (const auto now = std::chrono::steady_clock::now(); now >= forget_uploads) {
      forget_uploads = now + kForgetUploadsEvery;
      if (const absl::Status status = objects_.RemoveForgottenUploads(); !status.ok())
        spdlog::warn("SageMaker: forgotten uploads cannot be removed: {}", MessageOf(status));
    }
    const bool unfinished = LookOnce(woken);
    lock.Lock();
    const auto next = unfinished ? std::chrono::steady_clock::now() + kLookEvery : forget_uploads;
    while (!stopping_ && !woken_ && !archived_ && changed_.WaitUntil(mutex_, next)) {
    }
  }
}

bool Follower::LookOnce(bool all) {
  const absl::StatusOr<std::vector<SagemakerJob>> rows = table_.Unfinished();
  if (!rows.ok()) {
    spdlog::warn("SageMaker: the table of jobs cannot be read: {}", MessageOf(rows.status()));
    return true;
  }
  std::map<std::string, Failure> before = std::exchange(failures_, {});
  std::set<std::string> archiving, archived;
  {
    MutexLock lock(mutex_);
    for (const auto& [job, status] : archives_) (status ? archived : archiving).insert(job);
  }
  for (const SagemakerJob& row : *rows) {
    if (stopping()) return true;
    const std::string arn = ArnOf(row);
    const bool later = !all && before.contains(arn) && before[arn].next > std::chrono::steady_clock::now();
    if (later || archiving.contains(row.winnow_job)) {
      if (before.contains(arn)) failures_[arn] = before[arn];
      continue;
    }
    absl::Status status;
    // An exception over one job does not end the server.
    try {
      status = Follow(row);
    } catch (const std::exception& exception) {
      status = absl::InternalError(exception.what());
    }
    if (status.ok() || ModelComes(status)) continue;
    MutexLock lock(mutex_);
    // The model of a job that failed before may fail again.
    failures_[arn] = archives_.contains(row.winnow_job) ? before[arn] : After(before[arn], row, status);
  }
  // The row that waited is not there any more, or does not wait.
  MutexLock lock(mutex_);
  std::erase_if(archives_, [&](const auto& each) { return each.second && archived.contains(each.first); });
  return !rows->empty();
}

Follower::Failure Follower::After(Failure before, const SagemakerJob& row, const absl::Status& status) {
  before.wait = std::clamp(before.wait * 2, kLookEvery, kLongestWait);
  before.next = std::chrono::steady_clock::now() + before.wait;
  std::string text = MessageOf(status);
  if (text == before.logged || (absl::IsUnavailable(status) && before.wait < kMoment)) return before;
  spdlog::warn("SageMaker: the job {} cannot be followed: {}", row.name, text);
  before.logged = std::move(text);
  return before;
}

absl::StatusOr<std::vector<v1::TuningJob>> Follower::JobsOf(const CallerOf& caller, const SagemakerJob& row) {
  std::vector<v1::TuningJob> jobs;
  for (const std::string& id : row.winnow_jobs()) {
    absl::StatusOr<v1::TuningJob> job = v1::TuningJob();
    if (id != kNotStarted) job = calls_.Describe(caller, id);
    if (!job.ok() && !absl::IsNotFound(job.status())) return job.status();
    if (id == kNotStarted || !job.ok()) {
      job = v1::TuningJob();
      job->set_id(id);
      job->set_state(v1::TuningJob::FAILED);
      job->set_state_reason(id == kNotStarted ? "The job of a definition could not be started."
                                              : "The job was deleted in Winnow.");
      job->mutable_end_time()->set_seconds(NowMicros() / 1'000'000);
    }
    jobs.push_back(*std::move(job));
  }
  return jobs;
}

absl::Status Follower::Follow(SagemakerJob row) {
  const CallerOf caller = caller_of_(row);
  if (row.winnow_job.empty()) return FinishCreation(std::move(row), caller);
  // Who was removed from the project sees no job of it: it is not deleted for that.
  if (!caller.project.empty()) {
    if (absl::Status may = calls_.CheckUse(caller, false); !may.ok()) return may;
  }
  return row.kind == SagemakerJob::kTuning ? FollowTuning(caller, std::move(row))
                                           : FollowTraining(caller, std::move(row));
}

absl::Status Follower::FinishCreation(SagemakerJob row, const CallerOf& caller) {
  if (!starter_.BeginCreation(row)) return absl::OkStatus();
  const absl::Cleanup end = [&] { starter_.EndCreation(row); };
  // Its Create may have ended since the row was read.
  const auto now = table_.Find(row.account, row.kind, row.name);
  if (!now.ok()) return now.status();
  if (!now->has_value() || !(*now)->winnow_job.empty() || (*now)->created_us != row.created_us)
    return absl::OkStatus();
  const absl::StatusOr<std::string> jobs = starter_.Start(row, caller);
  if (MayPass(jobs.status())) return jobs.status();
  if (jobs.ok()) {
    row.winnow_job = *jobs;
  } else {
    spdlog::warn("SageMaker: {} cannot be created: {}", row.name, MessageOf(jobs.status()));
    row.status = "Failed";
    if (!row.secondary.empty()) row.secondary = "Failed";
    row.ended_us = row.modified_us = NowMicros();
    row.result = json({{"reason", Bounded(MessageOf(jobs.status()))}}).dump();
  }
  return table_.Write({row});
}

absl::Status Follower::Fill(const CallerOf& caller, const v1::Trial& trial, SagemakerJob& row) {
  json result = json::object();
  row.started_us = UsOf(trial.start_time());
  row.modified_us = row.started_us;
  row.secondary = "Training";
  for (const v1::HyperparameterValue& value : trial.hyperparameters())
    result["tuned"][value.name()] = ValueText(value);
  if (trial.has_value() && std::isfinite(trial.value())) row.objective = trial.value();
  result["seconds"] = std::max<int64_t>(1, std::llround(trial.training_seconds()));
  if (HasEnded(trial.state())) {
    std::tie(row.status, row.secondary) = EndOf(trial);
    row.ended_us = std::max(UsOf(trial.end_time()), row.started_us);
    row.modified_us = row.ended_us;
    if (row.status != "Completed") result["reason"] = Bounded(trial.state_reason());
    const absl::StatusOr<std::vector<v1::MetricPoint>> points =
        calls_.Metrics(caller, row.winnow_job, trial.number());
    if (!points.ok()) return points.status();
    result["metrics"] = FinalMetrics(*points);
  }
  row.result = result.dump();
  return absl::OkStatus();
}

absl::Status Follower::FollowTraining(const CallerOf& caller, SagemakerJob row) {
  const absl::StatusOr<std::vector<v1::TuningJob>> jobs = JobsOf(caller, row);
  if (!jobs.ok()) return jobs.status();
  const v1::TuningJob& job = jobs->front();
  Seen& seen = seen_[job.id()];
  if (seen.sequence == job.last_sequence() && !HasEnded(job.state())) return absl::OkStatus();
  absl::StatusOr<std::vector<v1::Trial>> trials = calls_.Trials(caller, job.id());
  if (absl::IsNotFound(trials.status())) trials = std::vector<v1::Trial>();
  if (!trials.ok()) return trials.status();
  const bool stopping = row.status == "Stopping";
  if (!trials->empty()) {
    if (absl::Status status = Fill(caller, (*trials)[0], row); !status.ok()) return status;
  }
  if (HasEnded(job.state())) {
    // Without a trial the job ended before its first one began: its data or its workers could not be had.
    if (trials->empty()) {
      row.status = row.secondary = job.state() == v1::TuningJob::STOPPED ? "Stopped" : "Failed";
      row.ended_us = row.modified_us = UsOf(job.end_time());
      row.result = json({{"reason", Bounded(job.state_reason())}}).dump();
    } else if (row.status == "Stopped" && job.state() == v1::TuningJob::FAILED) {
      // Likewise, with a trial that waited.
      row.status = row.secondary = "Failed";
      json result = json::parse(row.result);
      result["reason"] = Bounded(job.state_reason());
      row.result = result.dump();
    } else if (row.status == "Stopped" && job.state() == v1::TuningJob::COMPLETED) {
      row.secondary = "MaxRuntimeExceeded";
    }
    if (row.status != "Failed" && !trials->empty()) {
      row.trial = 1;
      const std::string output = json::parse(row.request)["OutputDataConfig"]["S3OutputPath"];
      const absl::Status status = AwaitModel(caller, job, row, ModelUri(output, row.name), row);
      if (!status.ok()) return status;
      row.trial = 0;
      row.ended_us = row.modified_us = std::max(row.ended_us, NowMicros());
    }
  } else {
    row.status = stopping ? "Stopping" : "InProgress";
    row.secondary = stopping ? "Stopping" : row.started_us == 0 ? "Starting" : "Training";
    row.ended_us = 0;
  }
  if (absl::Status status = table_.Write({row}); !status.ok()) return status;
  seen.sequence = job.last_sequence();
  if (HasEnded(job.state())) seen_.erase(job.id());
  return absl::OkStatus();
}

absl::Status Follower::AddChanged(const CallerOf& caller, const SagemakerJob& row, const v1::TuningJob& job,
                                  size_t definition, size_t definitions, std::vector<SagemakerJob>& changed,
                                  Seen& seen) {
  const absl::StatusOr<std::vector<v1::Trial>> trials = calls_.Trials(caller, job.id());
  if (absl::IsNotFound(trials.status())) return absl::OkStatus();
  if (!trials.ok()) return trials.status();
  for (const v1::Trial& trial : *trials) {
    std::string state = trial.SerializeAsString();
    if (const auto known = seen.trials.find(trial.number());
        known != seen.trials.end() && known->second == state)
      continue;
    SagemakerJob child;
    child.account = row.account;
    child.name = TrainingJobName(row, NumberOf(trial.number(), definition, definitions));
    child.parent = row.name;
    child.trial = trial.number();
    child.region = row.region;
    child.key_id = row.key_id;
    child.winnow_job = job.id();
    child.status = "InProgress";
    child.created_us = UsOf(trial.create_time());
    if (absl::Status status = Fill(caller, trial, child); !status.ok()) return status;
    if (definitions > 1) {
      json result = json::parse(child.result);
      result["definition"] = definition;
      child.result = result.dump();
    }
    changed.push_back(std::move(child));
    seen.trials[trial.number()] = std::move(state);
  }
  seen.sequence = job.last_sequence();
  return absl::OkStatus();
}

absl::StatusOr<bool> Follower::StartMore(const CallerOf& caller, const json& request, SagemakerJob& row,
                                         std::vector<v1::TuningJob>& jobs) {
  const size_t definitions = DefinitionCount(request);
  if (definitions == 1) return true;
  const json& config = request["HyperParameterTuningJobConfig"];
  if (row.status == "Stopping" || TargetIsReached(request, jobs)) {
    for (const v1::TuningJob& job : jobs) {
      if (HasEnded(job.state()) || job.state() == v1::TuningJob::STOPPING) continue;
      const absl::Status status = calls_.Stop(caller, job.id());
      if (!status.ok() && !absl::IsFailedPrecondition(status)) return status;
    }
    return true;
  }
  const int64_t seconds = IntegerIn(config["ResourceLimits"], "MaxRuntimeInSeconds", 0);
  if (seconds > 0 && NowMicros() - row.created_us >= seconds * 1'000'000) return true;
  auto running = static_cast<size_t>(std::count_if(
      jobs.begin(), jobs.end(), [](const v1::TuningJob& job) { return !HasEnded(job.state()); }));
  while (jobs.size() < definitions && running < JobsAtATime(config, definitions)) {
    const absl::StatusOr<std::string> id = starter_.StartNext(row, caller);
    if (MayPass(id.status())) return id.status();
    if (!id.ok())
      spdlog::warn("SageMaker: a definition of {} cannot be started: {}", row.name, MessageOf(id.status()));
    row.winnow_job += " " + (id.ok() ? *id : std::string(kNotStarted));
    // The jobs are known before they are followed: the next look finds this one.
    if (absl::Status status = table_.Write({row}); !status.ok()) return status;
    jobs.emplace_back().set_state(id.ok() ? v1::TuningJob::RUNNING : v1::TuningJob::FAILED);
    running += id.ok() ? 1 : 0;
  }
  return jobs.size() == definitions;
}

absl::Status Follower::FollowTuning(const CallerOf& caller, SagemakerJob row) {
  const json request = json::parse(row.request);
  const size_t definitions = DefinitionCount(request);
  absl::StatusOr<std::vector<v1::TuningJob>> jobs = JobsOf(caller, row);
  if (!jobs.ok()) return jobs.status();
  const size_t known = jobs->size();
  // What the jobs that have begun did is written also if the next one cannot be started for now.
  const absl::StatusOr<bool> all_begun = StartMore(caller, request, row, *jobs);
  const auto ended_in = [&](v1::TuningJob::State state) {
    return std::count_if(jobs->begin(), jobs->end(),
                         [&](const v1::TuningJob& job) { return job.state() == state; });
  };
  const bool ended =
      all_begun.ok() && *all_begun &&
      std::all_of(jobs->begin(), jobs->end(), [](const v1::TuningJob& job) { return HasEnded(job.state()); });
  std::vector<SagemakerJob> changed;
  std::map<std::string, Seen> seen;  // what is seen once it is written
  size_t best = known;
  for (size_t i = 0; i < known; ++i) {
    const v1::TuningJob& job = (*jobs)[i];
    if (job.id() == kNotStarted) continue;
    if (job.has_best() && (best == known || IsBetter(request, job, (*jobs)[best]))) best = i;
    if (const auto before = seen_.find(job.id());
        before != seen_.end() && before->second.sequence == job.last_sequence())
      continue;
    Seen& now = seen[job.id()] = seen_[job.id()];
    if (absl::Status status = AddChanged(caller, row, job, i, definitions, changed, now); !status.ok())
      return status;
  }
  if (seen.empty() && !ended) return all_begun.status();
  json result = json::object();
  if (best < known) {
    const v1::TuningJob& job = (*jobs)[best];
    SagemakerJob of_best = row;
    of_best.name = TrainingJobName(row, NumberOf(job.best().trial(), best, definitions));
    of_best.trial = job.best().trial();
    of_best.winnow_job = job.id();
    result["best"] = of_best.name;
    if (ended) {
      const std::string output =
          DefinitionOf(request, best)["OutputDataConfig"]["S3OutputPath"].get<std::string>();
      const absl::Status status = AwaitModel(caller, job, of_best, ModelUri(output, of_best.name), row);
      if (!status.ok()) return status;
    }
  }
  if (ended) {
    const bool failed = ended_in(v1::TuningJob::FAILED) == static_cast<int64_t>(jobs->size());
    const bool stopped = row.status == "Stopping" ||
                         (ended_in(v1::TuningJob::STOPPED) > 0 && !TargetIsReached(request, *jobs));
    row.ended_us = row.created_us;
    for (const v1::TuningJob& job : *jobs) row.ended_us = std::max(row.ended_us, UsOf(job.end_time()));
    row.status = failed ? "Failed" : stopped ? "Stopped" : "Completed";
    if (failed) result["reason"] = Bounded(jobs->front().state_reason());
  }
  row.modified_us = ended ? row.ended_us : NowMicros();
  row.result = result.dump();
  changed.push_back(std::move(row));
  if (absl::Status status = table_.Write(changed); !status.ok()) return status;
  for (auto& [id, now] : seen) seen_[id] = std::move(now);
  if (ended) {
    for (const v1::TuningJob& job : *jobs) seen_.erase(job.id());
  }
  return all_begun.status();
}

absl::Status Follower::AwaitModel(const CallerOf& caller, const v1::TuningJob& job, const SagemakerJob& row,
                                  const std::string& uri, const SagemakerJob& followed) {
  MutexLock lock(mutex_);
  const auto [archive, begins] = archives_.try_emplace(followed.winnow_job);
  if (archive->second) {
    absl::Status status = *std::move(archive->second);
    archives_.erase(archive);
    return status;
  }
  if (begins) {
    archiver_.Post([this, caller, job, row, uri, of = followed.winnow_job] {
      absl::Status status;
      try {
        status = PutModel(caller, job, row, uri);
      } catch (const std::exception& exception) {
        status = absl::InternalError(exception.what());
      }
      MutexLock done(mutex_);
      if (ModelComes(status)) {  // looked for again in a moment
        archives_.erase(of);
        return;
      }
      archives_[of] = std::move(status);
      archived_ = true;
      changed_.NotifyAll();
    });
  }
  return absl::UnavailableError("its model is being archived");
}

absl::Status Follower::PutModel(const CallerOf& caller, const v1::TuningJob& job, const SagemakerJob& row,
                                const std::string& uri) {
  std::string bucket, key;
  if (!SplitS3Uri(uri, bucket, key)) return absl::OkStatus();
  const absl::StatusOr<v1::Artifact> model = calls_.Model(caller, row.winnow_job, row.trial);
  if (stopping()) return absl::CancelledError("the server stops");
  // Any other error says nothing about the model.
  const bool none = absl::IsNotFound(model.status()) || absl::IsFailedPrecondition(model.status()) ||
                    absl::IsDataLoss(model.status());
  if (!model.ok() && (ModelComes(model.status()) || !none)) return model.status();
  if (!model.ok()) {
    spdlog::warn("SageMaker: {} has no model: {}", row.name, MessageOf(model.status()));
    return absl::OkStatus();
  }
  const std::filesystem::path file = objects_.DraftPath();
  const absl::Cleanup remove = [&file] {
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  };
  absl::Status status = WriteModelArchive(
      model->manifest(), file,
      // As XGBoost's image names it.
      [builtin = !job.spec().trainer().builtin().empty()](const std::string& path) {
        return builtin && path == "model.json" ? std::string("xgboost-model") : path;
      },
      [&](const std::string& digest, const auto& receive) -> absl::Status {
        const absl::Status read = calls_.Blob(caller, digest, [&](const std::string& bytes) {
          return stopping() ? absl::CancelledError("the server stops") : receive(bytes);
        });
        return absl::IsNotFound(read) ? absl::DataLossError(MessageOf(read)) : read;
      });
  if (absl::IsDataLoss(status)) {
    spdlog::warn("SageMaker: the model of {} cannot be archived: {}", row.name, MessageOf(status));
    return absl::OkStatus();
  }
  if (!status.ok()) return status;
  ObjectHead head;
  head.key = key;
  head.headers = {{"content-type", "application/x-tar"}};
  absl::StatusOr<ObjectStore::Draft> draft = objects_.Take(file);
  if (!draft.ok()) return draft.status();
  head.etag = RandomHex(16) + "-1";  // as of an upload in parts: it is no digest of the content
  status = objects_.Put(row.account, bucket, std::move(head), *std::move(draft));
  if (MayPass(status)) return status;
  if (!status.ok())
    spdlog::warn("SageMaker: the model of {} cannot be put into the bucket {}: {}", row.name, bucket,
                 MessageOf(status));
  return absl::OkStatus();
}

void Follower::OfferModel(const CallerOf& caller, const SagemakerJob& row, const std::string& uri) {
  std::string bucket, key;
  if (!SplitS3Uri(uri, bucket, key) || objects_.Get(row.account, bucket, key).ok()) return;
  const absl::StatusOr<v1::TuningJob> job = calls_.Describe(caller, row.winnow_job);
  if (!job.ok()) return;
  const auto until = std::chrono::steady_clock::now() + kModelPatience;
  absl::StatusOr<v1::Artifact> model = calls_.Model(caller, row.winnow_job, row.trial);
  while (ModelComes(model.status()) && std::chrono::steady_clock::now() < until) {
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
      changed_.WaitUntil(mutex_, std::chrono::steady_clock::now() + kLookEvery);
    }
    model = calls_.Model(caller, row.winnow_job, row.trial);
  }
  if (model.ok()) (void)PutModel(caller, *job, row, uri);
}

}  // namespace winnow

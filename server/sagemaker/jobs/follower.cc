#include "server/sagemaker/jobs/follower.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_text.h"
#include "server/sagemaker/jobs/job_spec.h"
#include "server/sagemaker/jobs/model_archive.h"
#include "server/sagemaker/jobs/script_spec.h"
#include "server/sagemaker/wire/digests.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kLookEvery{200};

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

std::string Bounded(const std::string& text) { return text.substr(0, 1024); }

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

}  // namespace

std::string TrainingJobName(const std::string& tuning_job, int64_t trial) {
  const std::string name = fmt::format("{}-{:03}", tuning_job, trial);
  return name + "-" + absl::BytesToHexString(Sha256Bytes(name)).substr(0, 8);
}

std::string ModelUri(const std::string& output_path, const std::string& training_job) {
  return output_path + (output_path.ends_with('/') ? "" : "/") + training_job + "/output/model.tar.gz";
}

Follower::Follower(SagemakerJobs& table, ObjectStore& objects, WinnowCalls& calls,
                   std::function<CallerOf(const SagemakerJob&)> caller_of)
    : table_(table), objects_(objects), calls_(calls), caller_of_(std::move(caller_of)) {
  thread_ = std::thread([this] { Run(); });
}

Follower::~Follower() { Stop(); }

void Follower::Wake() {
  MutexLock lock(mutex_);
  woken_ = true;
  changed_.NotifyAll();
}

void Follower::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void Follower::Run() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    woken_ = false;
    lock.Unlock();
    const bool unfinished = LookOnce();
    lock.Lock();
    const auto next = std::chrono::steady_clock::now() + kLookEvery;
    while (!stopping_ && !woken_) {
      if (!unfinished) {
        changed_.Wait(mutex_);
      } else if (!changed_.WaitUntil(mutex_, next)) {
        break;
      }
    }
  }
}

bool Follower::LookOnce() {
  const absl::StatusOr<std::vector<SagemakerJob>> rows = table_.Unfinished();
  if (!rows.ok()) {
    spdlog::warn("SageMaker: the table of jobs cannot be read: {}", MessageOf(rows.status()));
    return true;
  }
  for (const SagemakerJob& row : *rows) {
    {
      MutexLock lock(mutex_);
      if (stopping_) return true;
    }
    if (row.winnow_job.empty()) continue;  // its Create has not ended
    const absl::Status status = Follow(row);
    if (!status.ok() && !absl::IsUnavailable(status))
      spdlog::warn("SageMaker: the job {} cannot be followed: {}", row.name, MessageOf(status));
  }
  return !rows->empty();
}

absl::Status Follower::Follow(SagemakerJob row) {
  const CallerOf caller = caller_of_(row);
  const absl::StatusOr<v1::TuningJob> job = calls_.Describe(caller, row.winnow_job);
  if (absl::IsNotFound(job.status())) {
    row.status = row.secondary = "Failed";
    row.ended_us = row.modified_us = NowMicros();
    row.result = json({{"reason", "The job was deleted in Winnow."}}).dump();
    return table_.Write({row});
  }
  if (!job.ok()) return job.status();
  Seen& seen = seen_[row.winnow_job];
  if (seen.sequence == job->last_sequence() && !HasEnded(job->state())) return absl::OkStatus();
  const absl::Status status =
      row.kind == SagemakerJob::kTuning ? FollowTuning(caller, *job, row) : FollowTraining(caller, *job, row);
  if (!status.ok()) return status;
  seen.sequence = job->last_sequence();
  if (HasEnded(job->state())) seen_.erase(row.winnow_job);
  return absl::OkStatus();
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

absl::Status Follower::FollowTraining(const CallerOf& caller, const v1::TuningJob& job, SagemakerJob row) {
  const absl::StatusOr<std::vector<v1::Trial>> trials = calls_.Trials(caller, job.id());
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
    } else if (row.status == "Stopped" && job.state() == v1::TuningJob::COMPLETED) {
      row.secondary = "MaxRuntimeExceeded";
    }
    if (row.status != "Failed" && !trials->empty()) {
      row.trial = 1;
      const std::string output = json::parse(row.request)["OutputDataConfig"]["S3OutputPath"];
      if (absl::Status status = PutModel(caller, job, row, output); !status.ok()) return status;
      row.trial = 0;
      row.ended_us = row.modified_us = std::max(row.ended_us, NowMicros());
    }
  } else {
    row.status = stopping ? "Stopping" : "InProgress";
    row.secondary = stopping ? "Stopping" : row.started_us == 0 ? "Starting" : "Training";
    row.ended_us = 0;
  }
  return table_.Write({row});
}

absl::Status Follower::FollowTuning(const CallerOf& caller, const v1::TuningJob& job, SagemakerJob row) {
  const absl::StatusOr<std::vector<v1::Trial>> trials = calls_.Trials(caller, job.id());
  if (!trials.ok()) return trials.status();
  Seen& seen = seen_[job.id()];
  std::vector<SagemakerJob> changed;
  std::map<int64_t, std::string> states;  // are seen once they are written
  for (const v1::Trial& trial : *trials) {
    std::string state = trial.SerializeAsString();
    if (const auto known = seen.trials.find(trial.number());
        known != seen.trials.end() && known->second == state)
      continue;
    SagemakerJob child;
    child.account = row.account;
    child.name = TrainingJobName(row.name, trial.number());
    child.parent = row.name;
    child.trial = trial.number();
    child.region = row.region;
    child.key_id = row.key_id;
    child.winnow_job = row.winnow_job;
    child.status = "InProgress";
    child.created_us = UsOf(trial.create_time());
    if (absl::Status status = Fill(caller, trial, child); !status.ok()) return status;
    changed.push_back(std::move(child));
    states[trial.number()] = std::move(state);
  }
  json result = json::object();
  if (job.has_best()) {
    result["best"] = TrainingJobName(row.name, job.best().trial());
    if (HasEnded(job.state())) {
      SagemakerJob best = row;
      best.name = result["best"];
      best.trial = job.best().trial();
      const std::string output =
          DefinitionOf(json::parse(row.request))["OutputDataConfig"]["S3OutputPath"].get<std::string>();
      if (absl::Status status = PutModel(caller, job, best, output); !status.ok()) return status;
    }
  }
  if (HasEnded(job.state())) {
    row.status = job.state() == v1::TuningJob::FAILED    ? "Failed"
                 : job.state() == v1::TuningJob::STOPPED ? "Stopped"
                                                         : "Completed";
    row.ended_us = std::max(UsOf(job.end_time()), row.created_us);
    if (row.status == "Failed") result["reason"] = Bounded(job.state_reason());
  }
  row.modified_us = HasEnded(job.state()) ? row.ended_us : NowMicros();
  row.result = result.dump();
  changed.push_back(std::move(row));
  if (absl::Status status = table_.Write(changed); !status.ok()) return status;
  for (auto& [number, state] : states) seen.trials[number] = std::move(state);
  return absl::OkStatus();
}

absl::Status Follower::PutModel(const CallerOf& caller, const v1::TuningJob& job, const SagemakerJob& row,
                                const std::string& output_path) {
  std::string bucket, key;
  if (!SplitS3Uri(ModelUri(output_path, row.name), bucket, key)) return absl::OkStatus();
  const absl::StatusOr<v1::Artifact> model = calls_.Model(caller, row.winnow_job, row.trial);
  if (absl::IsUnavailable(model.status())) return model.status();
  if (!model.ok()) {
    spdlog::warn("SageMaker: {} has no model: {}", row.name, MessageOf(model.status()));
    return absl::OkStatus();
  }
  const std::filesystem::path file = objects_.DraftPath();
  absl::Status status = WriteModelArchive(
      model->manifest(), file,
      // As XGBoost's image names it.
      [builtin = !job.spec().trainer().builtin().empty()](const std::string& path) {
        return builtin && path == "model.json" ? std::string("xgboost-model") : path;
      },
      [&](const std::string& digest, const auto& receive) { return calls_.Blob(caller, digest, receive); });
  if (!status.ok()) return status;
  ObjectHead head;
  head.key = key;
  head.headers = {{"content-type", "application/x-tar"}};
  absl::StatusOr<ObjectStore::Draft> draft = objects_.Take(file);
  if (!draft.ok()) return draft.status();
  head.etag = RandomHex(16) + "-1";  // as of an upload in parts: it is no digest of the content
  status = objects_.Put(row.account, bucket, std::move(head), *std::move(draft));
  if (!status.ok())
    spdlog::warn("SageMaker: the model of {} cannot be put into the bucket {}: {}", row.name, bucket,
                 MessageOf(status));
  return absl::OkStatus();
}

}  // namespace winnow

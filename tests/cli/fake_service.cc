#include "tests/cli/fake_service.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace winnow {
namespace {

grpc::Status NoJob(const std::string& id) {
  return grpc::Status(grpc::StatusCode::NOT_FOUND, "no job \"" + id + "\"");
}

}  // namespace

FakeService::FakeService() { Start(); }

FakeService::~FakeService() { Stop(); }

void FakeService::Start() {
  {
    const std::lock_guard lock(mutex);
    stopping_ = false;
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port_), grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(static_cast<v1::TuningService::Service*>(this));
  builder.RegisterService(static_cast<v1::InsightService::Service*>(this));
  builder.RegisterService(static_cast<v1::ArtifactService::Service*>(this));
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) throw std::runtime_error("cannot listen");
}

void FakeService::Stop() {
  if (server_ == nullptr) return;
  {
    const std::lock_guard lock(mutex);
    stopping_ = true;
  }
  changed_.notify_all();
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

void FakeService::PutEvent(v1::TuningJobEvent event) {
  {
    const std::lock_guard lock(mutex);
    events_.push_back(std::move(event));
  }
  changed_.notify_all();
}

void FakeService::AwaitWatches(int count) {
  std::unique_lock lock(mutex);
  const auto opened = [&] { return static_cast<int>(watched_after.size()) >= count; };
  if (!changed_.wait_for(lock, std::chrono::minutes(1), opened)) throw std::runtime_error("nobody watches");
}

grpc::Status FakeService::QueryTrials(Context*, const v1::QueryTrialsRequest* request,
                                      v1::QueryTrialsResponse* answer) {
  const std::lock_guard lock(mutex);
  table_asked = *request;
  *answer = table;
  return grpc::Status::OK;
}

grpc::Status FakeService::Compare(Context*, const v1::CompareRequest* request, v1::Comparison* answer) {
  const std::lock_guard lock(mutex);
  compare_asked = *request;
  *answer = comparison;
  return comparison_refusal;
}

grpc::Status FakeService::GetArtifact(Context*, const v1::GetArtifactRequest* request, v1::Artifact* answer) {
  const std::lock_guard lock(mutex);
  *answer = artifact;
  answer->set_job_id(request->job_id());
  answer->set_trial(request->trial());
  return grpc::Status::OK;
}

v1::TuningJob* FakeService::Find(const std::string& id) {
  const auto found = std::find_if(jobs.begin(), jobs.end(), [&](const auto& job) { return job.id() == id; });
  return found == jobs.end() ? nullptr : &*found;
}

grpc::Status FakeService::CreateTuningJob(Context*, const v1::CreateTuningJobRequest* request,
                                          v1::TuningJob* job) {
  const std::lock_guard lock(mutex);
  created = *request;
  if (!refusal.ok()) return refusal;
  if (jobs.empty()) return grpc::Status(grpc::StatusCode::INTERNAL, "the test has no job to answer with");
  *job = jobs.front();
  return grpc::Status::OK;
}

grpc::Status FakeService::DescribeTuningJob(Context*, const v1::DescribeTuningJobRequest* request,
                                            v1::TuningJob* job) {
  const std::lock_guard lock(mutex);
  if (stopping_) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is stopping");
  const v1::TuningJob* found = Find(request->id());
  if (found == nullptr) return NoJob(request->id());
  *job = *found;
  return grpc::Status::OK;
}

grpc::Status FakeService::ListTuningJobs(Context*, const v1::ListTuningJobsRequest* request,
                                         v1::ListTuningJobsResponse* response) {
  const std::lock_guard lock(mutex);
  jobs_asked = *request;
  size_t at = request->page_token().empty() ? 0 : std::stoul(request->page_token());
  for (; at < jobs.size() && response->jobs_size() < request->page_size(); ++at)
    *response->add_jobs() = jobs[at];
  if (at < jobs.size()) response->set_next_page_token(std::to_string(at));
  return grpc::Status::OK;
}

grpc::Status FakeService::Annotate(Context*, const v1::AnnotateRequest* request,
                                   v1::AnnotateResponse* response) {
  const std::lock_guard lock(mutex);
  annotated = *request;
  *response->mutable_annotation()->mutable_tags() = request->tags();
  response->mutable_annotation()->set_note(request->note());
  return grpc::Status::OK;
}

grpc::Status FakeService::StopTuningJob(Context*, const v1::StopTuningJobRequest* request,
                                        v1::TuningJob* job) {
  const std::lock_guard lock(mutex);
  v1::TuningJob* found = Find(request->id());
  if (found == nullptr) return NoJob(request->id());
  if (found->state() == v1::TuningJob::RUNNING) found->set_state(v1::TuningJob::STOPPING);
  *job = *found;
  return grpc::Status::OK;
}

grpc::Status FakeService::ChangeTuningJob(Context*, const v1::ChangeTuningJobRequest* request,
                                          v1::TuningJob* job) {
  const std::lock_guard lock(mutex);
  v1::TuningJob* found = Find(request->id());
  if (found == nullptr) return NoJob(request->id());
  changed = *request;
  *job = *found;
  job->add_changes()->set_text(request->reason());
  return grpc::Status::OK;
}

grpc::Status FakeService::DeleteTuningJob(Context*, const v1::DeleteTuningJobRequest* request,
                                          v1::DeleteTuningJobResponse*) {
  const std::lock_guard lock(mutex);
  const v1::TuningJob* found = Find(request->id());
  if (found == nullptr) return NoJob(request->id());
  if (found->state() == v1::TuningJob::RUNNING) {
    return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                        "job \"" + request->id() + "\" is running; stop it first");
  }
  jobs.erase(jobs.begin() + (found - jobs.data()));
  return grpc::Status::OK;
}

grpc::Status FakeService::ListTrials(Context*, const v1::ListTrialsRequest* request,
                                     v1::ListTrialsResponse* response) {
  const std::lock_guard lock(mutex);
  trials_asked = *request;
  if (Find(request->job_id()) == nullptr) return NoJob(request->job_id());
  size_t at = request->page_token().empty() ? 0 : std::stoul(request->page_token());
  for (; at < trials.size() && response->trials_size() < request->page_size(); ++at) {
    *response->add_trials() = trials[at];
  }
  if (at < trials.size()) response->set_next_page_token(std::to_string(at));
  response->set_total_size(static_cast<int64_t>(trials.size()));
  return grpc::Status::OK;
}

grpc::Status FakeService::DescribeTrial(Context*, const v1::DescribeTrialRequest* request,
                                        v1::DescribeTrialResponse* response) {
  const std::lock_guard lock(mutex);
  if (Find(request->job_id()) == nullptr) return NoJob(request->job_id());
  for (const auto& trial : trials) {
    if (trial.number() != request->trial()) continue;
    *response = trial_details;
    *response->mutable_trial() = trial;
    return grpc::Status::OK;
  }
  return grpc::Status(grpc::StatusCode::NOT_FOUND,
                      "job \"" + request->job_id() + "\" has no trial " + std::to_string(request->trial()));
}

grpc::Status FakeService::QueryMetrics(Context*, const v1::QueryMetricsRequest* request,
                                       v1::QueryMetricsResponse* response) {
  const std::lock_guard lock(mutex);
  metrics_asked = *request;
  if (Find(request->job_id()) == nullptr) return NoJob(request->job_id());
  *response = metrics;
  return grpc::Status::OK;
}

grpc::Status FakeService::GetAnalytics(Context*, const v1::GetAnalyticsRequest* request,
                                       v1::GetAnalyticsResponse* response) {
  const std::lock_guard lock(mutex);
  const v1::TuningJob* found = Find(request->job_id());
  if (found == nullptr) return NoJob(request->job_id());
  size_t at = request->page_token().empty() ? 0 : std::stoul(request->page_token());
  if (at == 0) *response->mutable_job() = *found;
  const int most = std::min(request->page_size(), analytics_page);
  for (; at < trials.size() && response->trials_size() < most; ++at) *response->add_trials() = trials[at];
  if (at < trials.size()) response->set_next_page_token(std::to_string(at));
  return grpc::Status::OK;
}

grpc::Status FakeService::GetParetoFront(Context*, const v1::GetParetoFrontRequest* request,
                                         v1::ParetoFront* response) {
  const std::lock_guard lock(mutex);
  if (Find(request->job_id()) == nullptr) return NoJob(request->job_id());
  *response = front;
  return grpc::Status::OK;
}

grpc::Status FakeService::WatchTuningJob(Context*, const v1::WatchTuningJobRequest* request,
                                         Writer<v1::TuningJobEvent>* writer) {
  std::unique_lock lock(mutex);
  if (stopping_) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is stopping");
  if (Find(request->id()) == nullptr) return NoJob(request->id());
  watched_after.push_back(request->after_sequence());
  changed_.notify_all();
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !events_.empty(); });
    if (stopping_) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is stopping");
    const v1::TuningJobEvent event = std::move(events_.front());
    events_.pop_front();
    const bool ended = event.has_job() && event.job().state() >= v1::TuningJob::COMPLETED;
    if (event.has_job()) *Find(request->id()) = event.job();
    lock.unlock();
    writer->Write(event);
    lock.lock();
    if (ended) return grpc::Status::OK;
  }
}

grpc::Status FakeService::ListWorkers(Context*, const v1::ListWorkersRequest* request,
                                      v1::ListWorkersResponse* response) {
  const std::lock_guard lock(mutex);
  for (const auto& worker : workers.workers()) {
    if (request->include_gone() || worker.state() == v1::Worker::LIVE) *response->add_workers() = worker;
  }
  return grpc::Status::OK;
}

grpc::Status FakeService::GetLogs(Context*, const v1::GetLogsRequest* request,
                                  v1::GetLogsResponse* response) {
  const std::lock_guard lock(mutex);
  if (stopping_) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is stopping");
  logs_asked = *request;
  if (Find(request->job_id()) == nullptr) return NoJob(request->job_id());
  const auto offset = static_cast<size_t>(request->offset());
  const size_t chunk = std::min(log_chunk, static_cast<size_t>(request->limit()));
  const std::string& text = request->stream() == v1::GetLogsRequest::STDERR && error_log ? *error_log : log;
  response->set_data(text.substr(std::min(offset, text.size()), chunk));
  response->set_next_offset(static_cast<int64_t>(offset + response->data().size()));
  response->set_ended(!log_grows && offset + response->data().size() >= text.size());
  response->set_attempt(2);
  response->set_truncated(log_is_long && !response->ended());
  return grpc::Status::OK;
}

grpc::Status FakeService::ReplayTuningJob(Context*, const v1::ReplayTuningJobRequest* request,
                                          v1::ReplayTuningJobResponse* response) {
  const std::lock_guard lock(mutex);
  if (Find(request->id()) == nullptr) return NoJob(request->id());
  *response = replay;
  return grpc::Status::OK;
}

grpc::Status FakeService::SuggestTrials(Context*, const v1::SuggestTrialsRequest* request,
                                        v1::SuggestTrialsResponse* response) {
  const std::lock_guard lock(mutex);
  suggest_asked = *request;
  if (Find(request->job_id()) == nullptr) return NoJob(request->job_id());
  *response = suggestion;
  return grpc::Status::OK;
}

grpc::Status FakeService::ReportMetrics(Context*, const v1::ReportMetricsRequest* request,
                                        v1::ReportMetricsResponse* response) {
  const std::lock_guard lock(mutex);
  reported = *request;
  if (Find(request->job_id()) == nullptr) return NoJob(request->job_id());
  *response = report_answer;
  return grpc::Status::OK;
}

grpc::Status FakeService::CompleteTrial(Context*, const v1::CompleteTrialRequest* request,
                                        v1::CompleteTrialResponse* response) {
  const std::lock_guard lock(mutex);
  completed = *request;
  if (Find(request->job_id()) == nullptr) return NoJob(request->job_id());
  for (const auto& trial : trials) {
    if (trial.number() == request->trial()) *response->mutable_trial() = trial;
  }
  return grpc::Status::OK;
}

}  // namespace winnow

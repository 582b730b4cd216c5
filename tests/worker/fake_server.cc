#include "tests/worker/fake_server.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <cstdlib>

namespace winnow {

using v1::RunningAssignment;

FakeServer::FakeServer(int port, const std::vector<v1::Assignment>& wanted) {
  for (const v1::Assignment& assignment : wanted) wanted_[assignment.id()] = assignment;
  if (port == kNoNetwork) return;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) std::abort();
}

FakeServer::~FakeServer() {
  Close();
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
}

void FakeServer::Close() {
  std::lock_guard lock(mutex_);
  closing_ = true;
  changed_.notify_all();
}

void FakeServer::Assign(const v1::Assignment& assignment) {
  std::lock_guard lock(mutex_);
  wanted_[assignment.id()] = assignment;
  changed_.notify_all();
}

void FakeServer::Withdraw(const std::string& id) {
  std::lock_guard lock(mutex_);
  wanted_.erase(id);
  changed_.notify_all();
}

void FakeServer::Fail(int count, grpc::Status status, bool commits) {
  std::lock_guard lock(mutex_);
  fail_count_ = count;
  fail_status_ = std::move(status);
  fail_commits_ = commits;
}

void FakeServer::GiveUp() {
  std::lock_guard lock(mutex_);
  refused_ids_ = seen_ids_;
  wanted_.clear();
}

bool FakeServer::Await(const std::function<bool(const Told&)>& condition) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return condition(told_); });
}

bool FakeServer::AwaitEnd(const std::string& id) {
  return Await(
      [&id](const Told& told) { return told.assignments.contains(id) && told.assignments.at(id).ended; });
}

FakeServer::Told FakeServer::told() {
  std::lock_guard lock(mutex_);
  return told_;
}

FakeServer::Known FakeServer::known(const std::string& id) { return told().assignments[id]; }

void FakeServer::Record(const v1::SyncRequest& request) {
  for (const v1::Report& report : request.reports()) {
    Known& known = told_.assignments[report.assignment_id()];
    ++known.reports_received;
    for (const v1::MetricValue& metric : report.metrics()) {
      known.values.emplace(std::pair(report.resource(), metric.name()), metric.value());
    }
  }
  for (const v1::LogChunk& chunk : request.logs()) {
    Known& known = told_.assignments[chunk.assignment_id()];
    std::string& log = known.logs[chunk.stream()];
    if (chunk.offset() == static_cast<int64_t>(log.size())) log += chunk.data();
    if (chunk.truncated()) known.truncated[chunk.stream()] = true;
  }
  for (const RunningAssignment& running : request.running()) {
    Known& known = told_.assignments[running.assignment_id()];
    if (running.state() != RunningAssignment::ENDED || known.ended) continue;
    known.ended = true;
    known.outcome = running.outcome();
    known.values_at_end = known.values.size();
    wanted_.erase(running.assignment_id());
  }
  if (request.leaving() && request.running().empty()) told_.left = true;
}

bool FakeServer::Differs(const v1::SyncRequest& request) const {
  std::set<std::string> said, wanted;
  for (const RunningAssignment& running : request.running()) {
    if (running.state() != RunningAssignment::STOPPING) said.insert(running.assignment_id());
    const auto told = wanted_.find(running.assignment_id());
    const bool may_start = told != wanted_.end() && !told->second.await_start();
    if (running.state() == RunningAssignment::PREPARED && may_start) return true;
  }
  for (const auto& [id, assignment] : wanted_) wanted.insert(id);
  return said != wanted;
}

grpc::Status FakeServer::Sync(grpc::ServerContext*, const v1::SyncRequest* request,
                              v1::SyncResponse* response) {
  std::unique_lock lock(mutex_);
  const uint64_t number = ++newest_;
  told_.requests.push_back(*request);
  seen_ids_.insert(request->worker_id());
  if (refused_ids_.contains(request->worker_id())) {
    changed_.notify_all();
    return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "this worker was presumed lost");
  }
  const bool fails = fail_count_ > 0;
  if (!fails || fail_commits_) Record(*request);
  changed_.notify_all();
  if (fails) {
    --fail_count_;
    return fail_status_;
  }
  const auto hold =
      std::chrono::seconds(request->hold().seconds()) + std::chrono::nanoseconds(request->hold().nanos());
  changed_.wait_for(lock, hold, [&] { return closing_ || number != newest_ || Differs(*request); });
  for (const auto& [id, assignment] : wanted_) *response->add_assignments() = assignment;
  return grpc::Status::OK;
}

v1::Assignment MakeAssignment(const std::string& id, const std::vector<std::string>& command) {
  v1::Assignment assignment;
  assignment.set_id(id);
  assignment.set_job_id("job");
  assignment.set_trial(1);
  assignment.set_attempt(1);
  assignment.set_world_size(1);
  for (const std::string& part : command) assignment.add_command(part);
  assignment.set_working_directory("/tmp");
  assignment.set_resumes(true);
  assignment.mutable_grace_period()->set_seconds(5);
  v1::MetricDefinition* metric = assignment.add_metrics();
  metric->set_name("loss");
  metric->set_regex("loss=([-+0-9.a-z]+)");
  assignment.set_objective_metric("loss");
  return assignment;
}

}  // namespace winnow

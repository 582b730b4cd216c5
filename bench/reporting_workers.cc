#include "bench/reporting_workers.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdlib>

namespace winnow {
namespace {

constexpr int kTries = 200;

}  // namespace

ReportingWorkers::ReportingWorkers(int count,
                                   const std::function<std::shared_ptr<grpc::Channel>(int)>& connect)
    : workers_(static_cast<size_t>(count)) {
  for (int i = 0; i < count; ++i) {
    Worker& worker = workers_[static_cast<size_t>(i)];
    worker.id = fmt::format("{:032x}", i + 1);
    worker.stub = v1::WorkerService::NewStub(connect(i));
  }
}

void ReportingWorkers::Prepare(Worker& worker, int reports) {
  v1::SyncRequest& request = worker.request;
  request.Clear();
  request.set_worker_id(worker.id);
  request.set_name("w-" + worker.id);
  request.set_host("127.0.0.1");
  request.set_slots(1);
  request.set_storage_id("bench");
  if (!worker.assignment.empty()) {
    auto* running = request.add_running();
    running->set_assignment_id(worker.assignment);
    running->set_state(v1::RunningAssignment::RUNNING);
  }
  for (int i = 0; i < reports; ++i) {
    auto* report = request.add_reports();
    report->set_assignment_id(worker.assignment);
    report->set_resource(++worker.resource);
    auto* metric = report->add_metrics();
    metric->set_name("loss");
    metric->set_value(1.0 / static_cast<double>(worker.resource));
  }
  worker.context = std::make_unique<grpc::ClientContext>();
  worker.context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
}

void ReportingWorkers::Join() {
  for (Worker& worker : workers_) {
    for (int tries = 0; worker.assignment.empty(); ++tries) {
      Prepare(worker, 0);
      const grpc::Status status = worker.stub->Sync(worker.context.get(), worker.request, &worker.response);
      if (!status.ok() || tries == kTries) {
        fmt::print(stderr, "a worker was given no assignment: {}\n", status.error_message());
        std::exit(1);
      }
      if (worker.response.assignments_size() > 0) worker.assignment = worker.response.assignments(0).id();
    }
  }
}

void ReportingWorkers::Sync(int i, int reports, std::function<void(bool)> done) {
  Worker& worker = workers_[static_cast<size_t>(i)];
  Prepare(worker, reports);
  worker.stub->async()->Sync(worker.context.get(), &worker.request, &worker.response,
                             [done = std::move(done)](const grpc::Status& status) { done(status.ok()); });
}

int64_t ReportingWorkers::reported() const {
  int64_t sum = 0;
  for (const Worker& worker : workers_) sum += worker.resource;
  return sum;
}

}  // namespace winnow

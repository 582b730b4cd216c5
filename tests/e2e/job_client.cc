#include "tests/e2e/job_client.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <random>
#include <stdexcept>

namespace winnow {
namespace {

constexpr auto kDeadline = std::chrono::seconds(30);
constexpr auto kJobDeadline = std::chrono::seconds(300);

void Check(const grpc::Status& status, const std::string& what) {
  if (!status.ok()) throw std::runtime_error(what + ": " + status.error_message());
}

void Arm(grpc::ClientContext& context, std::chrono::seconds deadline) {
  context.set_deadline(std::chrono::system_clock::now() + deadline);
  context.set_wait_for_ready(true);
}

}  // namespace

std::string JobClient::Create(const v1::TuningJobSpec& spec) {
  grpc::ClientContext context;
  Arm(context, kDeadline);
  v1::CreateTuningJobRequest request;
  *request.mutable_spec() = spec;
  v1::TuningJob job;
  Check(stub_->CreateTuningJob(&context, request, &job), "CreateTuningJob");
  return job.id();
}

v1::TuningJob JobClient::Describe(const std::string& id) {
  grpc::ClientContext context;
  Arm(context, kDeadline);
  v1::DescribeTuningJobRequest request;
  request.set_id(id);
  v1::TuningJob job;
  Check(stub_->DescribeTuningJob(&context, request, &job), "DescribeTuningJob");
  return job;
}

v1::TuningJob JobClient::WatchToEnd(const std::string& id,
                                    const std::function<void(const v1::TuningJobEvent&)>& on_event) {
  const auto end = std::chrono::steady_clock::now() + kJobDeadline;
  int64_t seen = 0;
  while (std::chrono::steady_clock::now() < end) {
    grpc::ClientContext context;
    Arm(context, kJobDeadline);
    v1::WatchTuningJobRequest request;
    request.set_id(id);
    request.set_after_sequence(seen);
    auto stream = stub_->WatchTuningJob(&context, request);
    v1::TuningJobEvent event;
    while (stream->Read(&event)) {
      if (event.sequence() <= seen)
        throw std::runtime_error(fmt::format("event {} came twice", event.sequence()));
      seen = event.sequence();
      on_event(event);
    }
    grpc::Status status = stream->Finish();
    if (status.ok()) return Describe(id);
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) Check(status, "WatchTuningJob");
  }
  throw std::runtime_error("the job did not end in time");
}

JobRecord JobClient::Record(const std::string& id, const std::string& metric) {
  JobRecord record;
  v1::TuningJob job = Describe(id);
  record.best_trial = job.best().trial();
  record.best_objective = job.best().objective();

  grpc::ClientContext list_context;
  Arm(list_context, kDeadline);
  v1::ListTrialsRequest list;
  list.set_job_id(id);
  list.set_page_size(10000);
  v1::ListTrialsResponse trials;
  Check(stub_->ListTrials(&list_context, list, &trials), "ListTrials");
  for (const auto& trial : trials.trials()) {
    auto& entry = record.trials[trial.number()];
    for (const auto& value : trial.hyperparameters()) entry.configuration += value.ShortDebugString() + "; ";
    entry.state = v1::Trial::State_Name(trial.state());
  }

  v1::QueryMetricsRequest query;
  query.set_job_id(id);
  query.add_metrics(metric);
  query.set_page_size(100000);
  do {
    grpc::ClientContext context;
    Arm(context, kDeadline);
    v1::QueryMetricsResponse points;
    Check(stub_->QueryMetrics(&context, query, &points), "QueryMetrics");
    for (const auto& point : points.points()) {
      auto [it, fresh] = record.trials[point.trial()].curve.emplace(point.resource(), point.value());
      if (!fresh)
        record.duplicates.push_back(fmt::format("trial {} level {}", point.trial(), point.resource()));
    }
    query.set_page_token(points.next_page_token());
  } while (!query.page_token().empty());
  return record;
}

v1::TuningJobSpec SpecFromJson(const std::string& json) {
  v1::TuningJobSpec spec;
  auto status = google::protobuf::util::JsonStringToMessage(json, &spec);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  return spec;
}

void WriteClassificationTable(const std::string& path, int rows, uint64_t seed) {
  constexpr int kColumns = 12;
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::ofstream out(path);
  out << "y";
  for (int c = 0; c < kColumns; ++c) out << ",x" << c;
  out << "\n";
  for (int r = 0; r < rows; ++r) {
    double x[kColumns];
    for (double& v : x) v = normal(generator);
    double score = x[0] * x[1] + std::sin(2 * x[2]) + 0.5 * x[3] - (x[4] > 0.5) + normal(generator);
    out << (score > 0 ? 1 : 0);
    for (double v : x) out << fmt::format(",{:.4f}", v);
    out << "\n";
  }
}

}  // namespace winnow

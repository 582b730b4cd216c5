#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/sagemaker/jobs/job_table.h"
#include "server/sagemaker/jobs/winnow_calls.h"
#include "server/sagemaker/monitoring/log_events.h"
#include "server/sagemaker/monitoring/metric_statistics.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

using nlohmann::json;

// A line of output; one that begins with "e" is of standard error.
struct Written {
  int64_t attempt = 1;
  int64_t second = 0;
  std::string text;
};

// A trial with two attempts, their output, and a value a minute of "loss" and of "accuracy".
class WatchedTrial final : public v1::TuningService::Service, public v1::LogService::Service {
 public:
  grpc::Status DescribeTrial(grpc::ServerContext*, const v1::DescribeTrialRequest*,
                             v1::DescribeTrialResponse* response) override {
    response->mutable_trial()->set_attempts(2);
    return grpc::Status::OK;
  }
  grpc::Status GetLogs(grpc::ServerContext*, const v1::GetLogsRequest* request,
                       v1::GetLogsResponse* response) override {
    std::string text;
    for (const Written& each : OfStream(request->attempt(), request->stream())) text += each.text + "\n";
    response->set_data(text.substr(static_cast<size_t>(request->offset())));
    response->set_ended(request->attempt() == 1);
    return grpc::Status::OK;
  }
  grpc::Status GetLogTimes(grpc::ServerContext*, const v1::GetLogTimesRequest* request,
                           v1::GetLogTimesResponse* response) override {
    int64_t offset = 0;
    for (const Written& each : OfStream(request->attempt(), request->stream())) {
      v1::GetLogTimesResponse::Part& part = *response->add_parts();
      part.set_offset(offset);
      part.mutable_receive_time()->set_seconds(each.second);
      offset += static_cast<int64_t>(each.text.size()) + 1;
    }
    return grpc::Status::OK;
  }
  grpc::Status QueryMetrics(grpc::ServerContext*, const v1::QueryMetricsRequest* request,
                            v1::QueryMetricsResponse* response) override {
    MutexLock lock(mutex_);
    ++queries_;
    for (const char* metric : {"accuracy", "loss"}) {
      for (int64_t minute = 0; minute < 10; ++minute) {
        if (request->metrics_size() > 0 && request->metrics(0) != metric) continue;
        v1::MetricPoint& point = *response->add_points();
        point.set_metric(metric);
        point.set_value(static_cast<double>(minute));
        point.mutable_time()->set_seconds(60 * minute);
      }
    }
    return grpc::Status::OK;
  }

  void Write(Written written) {
    MutexLock lock(mutex_);
    lines_.push_back(std::move(written));
  }
  int queries() {
    MutexLock lock(mutex_);
    return queries_;
  }

 private:
  std::vector<Written> OfStream(int64_t attempt, v1::GetLogsRequest::Stream stream) {
    MutexLock lock(mutex_);
    std::vector<Written> found;
    for (const Written& each : lines_) {
      const bool error = each.text.starts_with('e');
      if (each.attempt == attempt && error == (stream == v1::GetLogsRequest::STDERR)) found.push_back(each);
    }
    return found;
  }

  Mutex mutex_;
  std::vector<Written> lines_ ABSL_GUARDED_BY(mutex_);
  int queries_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The training job "job" of the trial.
struct Watched {
  Watched() {
    SagemakerJob row;
    row.account = "1";
    row.name = "job";
    row.winnow_job = "id";
    row.status = "InProgress";
    row.started_us = 1;
    REQUIRE(table->Write({row}).ok());
  }

  // Lines as a page of GetLogEvents has them: "1 2 ".
  std::string Events(json request, json* answer = nullptr) {
    request["logGroupName"] = "/aws/sagemaker/TrainingJobs";
    request["logStreamName"] = "job/algo-1";
    const auto got = logs.Call("GetLogEvents", request, "1", {"ipv4:127.0.0.1:0", ""});
    INFO(got.status().ToString());
    REQUIRE(got.ok());
    if (answer != nullptr) *answer = *got;
    std::string lines;
    for (const json& event : (*got)["events"]) lines += event["message"].get<std::string>() + " ";
    return lines;
  }

  TempFolder folder;
  WatchedTrial trial;
  std::unique_ptr<grpc::Server> server = [this] {
    grpc::ServerBuilder builder;
    builder.RegisterService(static_cast<v1::TuningService::Service*>(&trial));
    builder.RegisterService(static_cast<v1::LogService::Service*>(&trial));
    return builder.BuildAndStart();
  }();
  std::unique_ptr<SagemakerJobs> table = *SagemakerJobs::Open(folder / "jobs.db");
  WinnowCalls calls{server->InProcessChannel({}), "relay"};
  LogEvents logs{*table, calls};
  MetricStatistics metrics{*table, calls};
};

TEST_CASE("GetLogEvents begins with the newest lines, unless it is to start from the head") {
  Watched watched;
  for (const Written& each :
       std::vector<Written>{{1, 10, "o1"}, {1, 20, "e2"}, {1, 30, "o3"}, {2, 40, "o4"}, {2, 50, "e5"}})
    watched.trial.Write(each);
  json newest;
  CHECK(watched.Events({{"limit", 2}}, &newest) == "o4 e5 ");
  json before;
  CHECK(watched.Events({{"limit", 2}, {"nextToken", newest["nextBackwardToken"]}}, &before) == "e2 o3 ");
  json first;
  CHECK(watched.Events({{"limit", 2}, {"nextToken", before["nextBackwardToken"]}}, &first) == "o1 ");
  json none;
  CHECK(watched.Events({{"nextToken", first["nextBackwardToken"]}}, &none).empty());
  CHECK(none["nextBackwardToken"] == first["nextBackwardToken"]);  // by which clients see the end
  CHECK(watched.Events({{"limit", 2}, {"nextToken", first["nextForwardToken"]}}) == "e2 o3 ");
  CHECK(watched.Events({{"limit", 9}, {"endTime", 40'000}}) == "o1 e2 o3 ");
  CHECK(watched.Events({{"limit", 9}, {"startTime", 20'000}, {"endTime", 50'000}}) == "e2 o3 o4 ");
  // As the SageMaker SDK follows a job.
  json head;
  CHECK(watched.Events({{"limit", 4}, {"startFromHead", true}}, &head) == "o1 e2 o3 o4 ");
  CHECK(watched.Events({{"startFromHead", true}, {"nextToken", head["nextForwardToken"]}}, &head) == "e5 ");
  CHECK(head["nextForwardToken"] == newest["nextForwardToken"]);
  json end;
  CHECK(watched.Events({{"startFromHead", true}, {"nextToken", head["nextForwardToken"]}}, &end).empty());
  CHECK(end["nextForwardToken"] == head["nextForwardToken"]);
  watched.trial.Write({2, 60, "o6"});
  CHECK(watched.Events({{"nextToken", newest["nextForwardToken"]}}) == "o6 ");
}

TEST_CASE("GetMetricData reads the values of a metric once, and none beyond its page") {
  Watched watched;
  const auto ask = [&](const std::vector<std::string>& names, int most) {
    json request = {{"StartTime", 0}, {"EndTime", 600}, {"MaxDatapoints", most}};
    for (const std::string& name : names) {
      const json metric = {{"Namespace", "/aws/sagemaker/TrainingJobs"},
                           {"MetricName", name},
                           {"Dimensions", json::array({{{"Name", "TrainingJobName"}, {"Value", "job"}}})}};
      request["MetricDataQueries"].push_back(
          {{"Id", "q" + std::to_string(request["MetricDataQueries"].size())},
           {"MetricStat", {{"Metric", metric}, {"Period", 60}, {"Stat", "Sum"}}}});
    }
    const auto got = watched.metrics.Call("GetMetricData", request, "1", {"ipv4:127.0.0.1:0", ""});
    INFO(got.status().ToString());
    REQUIRE(got.ok());
    return *got;
  };
  const json all = ask(std::vector<std::string>(100, "loss"), 10'000);
  CHECK(watched.trial.queries() == 1);
  CHECK(all["MetricDataResults"].size() == 100);
  CHECK_FALSE(all.contains("NextToken"));
  for (const json& result : all["MetricDataResults"]) {
    CHECK(result["Values"] == json({9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0}));
    CHECK(result["StatusCode"] == "Complete");
  }
  const json page = ask({"loss", "accuracy"}, 5);
  CHECK(watched.trial.queries() == 2);  // of the first one alone
  CHECK(page["NextToken"] == "5");
  CHECK(page["MetricDataResults"][0]["Values"].size() == 5);
  CHECK(page["MetricDataResults"][1]["Values"].empty());
  CHECK(page["MetricDataResults"][1]["StatusCode"] == "PartialData");
}

}  // namespace
}  // namespace winnow

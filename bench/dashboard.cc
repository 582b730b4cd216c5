// The cost of the calls of a job's page, for a job of 100,000 trials with 30 reports each: the time of each
// call (the first after the server's start, then the median of 20) and the bytes of its answer as JSON, plain
// and as gzip. For comparison, on the same database: everything as JSON, which a page without aggregates has
// to fetch: our own ListTrials and QueryMetrics, and the trials as Optuna Dashboard sends them (see
// OptunaTrials).
//
//   build/bin/bench-dashboard [--trials 100000] [--reports 30]
//   build/bin/bench-dashboard --make FILE [--trials N] [--reports R]     only makes the database

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>
#include <grpcpp/grpcpp.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/big_job.h"
#include "bench/no_op_job.h"
#include "tests/support/server_process.h"
#include "winnow/v1/insight.grpc.pb.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr int kRuns = 20;
constexpr int kTrialsPage = 10'000;
constexpr int kMetricsPage = 100'000;

double Since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

[[noreturn]] void Fail(const std::string& why) {
  fmt::print(stderr, "bench-dashboard: {}\n", why);
  std::exit(1);
}

size_t GzipBytes(const std::string& text) {
  z_stream stream{};
  constexpr int kGzip = 16 + MAX_WBITS;
  constexpr int kMemory = 8;  // zlib's default
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    std::abort();
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  const size_t bytes = stream.total_out;
  deflateEnd(&stream);
  return bytes;
}

// Writes messages as the server's HTTP side does.
std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok()) Fail("no JSON");
  return json;
}

// A server just started on a database with the job.
class Server {
 public:
  Server(int64_t trials, int64_t reports)
      : process_(ServerBinary(), {"--local-workers", "0", "--rate-limit", "0", "--log-level", "error"}) {
    process_.Stop();
    fs::remove(process_.database());
    job_ = MakeBigJob(process_.database(), "big", trials, reports);
    process_.Restart();
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    channel_ = grpc::CreateCustomChannel(process_.address(), grpc::InsecureChannelCredentials(), arguments);
    if (!channel_->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10)))
      Fail("no connection");
  }
  const BigJob& job() const { return job_; }
  double mebibytes() const { return static_cast<double>(fs::file_size(process_.database())) / (1 << 20); }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  ServerProcess process_;
  BigJob job_;
  std::shared_ptr<grpc::Channel> channel_;
};

template <typename Stub, typename Request, typename Response>
Response Call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
              const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(5));
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (!status.ok()) Fail(std::string(Request::descriptor()->name()) + ": " + status.error_message());
  return response;
}

struct Stubs {
  explicit Stubs(const Server& server) : tuning(server.channel()), insight(server.channel()) {}
  v1::TuningService::Stub tuning;
  v1::InsightService::Stub insight;
};

// One call of the page, with its answer.
struct PageCall {
  const char* name;
  std::function<std::unique_ptr<google::protobuf::Message>(Stubs&)> call;
};

template <typename Stub, typename Request, typename Response>
PageCall Of(const char* name, Stub Stubs::*stub,
            grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
            const Request& request) {
  return {name, [=](Stubs& stubs) -> std::unique_ptr<google::protobuf::Message> {
            return std::make_unique<Response>(Call(stubs.*stub, method, request));
          }};
}

// In the page's order.
std::vector<PageCall> PageCalls(const std::string& job) {
  using Tuning = v1::TuningService::Stub;
  using Insight = v1::InsightService::Stub;
  std::vector<PageCall> calls;
  v1::DescribeTuningJobRequest describe;
  describe.set_id(job);
  calls.push_back(Of("DescribeTuningJob", &Stubs::tuning, &Tuning::DescribeTuningJob, describe));
  v1::GetSieveRequest sieve;
  sieve.set_job_id(job);
  calls.push_back(Of("GetSieve", &Stubs::insight, &Insight::GetSieve, sieve));
  v1::GetProgressRequest progress;
  progress.add_job_ids(job);
  calls.push_back(Of("GetProgress", &Stubs::insight, &Insight::GetProgress, progress));
  v1::GetParallelCoordinatesRequest parallel;
  parallel.set_job_id(job);
  calls.push_back(Of("GetParallelCoordinates", &Stubs::insight, &Insight::GetParallelCoordinates, parallel));
  v1::QueryTrialsRequest table;
  table.set_job_id(job);
  table.set_order_by("objective");
  calls.push_back(Of("QueryTrials", &Stubs::insight, &Insight::QueryTrials, table));
  v1::GetLearningCurvesRequest curves;
  curves.set_job_id(job);
  calls.push_back(Of("GetLearningCurves", &Stubs::insight, &Insight::GetLearningCurves, curves));
  v1::GetImportanceRequest importance;
  importance.set_job_id(job);
  calls.push_back(Of("GetImportance", &Stubs::insight, &Insight::GetImportance, importance));
  v1::GetSliceRequest slice;
  slice.set_job_id(job);
  slice.set_parameter("learning_rate");
  calls.push_back(Of("GetSlice", &Stubs::insight, &Insight::GetSlice, slice));
  v1::GetNeighboursRequest neighbours;
  neighbours.set_job_id(job);
  neighbours.set_trial(1);
  calls.push_back(Of("trial: GetNeighbours", &Stubs::insight, &Insight::GetNeighbours, neighbours));
  v1::DescribeTrialRequest trial;
  trial.set_job_id(job);
  trial.set_trial(1);
  calls.push_back(Of("trial: DescribeTrial", &Stubs::tuning, &Tuning::DescribeTrial, trial));
  // The selection of an interaction.
  const std::string brush = "learning_rate:0.001..0.05";
  sieve.add_filters(brush);
  calls.push_back(Of("GetSieve, brushed", &Stubs::insight, &Insight::GetSieve, sieve));
  parallel.add_filters(brush);
  calls.push_back(
      Of("GetParallelCoordinates, brushed", &Stubs::insight, &Insight::GetParallelCoordinates, parallel));
  table.add_filters(brush);
  calls.push_back(Of("QueryTrials, brushed", &Stubs::insight, &Insight::QueryTrials, table));
  curves.add_filters(brush);
  calls.push_back(Of("GetLearningCurves, brushed", &Stubs::insight, &Insight::GetLearningCurves, curves));
  importance.add_filters(brush);
  calls.push_back(Of("GetImportance, brushed", &Stubs::insight, &Insight::GetImportance, importance));
  slice.add_filters(brush);
  calls.push_back(Of("GetSlice, brushed", &Stubs::insight, &Insight::GetSlice, slice));
  return calls;
}

struct Bytes {
  size_t plain = 0;
  size_t gzip = 0;
  void Add(const std::string& json) {
    plain += json.size();
    gzip += GzipBytes(json);
  }
};

void PrintRow(const std::string& name, const std::string& first, const std::string& later,
              const Bytes& bytes) {
  fmt::print("{:<34} {:>10} {:>10} {:>14} {:>14}\n", name, first, later, bytes.plain, bytes.gzip);
  std::fflush(stdout);
}

std::string Ms(double seconds) { return fmt::format("{:.1f}", seconds * 1e3); }

struct Page {
  double first = 0;
  Bytes bytes;  // without the selection, and the page of a trial
};

Page MeasurePage(Stubs& stubs, const std::string& job) {
  Page page;
  for (const PageCall& call : PageCalls(job)) {
    const auto begin = SteadyClock::now();
    const auto answer = call.call(stubs);
    const double first = Since(begin);
    std::vector<double> later;
    for (int run = 0; run < kRuns; ++run) {
      const auto again = SteadyClock::now();
      call.call(stubs);
      later.push_back(Since(again));
    }
    std::nth_element(later.begin(), later.begin() + kRuns / 2, later.end());
    Bytes bytes;
    bytes.Add(ToJson(*answer));
    PrintRow(call.name, Ms(first), Ms(later[kRuns / 2]), bytes);
    if (std::strstr(call.name, "brushed") != nullptr || std::strstr(call.name, "trial: ") != nullptr)
      continue;
    page.first += first;
    page.bytes.plain += bytes.plain;
    page.bytes.gzip += bytes.gzip;
  }
  return page;
}

struct AllTrials {
  double seconds = 0;
  Bytes bytes;
  std::vector<v1::Trial> trials;
  std::map<int64_t, std::vector<v1::MetricPoint>> points;  // by trial
};

AllTrials MeasureAllTrials(Stubs& stubs, const std::string& job) {
  AllTrials all;
  v1::ListTrialsRequest list;
  list.set_job_id(job);
  list.set_page_size(kTrialsPage);
  do {
    const auto begin = SteadyClock::now();
    const v1::ListTrialsResponse page = Call(stubs.tuning, &v1::TuningService::Stub::ListTrials, list);
    const std::string json = ToJson(page);
    all.seconds += Since(begin);
    all.bytes.Add(json);
    all.trials.insert(all.trials.end(), page.trials().begin(), page.trials().end());
    list.set_page_token(page.next_page_token());
  } while (!list.page_token().empty());
  v1::QueryMetricsRequest request;
  request.set_job_id(job);
  request.set_page_size(kMetricsPage);
  do {
    const auto page_begin = SteadyClock::now();
    const v1::QueryMetricsResponse page = Call(stubs.tuning, &v1::TuningService::Stub::QueryMetrics, request);
    const std::string json = ToJson(page);
    all.seconds += Since(page_begin);
    all.bytes.Add(json);
    for (const v1::MetricPoint& point : page.points()) all.points[point.trial()].push_back(point);
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

// Returns the trials as Optuna Dashboard's server sends them to its page (optuna_dashboard/_serializer.py,
// serialize_frozen_trial, version 0.13): trial_id, study_id, number, state, values, params (each with its
// internal and external value and type), intermediate_values (steps with values), user and system attributes,
// note and times.
Bytes OptunaTrials(const AllTrials& all, double* seconds) {
  using google::protobuf::util::TimeUtil;
  using nlohmann::json;
  const auto begin = SteadyClock::now();
  json trials = json::array();
  for (const v1::Trial& trial : all.trials) {
    json params = json::array();
    for (const v1::HyperparameterValue& value : trial.hyperparameters()) {
      const std::string text = value.has_integer()      ? std::to_string(value.integer())
                               : value.has_continuous() ? fmt::format("{}", value.continuous())
                                                        : value.categorical();
      params.push_back(
          {{"name", value.name()},
           {"param_internal_value",
            value.has_continuous() ? value.continuous() : static_cast<double>(value.integer())},
           {"param_external_value", text},
           {"param_external_type", value.has_integer()      ? "int"
                                   : value.has_continuous() ? "float"
                                                            : "str"},
           {"distribution",
            {{"type", "FloatDistribution"}, {"low", 0.0}, {"high", 1.0}, {"step", nullptr}, {"log", true}}}});
    }
    json intermediate = json::array();
    const auto points = all.points.find(trial.number());
    if (points != all.points.end()) {
      for (const v1::MetricPoint& point : points->second)
        intermediate.push_back({{"step", point.resource()}, {"value", point.value()}});
    }
    json values = json::array();
    if (trial.has_best_objective()) values.push_back(trial.best_objective());
    trials.push_back({{"trial_id", trial.number()},
                      {"study_id", 1},
                      {"number", trial.number() - 1},
                      {"state", trial.state() == v1::Trial::COMPLETED ? "Complete" : "Pruned"},
                      {"values", std::move(values)},
                      {"params", std::move(params)},
                      {"intermediate_values", std::move(intermediate)},
                      {"fixed_params", json::array()},
                      {"user_attrs", json::array()},
                      {"note", {{"version", 0}, {"body", ""}}},
                      {"artifacts", json::array()},
                      {"constraints", json::array()},
                      {"datetime_start", TimeUtil::ToString(trial.start_time())},
                      {"datetime_complete", TimeUtil::ToString(trial.end_time())}});
  }
  const std::string text = json{{"trials", std::move(trials)}}.dump();
  *seconds = Since(begin);
  Bytes bytes;
  bytes.Add(text);
  return bytes;
}

void Measure(int64_t trials, int64_t reports) {
  const Server server(trials, reports);
  const BigJob& job = server.job();
  fmt::print("{} trials, {} reports, {:.0f} MiB. Times in milliseconds, from call to answer over gRPC.\n\n",
             job.trials, job.reports, server.mebibytes());
  fmt::print("{:<34} {:>10} {:>10} {:>14} {:>14}\n", "call", "first", "median", "JSON bytes", "gzip bytes");
  Stubs stubs(server);
  const Page page = MeasurePage(stubs, job.id);
  PrintRow("the page in all", Ms(page.first), "", page.bytes);
  const AllTrials all = MeasureAllTrials(stubs, job.id);
  PrintRow("ListTrials and QueryMetrics", Ms(all.seconds), "", all.bytes);
  double seconds = 0;
  const Bytes optuna = OptunaTrials(all, &seconds);
  PrintRow("all trials, as Optuna Dashboard", Ms(seconds) + "*", "", optuna);
  const auto ratio = [](size_t a, size_t b) { return static_cast<double>(a) / static_cast<double>(b); };
  fmt::print(
      "\n* to write the JSON from what is in memory; reading it from storage and parsing it in the page "
      "come on top\n"
      "all trials against the page: {:.0f} times the bytes (gzip: {:.0f}); as Optuna Dashboard: {:.0f} "
      "times (gzip: {:.0f})\n",
      ratio(all.bytes.plain, page.bytes.plain), ratio(all.bytes.gzip, page.bytes.gzip),
      ratio(optuna.plain, page.bytes.plain), ratio(optuna.gzip, page.bytes.gzip));
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  int64_t trials = 100'000, reports = 30;
  std::string file;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (i + 1 == argc || (flag != "--trials" && flag != "--reports" && flag != "--make")) {
      fmt::print(stderr, "usage: bench-dashboard [--trials N] [--reports R] [--make FILE]\n");
      return 2;
    }
    if (flag == "--make") {
      file = argv[i + 1];
    } else {
      (flag == "--trials" ? trials : reports) = std::max(1LL, std::atoll(argv[i + 1]));
    }
  }
  if (file.empty()) {
    winnow::Measure(trials, reports);
    return 0;
  }
  const winnow::BigJob job = winnow::MakeBigJob(file, "big", trials, reports);
  fmt::print("{}: {} trials, {} reports\n", job.id, job.trials, job.reports);
}

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
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/no_op_job.h"
#include "scheduler/simulate.h"
#include "scheduler/space/random.h"
#include "server/engine/answers/job_facts.h"
#include "server/engine/answers/messages.h"
#include "server/engine/best_tracker.h"
#include "server/engine/jobs.h"
#include "spec/search_spec.h"
#include "tests/support/server_process.h"
#include "winnow/v1/insight.grpc.pb.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {
namespace {

struct BigJob {
  std::string id;
  int64_t trials = 0;
  int64_t reports = 0;
};

constexpr int64_t kCreateUs = 1'700'000'000'000'000;
constexpr int64_t kFactsPerCommit = 200'000;
constexpr int64_t kEta = 3;
constexpr int64_t kBrackets = 3;
constexpr int64_t kRungs = 5;  // of the first bracket
// Fraction of the intended units that is trained: trials fail, and the last ones are not promoted.
constexpr double kReached = 0.85;
// Units that a trial of these brackets trains on average, per unit of the lowest rung: bracket b begins at
// eta^b, and each of its further rungs adds 2/3 of that.
constexpr double kUnitsOfLowest =
    kReached * ((1 + 4 * 2.0 / 3) + 3 * (1 + 3 * 2.0 / 3) + 9 * (1 + 2 * 2.0 / 3)) / 3;

void Require(const absl::Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", status.ToString());
  std::exit(1);
}

void AddContinuous(v1::TuningJobSpec& spec, const char* name, double min, double max, v1::Scaling scaling) {
  v1::ParameterSpec& parameter = *spec.add_parameters();
  parameter.set_name(name);
  parameter.mutable_continuous()->set_min(min);
  parameter.mutable_continuous()->set_max(max);
  parameter.mutable_continuous()->set_scaling(scaling);
}

void AddInteger(v1::TuningJobSpec& spec, const char* name, int64_t min, int64_t max, v1::Scaling scaling) {
  v1::ParameterSpec& parameter = *spec.add_parameters();
  parameter.set_name(name);
  parameter.mutable_integer()->set_min(min);
  parameter.mutable_integer()->set_max(max);
  parameter.mutable_integer()->set_scaling(scaling);
}

v1::TuningJobSpec Spec(const std::string& name, int64_t trials, int64_t reports) {
  v1::TuningJobSpec spec;
  spec.set_name(name);
  spec.mutable_trainer()->add_command("train");
  v1::MetricDefinition& metric = *spec.mutable_trainer()->add_metrics();
  metric.set_name("validation-loss");
  metric.set_regex("loss=([0-9.]+)");
  spec.mutable_objective()->set_metric("validation-loss");
  spec.mutable_objective()->set_goal(v1::MINIMIZE);
  AddContinuous(spec, "learning_rate", 1e-4, 1, v1::LOG);
  AddInteger(spec, "depth", 2, 12, v1::LINEAR);
  AddInteger(spec, "width", 16, 1024, v1::LOG);
  AddContinuous(spec, "momentum", 0.5, 0.999, v1::REVERSE_LOG);
  AddContinuous(spec, "dropout", 0, 0.7, v1::LINEAR);
  v1::ParameterSpec& optimizer = *spec.add_parameters();
  optimizer.set_name("optimizer");
  for (const char* value : {"adam", "sgd", "lion"}) optimizer.mutable_categorical()->add_values(value);
  AddContinuous(spec, "weight_decay", 1e-6, 1e-1, v1::LOG);
  v1::ParameterSpec& warm_up = *spec.add_parameters();
  warm_up.set_name("warm_up");
  warm_up.mutable_discrete()->add_values(0);
  warm_up.mutable_discrete()->add_values(0.05);
  warm_up.mutable_discrete()->add_values(0.1);
  warm_up.mutable_condition()->set_parameter("optimizer");
  warm_up.mutable_condition()->add_values("sgd");
  const auto lowest = static_cast<int64_t>(std::ceil(static_cast<double>(reports) / kUnitsOfLowest));
  spec.mutable_sampler()->set_kind(v1::SamplerSpec::RANDOM);
  v1::PrunerSpec& pruner = *spec.mutable_pruner();
  pruner.set_kind(v1::PrunerSpec::ASHA);
  pruner.set_min_resource(lowest);
  pruner.set_reduction_factor(kEta);
  pruner.set_max_resource(lowest * static_cast<int64_t>(std::pow(kEta, kRungs - 1)));
  pruner.set_brackets(kBrackets);
  spec.mutable_limits()->set_max_trials(trials);
  spec.set_seed(7);
  return spec;
}

// A loss that decreases with the level by a power law to the configuration's limit.
double Loss(const Configuration& x, int64_t level) {
  const double rate = std::log10(std::get<double>(x[0]));
  const auto depth = static_cast<double>(std::get<int64_t>(x[1]));
  const double width = std::log2(static_cast<double>(std::get<int64_t>(x[2])));
  const double decay = std::log10(std::get<double>(x[6]));
  const auto hash = static_cast<int64_t>(std::get<double>(x[3]) * 1e15);
  if (rate > -0.3 && RandomUnit(1, hash, Purpose::kSimulation, 0) < 0.3) {
    return level > 3 ? std::numeric_limits<double>::quiet_NaN() : std::exp(static_cast<double>(level));
  }
  double end = 0.2 + 0.05 * (rate + 2) * (rate + 2) + 0.004 * (depth - 7) * (depth - 7) +
               0.01 * std::abs(width - 8) + 0.3 * std::pow(std::get<double>(x[4]) - 0.2, 2) +
               0.004 * (decay + 3.5) * (decay + 3.5) + 0.02 * (rate + 2) * (width - 7) / 4;
  if (std::get<std::string>(x[5]) == "sgd") end += 0.03 - (std::get<double>(x[7]) > 0.01 ? 0.02 : 0);
  const double noise = RandomUnit(2, hash, Purpose::kSimulation, static_cast<uint64_t>(level)) - 0.5;
  return end + (2.3 - end) * std::pow(1 + static_cast<double>(level), -0.6 - 0.1 * rate) + 0.01 * noise;
}

SimulationResult Play(const SearchSpec& search) {
  Simulation simulation;
  simulation.workers = 64;
  simulation.objective = Loss;
  simulation.failure_rate = 0.01;
  simulation.unit_seconds = 1;
  simulation.seed = 3;
  return Simulate(search, simulation);
}

// Writes facts, trials, steps and the description as the engine does.
class Filler {
 public:
  Filler(Store& store, OpenJob& job) : store_(store), job_(job) {}

  absl::Status Take(Fact& fact) {
    fact.time_us += kCreateUs;
    if (auto* ended = std::get_if<AttemptEnded>(&fact.body)) {
      ended->started_us += kCreateUs;
      ended->ended_us += kCreateUs;
    }
    job_.state.Apply(fact);
    NoteInRow(fact, job_.row);
    if (const auto step = job_.best.Note(job_.state, fact.time_us)) {
      const absl::Status status = store_.summaries.AddStep(job_.row.key, *step);
      if (!status.ok()) return status;
    }
    const auto* report = std::get_if<Reported>(&fact.body);
    if (report == nullptr) return store_.facts.AppendEvent(job_.row.key, fact);
    ++reports_;
    return store_.facts
        .AppendReport(job_.row.key, {report->trial, report->attempt, report->resource, "validation-loss",
                                     report->objective, fact.time_us, fact.sequence})
        .status();
  }

  absl::Status End() {
    for (const TrialState& trial : job_.state.trials()) {
      const absl::Status status = store_.trials.Put(job_.row.key, MakeTrialRow(trial));
      if (!status.ok()) return status;
    }
    job_.row.last_sequence = job_.state.last_sequence();
    absl::Status status = store_.jobs.Update(job_.row);
    if (!status.ok()) return status;
    return store_.summaries.PutDescription(job_.row.key, Description(job_));
  }

  int64_t reports() const { return reports_; }

 private:
  Store& store_;
  OpenJob& job_;
  int64_t reports_ = 0;
};

// Adds an ended ASHA job to the database `file`, which is created if missing: 64 workers in virtual time
// search eight hyperparameters, one of them conditional, and report a loss that decreases by a power law,
// with noise, some divergence and some failures. About `reports` reports for each of `trials` trials, all of
// them of the objective. An error ends the program.
BigJob MakeBigJob(const std::string& file, const std::string& name, int64_t trials, int64_t reports) {
  auto opened = Store::Open(file);
  Require(opened.status());
  Store& store = **opened;
  const v1::TuningJobSpec spec = Spec(name, trials, reports);
  JobRow row;
  row.spec = ToStoredJson(spec);
  row.state = "running";
  row.create_us = kCreateUs;
  Require(store.Write([&]() -> absl::Status {
    absl::StatusOr<JobRow> inserted = store.jobs.Insert(name, row);
    if (inserted.ok()) row = *inserted;
    return inserted.status();
  }));
  std::vector<Fact> facts = Play(ToSearchSpec(spec)).facts;
  OpenJob job(row, spec);
  Filler filler(store, job);
  for (size_t next = 0; next < facts.size();) {
    Require(store.Write([&]() -> absl::Status {
      for (int64_t i = 0; i < kFactsPerCommit && next < facts.size(); ++i, ++next) {
        const absl::Status status = filler.Take(facts[next]);
        if (!status.ok()) return status;
      }
      return absl::OkStatus();
    }));
  }
  Require(store.Write([&] { return filler.End(); }));
  return {row.id, static_cast<int64_t>(job.state.trials().size()), filler.reports()};
}

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

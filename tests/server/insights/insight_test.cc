#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "server/engine/answers/job_facts.h"
#include "server/engine/answers/job_view.h"
#include "server/engine/answers/messages.h"
#include "server/engine/best_tracker.h"
#include "server/insights/insights.h"
#include "server/insights/learning_curves.h"
#include "server/insights/trial_tables.h"
#include "tests/catch.h"
#include "tests/server/grpc/service_play.h"
#include "winnow/v1/insight.grpc.pb.h"

namespace winnow {
namespace {

// Two hyperparameters, one of them conditional.
v1::TuningJobSpec WideJob(v1::TuningJobSpec spec) {
  v1::ParameterSpec& kind = *spec.add_parameters();
  kind.set_name("kind");
  kind.mutable_categorical()->add_values("a");
  kind.mutable_categorical()->add_values("b");
  v1::ParameterSpec& depth = *spec.add_parameters();
  depth.set_name("depth");
  depth.mutable_integer()->set_min(1);
  depth.mutable_integer()->set_max(5);
  depth.mutable_condition()->set_parameter("kind");
  depth.mutable_condition()->add_values("b");
  return spec;
}

// What the threads of a server would hold, called from the test's own.
struct Desk {
  explicit Desk(Play& play)
      : store(*Store::OpenReadOnly(play.file())),
        curve_store(*Store::OpenReadOnly(play.file())),
        insights(*store, play.time.clock()),
        curves(*curve_store, play.time.clock()) {}

  // Every answer about the job, as text.
  std::string Everything(const std::string& id) {
    std::string text;
    const auto add = [&](const auto& answer) {
      INFO(answer.status().ToString());
      REQUIRE(answer.ok());
      text += answer->DebugString() + "\n";
    };
    v1::GetSieveRequest sieve;
    sieve.set_job_id(id);
    add(insights.GetSieve(sieve));
    v1::GetParallelCoordinatesRequest parallel;
    parallel.set_job_id(id);
    add(insights.GetParallelCoordinates(parallel));
    v1::QueryTrialsRequest table;
    table.set_job_id(id);
    table.set_order_by("objective");
    add(insights.QueryTrials(table));
    v1::GetProgressRequest progress;
    progress.add_job_ids(id);
    add(insights.GetProgress(progress));
    v1::GetLearningCurvesRequest ask;
    ask.set_job_id(id);
    const auto question = insights.AskCurves(ask);
    INFO(question.status().ToString());
    REQUIRE(question.ok());
    add(curves.Answer(*question));
    return text;
  }

  // What the trials of an importance or a slice are compared by.
  template <typename Request>
  absl::StatusOr<LevelScores> Compared(const Request& request) {
    const absl::StatusOr<LevelQuestion> question = insights.AskLevel(
        request.job_id(), {request.filters().begin(), request.filters().end()}, request.resource());
    if (!question.ok()) return question.status();
    return curves.Compare(*question);
  }
  absl::StatusOr<ForestQuestion> Forest(const v1::GetImportanceRequest& request) {
    const absl::StatusOr<LevelScores> compared = Compared(request);
    return compared.ok() ? insights.AskForest(request, *compared) : compared.status();
  }
  absl::StatusOr<SliceAnswer> Slice(const v1::GetSliceRequest& request) {
    const absl::StatusOr<LevelScores> compared = Compared(request);
    return compared.ok() ? insights.GetSlice(request, *compared) : compared.status();
  }

  std::unique_ptr<Store> store;
  std::unique_ptr<Store> curve_store;
  Insights insights;
  LearningCurves curves;
};

TEST_CASE("Insights: a table that grows with its job says what one says that is read anew", "[server]") {
  Play play;
  FakeWorker one(play, "one", 3), two(play, "two", 2);
  one.fails_at[4] = 2;
  const std::string id = play.Create(WideJob(HyperbandJob(9)));
  Desk growing(play);
  int compared = 0;
  PlayToEnd(play, id, {&one, &two}, [&](int step) {
    if (step % 2 != 0) return;
    CHECK(growing.Everything(id) == Desk(play).Everything(id));
    ++compared;
  });
  CHECK(growing.Everything(id) == Desk(play).Everything(id));
  CHECK(compared > 5);
  CHECK(growing.insights.tables().whole_reads() < compared);
}

TEST_CASE("Insights: the sieve has every trial once, and the cut-offs of the rungs", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 4);
  const std::string id = play.Create(HyperbandJob(9));
  const v1::TuningJob job = PlayToEnd(play, id, {&worker});
  Desk desk(play);
  v1::GetSieveRequest request;
  request.set_job_id(id);
  const auto sieve = desk.insights.GetSieve(request);
  REQUIRE(sieve.ok());
  CHECK(sieve->last_sequence() == job.last_sequence());
  int64_t trials = 0;
  int cells = 0;
  for (const v1::BracketState& bracket : job.brackets()) cells += bracket.rungs_size();
  CHECK(sieve->cells_size() == cells);
  for (const v1::SieveCell& cell : sieve->cells()) {
    const v1::RungState& rung = job.brackets(cell.bracket()).rungs(cell.rung());
    CHECK(cell.resource() == rung.resource());
    CHECK(cell.passed() + cell.trial_size() == rung.entered());
    CHECK(std::isnan(cell.cutoff()) == !rung.has_cutoff());
    if (rung.has_cutoff()) CHECK(cell.cutoff() == rung.cutoff());
    trials += cell.trial_size();
  }
  CHECK(trials == static_cast<int64_t>(play.Trials(id).size()));
  CHECK(sieve->trials() == trials);
}

TEST_CASE("Insights: progress is every betterment that was reported, and stands as of now", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(RandomJob(12, 4));
  PlayToEnd(play, id, {&worker}, [&](int) { play.Tick(1'000'000); });
  std::vector<double> best;  // straight from the facts
  for (const Fact& fact : play.Facts(id)) {
    const auto* report = std::get_if<Reported>(&fact.body);
    if (report != nullptr && (best.empty() || report->objective < best.back()))
      best.push_back(report->objective);
  }
  const v1::TuningJob job = play.Describe(id);
  best.push_back(best.back());
  v1::GetProgressRequest request;
  request.add_job_ids(id);
  const auto answer = Desk(play).insights.GetProgress(request);
  REQUIRE(answer.ok());
  const v1::Progress& progress = answer->jobs(0);
  CHECK(std::vector<double>(progress.best().begin(), progress.best().end()) == best);
  CHECK(std::is_sorted(progress.elapsed_seconds().begin(), progress.elapsed_seconds().end()));
  CHECK(std::is_sorted(progress.resource().begin(), progress.resource().end()));
  CHECK(*progress.elapsed_seconds().rbegin() == job.spend().elapsed_seconds());
  CHECK(*progress.resource().rbegin() == job.spend().resource());
  CHECK(*progress.trial().rbegin() == job.best().trial());
}

TEST_CASE("Insights: steps go on after a restart", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(RandomJob(12, 4));
  PlayToEnd(play, id, {&worker}, [&](int step) {
    if (step == 6) play.Restart();
  });
  const std::unique_ptr<Store> store = *Store::OpenReadOnly(play.file());
  const JobHead job = *FindJob(*store, id);
  std::vector<BestStep> expected;
  BestTracker tracker;
  JobState state(job.search);
  REQUIRE(ApplyFacts(store->facts, job.row, state, [&](const Fact& fact) {
            if (const auto step = tracker.Note(state, fact.time_us)) expected.push_back(*step);
          }).ok());
  const std::vector<BestStep> kept = *store->summaries.Steps(job.row.key);
  REQUIRE(kept.size() == expected.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    CHECK(kept[i].sequence == expected[i].sequence);
    CHECK(kept[i].trial == expected[i].trial);
    CHECK(kept[i].objective == expected[i].objective);
  }
}

TEST_CASE("Insights: an ended job that is not described, as in an older file, is when the server starts",
          "[server]") {
  Play play;
  FakeWorker worker(play, "one", 4);
  worker.fails_at[2] = 1;
  const std::string id = play.Create(HyperbandJob(9));
  PlayToEnd(play, id, {&worker});
  const std::string described = play.Describe(id).DebugString();
  CHECK(play.Inside([](Engine& engine) {
              engine.context().Note(
                  engine.context().store.database().Execute("DELETE FROM job_descriptions"));
            })
            .ok());
  const auto undescribed = [&] {
    return (*Store::OpenReadOnly(play.file()))->summaries.Undescribed()->size();
  };
  CHECK(undescribed() == 1);
  play.Restart();
  CHECK(undescribed() == 0);
  CHECK(play.Describe(id).DebugString() == described);
}

TEST_CASE("Insights: an ended job is described as its facts describe it", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 4);
  worker.fails_at[2] = 1;
  const std::string id = play.Create(HyperbandJob(9));
  PlayToEnd(play, id, {&worker});
  const auto store = *Store::OpenReadOnly(play.file());
  JobViews views(*store);
  const auto view = views.Get(id);
  REQUIRE(view.ok());
  const auto kept = KeptDescription(*store, (*view)->row);
  REQUIRE(kept.ok());
  REQUIRE(kept->has_value());
  CHECK((*kept)->DebugString() == ToProto(**view, 0).DebugString());
}

TEST_CASE("Insights: filters hold for every answer", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(WideJob(RandomJob(30, 3)));
  PlayToEnd(play, id, {&worker});
  Desk desk(play);
  int64_t of_b = 0;
  for (const v1::Trial& trial : play.Trials(id)) of_b += trial.hyperparameters_size() == 3;
  REQUIRE(of_b > 0);
  REQUIRE(of_b < 30);
  const auto with = [&](auto request) {
    request.set_job_id(id);
    request.add_filters("kind:b");
    return request;
  };
  CHECK(desk.insights.GetSieve(with(v1::GetSieveRequest()))->trials() == of_b);
  CHECK(desk.insights.QueryTrials(with(v1::QueryTrialsRequest()))->total() == of_b);
  CHECK(desk.insights.GetParallelCoordinates(with(v1::GetParallelCoordinatesRequest()))->trials() == of_b);
  CHECK(desk.Forest(with(v1::GetImportanceRequest()))->task->scored == static_cast<size_t>(of_b));
  v1::GetSliceRequest slice = with(v1::GetSliceRequest());
  slice.set_parameter("kind");
  CHECK(desk.Slice(slice)->slice.trial_size() == of_b);
  const auto question = desk.insights.AskCurves(with(v1::GetLearningCurvesRequest()));
  REQUIRE(question.ok());
  const auto curves = desk.curves.Answer(*question);
  REQUIRE(curves.ok());
  REQUIRE(curves->envelope().resource_size() == 3);
  CHECK(curves->envelope().count(0) == of_b);
  CHECK(curves->curves_size() == std::min<int>(20, static_cast<int>(of_b)));
  CHECK(curves->curves(0).resource_size() == 3);
}

TEST_CASE("Insights: importance and slices compare values of one level, or each trial's own", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 4);
  const std::string id = play.Create(HyperbandJob(9));
  PlayToEnd(play, id, {&worker});
  std::map<int64_t, std::map<int64_t, double>> reports;  // trial, level: value, straight from the facts
  for (const Fact& fact : play.Facts(id)) {
    if (const auto* report = std::get_if<Reported>(&fact.body))
      reports[report->trial].emplace(report->resource, report->objective);
  }
  Desk desk(play);
  v1::GetImportanceRequest importance;
  importance.set_job_id(id);
  v1::GetSliceRequest slice;
  slice.set_job_id(id);
  slice.set_parameter(play.Describe(id).spec().parameters(0).name());

  const auto chosen = desk.Forest(importance);
  REQUIRE(chosen.ok());
  const ForestTask& task = *chosen->task;
  CHECK(task.levels == std::vector<int64_t>{1, 3, 9});
  CHECK(desk.Slice(slice)->slice.resource_level() == task.level);
  for (size_t i = 0; i < task.levels.size(); ++i) {
    const int64_t level = task.levels[i];
    int64_t reached = 0;
    for (const auto& [trial, values] : reports) reached += static_cast<int64_t>(values.count(level));
    CHECK(task.level_trials[i] == reached);
    importance.set_resource(level);
    slice.set_resource(level);
    const auto forest = desk.Forest(importance);
    REQUIRE(forest.ok());
    CHECK(forest->task->scored == static_cast<size_t>(reached));
    const auto drawn = desk.Slice(slice);
    REQUIRE(drawn.ok());
    const v1::Slice& message = drawn->slice;
    CHECK(message.resource_level() == level);
    REQUIRE(message.trial_size() == reached);
    const double low = message.objective().min(), high = message.objective().max();
    for (int point = 0; point < message.trial_size(); ++point) {
      CHECK(low + message.y(point) * (high - low) ==
            Approx(reports.at(message.trial(point)).at(level)).margin(1e-4 * (high - low)));
    }
  }
  importance.set_resource(-1);
  CHECK(desk.Forest(importance)->task->scored == reports.size());
  importance.set_resource(-2);
  CHECK(std::string(desk.Forest(importance).status().message()).rfind("resource: -2 ", 0) == 0);
}

TEST_CASE("Insights: comparisons of jobs and of a job's trials", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  const std::string first = play.Create(WideJob(RandomJob(10, 3))), second = play.Create(RandomJob(4, 3));
  PlayToEnd(play, first, {&worker});
  Desk desk(play);
  v1::CompareRequest request;
  request.add_job_ids(first);
  request.add_job_ids(second);
  const auto jobs = desk.insights.Compare(request);  // the second may still run
  REQUIRE(jobs.ok());
  REQUIRE(jobs->rows_size() == 2);
  CHECK(jobs->by() == "job");
  CHECK(jobs->rows(0).best() == play.Describe(first).best().objective());
  CHECK(jobs->rows(0).node_seconds() == play.Describe(first).spend().billable_node_seconds());
  request.mutable_job_ids()->RemoveLast();
  CHECK(desk.insights.Compare(request)->by() == "nodes");
  request.set_by("kind");
  const auto kinds = desk.insights.Compare(request);
  REQUIRE(kinds.ok());
  int64_t trials = 0;
  for (const v1::ComparisonRow& row : kinds->rows()) trials += row.trials();
  CHECK(trials == 10);
  request.set_by(play.Describe(first).spec().parameters(0).name());
  CHECK(desk.insights.Compare(request)->rows_size() == 10);  // few enough to stand by themselves
  request.set_by("#job");
  CHECK(desk.insights.Compare(request)->rows(0).name() == first);
}

TEST_CASE("Insights: trials are compared by even parts of a number that has many values", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 4);
  const std::string id = play.Create(RandomJob(60, 2));
  PlayToEnd(play, id, {&worker});
  Desk desk(play);
  const std::string parameter = play.Describe(id).spec().parameters(0).name();
  v1::CompareRequest request;
  request.add_job_ids(id);
  request.set_by(parameter);
  const auto parts = desk.insights.Compare(request);
  REQUIRE(parts.ok());
  CHECK(parts->rows_size() <= 8);
  CHECK(parts->rows_size() >= 4);
  int64_t trials = 0;
  double last = -std::numeric_limits<double>::infinity();
  for (const v1::ComparisonRow& row : parts->rows()) {
    trials += row.trials();
    const size_t to = row.name().find(" to ");
    REQUIRE(to != std::string::npos);
    const double low = std::stod(row.name()), high = std::stod(row.name().substr(to + 4));
    CHECK(low < high);
    CHECK(low >= last);
    last = high;
  }
  CHECK(trials == 60);
}

TEST_CASE("Insights: neighbours are by distance, and the rank by the objective", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(WideJob(RandomJob(10, 3)));
  PlayToEnd(play, id, {&worker});
  Desk desk(play);
  v1::GetNeighboursRequest request;
  request.set_job_id(id);
  request.set_trial(3);
  const auto answer = desk.insights.GetNeighbours(request);
  REQUIRE(answer.ok());
  CHECK(answer->trial().number() == 3);
  CHECK(answer->best().number() == play.Describe(id).best().trial());
  CHECK(answer->neighbours_size() == 5);
  CHECK(std::is_sorted(answer->distance().begin(), answer->distance().end()));
  CHECK(answer->ranked() == 10);
  request.set_trial(answer->best().number());
  CHECK(desk.insights.GetNeighbours(request)->rank() == 1);
}

TEST_CASE("Insights: a table of large trials comes in several answers", "[server]") {
  Play play;
  v1::TuningJobSpec spec = RandomJob(60, 1);
  for (int i = 0; i < 400; ++i) {
    v1::ParameterSpec& parameter = *spec.add_parameters();
    parameter.set_name("p" + std::to_string(i));
    for (const char letter : {'a', 'b'})
      parameter.mutable_categorical()->add_values(std::string(1000, letter));
  }
  FakeWorker worker(play, "one", 4);
  const std::string id = play.Create(spec);
  PlayToEnd(play, id, {&worker});
  Desk desk(play);
  v1::QueryTrialsRequest request;
  request.set_job_id(id);
  request.set_order_by("number");
  request.set_limit(10'000);
  std::vector<int64_t> numbers;
  int answers = 0;
  for (int64_t total = 1; static_cast<int64_t>(numbers.size()) < total; ++answers) {
    request.set_offset(static_cast<int64_t>(numbers.size()));
    const auto table = desk.insights.QueryTrials(request);
    REQUIRE(table.ok());
    REQUIRE(table->trials_size() > 0);
    CHECK(table->ByteSizeLong() < size_t{16} << 20);
    total = table->total();
    for (const v1::Trial& trial : table->trials()) numbers.push_back(trial.number());
  }
  CHECK(answers > 1);
  CHECK(numbers.size() == 60);
  CHECK(std::is_sorted(numbers.begin(), numbers.end()));
}

// A status's text, for tests that search it for a word.
std::string Refusal(const absl::Status& status) {
  CHECK(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

TEST_CASE("Insights: bad fields are named", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(RandomJob(3, 3));
  PlayToEnd(play, id, {&worker});
  Desk desk(play);
  Insights& insights = desk.insights;
  const auto refuse = [&](auto request, const std::function<void(decltype(request)&)>& spoil, auto method) {
    request.set_job_id(id);
    CHECK((insights.*method)(request).ok());
    auto unknown = request;
    unknown.set_job_id("nobody");
    CHECK(absl::IsNotFound((insights.*method)(unknown).status()));
    spoil(request);
    return Refusal((insights.*method)(request).status());
  };
  const auto starts = [](const std::string& text, const char* field) {
    INFO(text);
    CHECK(text.rfind(field, 0) == 0);
  };
  for (const int value : {-1, 10'001}) {
    starts(refuse(
               v1::GetSieveRequest(), [&](auto& r) { r.set_max_marks(value); }, &Insights::GetSieve),
           "max_marks: ");
    starts(refuse(
               v1::QueryTrialsRequest(), [&](auto& r) { r.set_limit(value); }, &Insights::QueryTrials),
           "limit: ");
    starts(refuse(
               v1::GetParallelCoordinatesRequest(), [&](auto& r) { r.set_max_lines(value); },
               &Insights::GetParallelCoordinates),
           "max_lines: ");
    starts(refuse(
               v1::GetParallelCoordinatesRequest(), [&](auto& r) { r.set_bins(value); },
               &Insights::GetParallelCoordinates),
           "bins: ");
    starts(
        refuse(
            v1::GetLearningCurvesRequest(), [&](auto& r) { r.set_max_curves(value); }, &Insights::AskCurves),
        "max_curves: ");
    starts(
        refuse(
            v1::GetLearningCurvesRequest(), [&](auto& r) { r.set_max_points(value); }, &Insights::AskCurves),
        "max_points: ");
  }
  starts(refuse(
             v1::GetSieveRequest(), [](auto& r) { r.add_filters("?"); }, &Insights::GetSieve),
         "filters[0]: ");
  starts(Refusal(insights.AskLevel(id, {"?"}, 0).status()), "filters[0]: ");
  starts(refuse(
             v1::QueryTrialsRequest(), [](auto& r) { r.set_offset(-1); }, &Insights::QueryTrials),
         "offset: ");
  starts(refuse(
             v1::QueryTrialsRequest(), [](auto& r) { r.set_order_by("?"); }, &Insights::QueryTrials),
         "order_by: ");
  starts(refuse(
             v1::GetLearningCurvesRequest(), [](auto& r) { r.set_metric("?"); }, &Insights::AskCurves),
         "metric: ");
  starts(refuse(
             v1::GetLearningCurvesRequest(),
             [](auto& r) {
               for (int i = 0; i < 101; ++i) r.add_trials(1);
             },
             &Insights::AskCurves),
         "trials: ");
  v1::GetSliceRequest slice;
  slice.set_job_id(id);
  starts(Refusal(desk.Slice(slice).status()), "parameter: ");
  slice.set_parameter(play.Describe(id).spec().parameters(0).name());
  CHECK(desk.Slice(slice).ok());
  slice.set_bins(1);
  starts(Refusal(desk.Slice(slice).status()), "bins: ");
  slice.set_bins(0);
  slice.set_max_points(5001);
  starts(Refusal(desk.Slice(slice).status()), "max_points: ");
  v1::GetNeighboursRequest neighbours;
  neighbours.set_job_id(id);
  for (const int trial : {-1, 0, 4}) {
    neighbours.set_trial(trial);
    CHECK(absl::IsNotFound(insights.GetNeighbours(neighbours).status()));
  }
  neighbours.set_limit(51);
  starts(Refusal(insights.GetNeighbours(neighbours).status()), "limit: ");
  v1::GetProgressRequest progress;
  starts(Refusal(insights.GetProgress(progress).status()), "job_ids: ");
  progress.add_job_ids(id);
  progress.set_max_points(2);
  starts(Refusal(insights.GetProgress(progress).status()), "max_points: ");
  v1::CompareRequest compare;
  starts(Refusal(insights.Compare(compare).status()), "job_ids: ");
  compare.add_job_ids(id);
  compare.set_by("?");
  starts(Refusal(insights.Compare(compare).status()), "by: ");
  compare.add_job_ids(id);
  starts(Refusal(insights.Compare(compare).status()), "by: ");
}

TEST_CASE("Insights: tables that were not used for longest make room, and come back", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(play.Create(RandomJob(2, 2)));
  for (const std::string& id : ids) PlayToEnd(play, id, {&worker});
  const auto store = *Store::OpenReadOnly(play.file());
  TrialTables tables(*store, 1);  // room for one
  CHECK(tables.TakeOpened().empty());
  for (const std::string& id : {ids[0], ids[0], ids[1], ids[0]}) {
    REQUIRE(store->Read([&] { return tables.Get(id).status(); }).ok());
  }
  CHECK(tables.whole_reads() == 3);
  CHECK(tables.TakeOpened().size() == 3);
  CHECK(play.Delete(ids[0]).ok());
  CHECK(absl::IsNotFound(store->Read([&] { return tables.Get(ids[0]).status(); })));
}

TEST_CASE("InsightService: answers over gRPC, forests and curves too", "[server]") {
  ServicePlay play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(WideJob(RandomJob(40, 4)));
  PlayToEnd(play, id, {&worker});
  const auto stub = v1::InsightService::NewStub(play.channel);
  const auto call = [&](auto method, const auto& request, auto& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    return ((*stub).*method)(&context, request, &response).error_code();
  };
  using Stub = v1::InsightService::Stub;
  v1::GetImportanceRequest importance;
  importance.set_job_id(id);
  v1::Importance shares;
  CHECK(call(&Stub::GetImportance, importance, shares) == grpc::StatusCode::OK);
  CHECK(shares.trials() == 40);
  CHECK(shares.parameters_size() == 3);
  CHECK(shares.pairs_size() == 3);
  CHECK(shares.resource() == 4);
  CHECK(std::vector<int64_t>(shares.levels().begin(), shares.levels().end()) == std::vector<int64_t>{4});
  CHECK(std::vector<int64_t>(shares.level_trials().begin(), shares.level_trials().end()) ==
        std::vector<int64_t>{40});
  v1::Importance again;
  CHECK(call(&Stub::GetImportance, importance, again) == grpc::StatusCode::OK);
  CHECK(again.DebugString() == shares.DebugString());
  v1::GetLearningCurvesRequest curves;
  curves.set_job_id(id);
  v1::LearningCurves envelope;
  CHECK(call(&Stub::GetLearningCurves, curves, envelope) == grpc::StatusCode::OK);
  CHECK(envelope.envelope().count(0) == 40);
  v1::GetSliceRequest slice;
  slice.set_job_id(id);
  slice.set_parameter("kind");
  v1::Slice drawn;
  CHECK(call(&Stub::GetSlice, slice, drawn) == grpc::StatusCode::OK);
  CHECK(drawn.marginal_x_size() == 2);
  CHECK(drawn.resource_level() == 4);
  slice.set_parameter("speed");
  CHECK(call(&Stub::GetSlice, slice, drawn) == grpc::StatusCode::INVALID_ARGUMENT);
  importance.set_job_id("nobody");
  CHECK(call(&Stub::GetImportance, importance, shares) == grpc::StatusCode::NOT_FOUND);
}

TEST_CASE("Forests: who is gone is not computed for, and nobody waits in vain at the end", "[server]") {
  std::shared_ptr<const SolvedForest> solved;
  int answers = 0;
  {
    Forests forests;
    ForestQuestion question;
    question.task = std::make_shared<const ForestTask>();
    forests.Ask(
        question, [] { return true; },
        [&](std::shared_ptr<const SolvedForest> forest) {
          CHECK(forest == nullptr);
          ++answers;
        });
    forests.Ask(
        question, [] { return false; }, [&](std::shared_ptr<const SolvedForest>) { ++answers; });
  }
  CHECK(answers == 2);
}

}  // namespace
}  // namespace winnow

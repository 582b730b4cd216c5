// What pages show of jobs with constraints and with several objectives.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/insights/insights.h"
#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

// What the thread of the tables would hold, called from the test's own.
struct FrontDesk {
  explicit FrontDesk(Play& play)
      : store(*Store::OpenReadOnly(play.file())), insights(*store, play.time.clock()) {}

  std::unique_ptr<Store> store;
  Insights insights;
};

// A client's job of two objectives and a constraint, whose trials end as the points say: accuracy, size.
// `open`: of the first objective alone, and with a trial more, which does not begin.
std::string PlayFront(Play& play, const std::vector<std::pair<double, double>>& points, bool open = false) {
  v1::TuningJobSpec spec = RandomJob(static_cast<int64_t>(points.size()) + (open ? 1 : 0), 1);
  spec.mutable_trainer()->Clear();
  spec.mutable_trainer()->set_external(true);
  spec.mutable_trainer()->mutable_lease()->set_seconds(30);
  spec.clear_objective();
  for (const auto& [metric, goal] : {std::pair("accuracy", v1::MAXIMIZE), std::pair("size", v1::MINIMIZE)}) {
    v1::ObjectivesEntry& objective = *spec.add_objectives();
    objective.set_metric(metric);
    objective.set_goal(goal);
  }
  if (open) {
    spec.clear_objectives();
    spec.mutable_objective()->set_metric("accuracy");
    spec.mutable_objective()->set_goal(v1::MAXIMIZE);
  }
  v1::MetricConstraint& constraint = *spec.add_metric_constraints();
  constraint.set_metric("size");
  constraint.set_at_most(100);
  const std::string id = play.Create(spec);
  for (const auto& [accuracy, size] : points) {
    v1::SuggestTrialsRequest ask;
    ask.set_job_id(id);
    const auto trial = play.Ask(ask);
    REQUIRE(trial.ok());
    REQUIRE(trial->trials_size() == 1);
    v1::CompleteTrialRequest complete;
    complete.set_job_id(id);
    complete.set_trial(trial->trials(0).trial());
    complete.set_attempt(trial->trials(0).attempt());
    for (const auto& [metric, value] : {std::pair("accuracy", accuracy), std::pair("size", size)}) {
      v1::ReportedPoint& point = *complete.add_points();
      point.set_resource(1);
      point.set_metric(metric);
      point.set_value(value);
    }
    REQUIRE(play.Complete(complete).ok());
  }
  return id;
}

TEST_CASE("Insights: in a comparison, what violates a bound on a metric is nobody's best", "[server]") {
  Play play;
  const std::string id = PlayFront(play, {{0.9, 200}, {0.7, 50}, {0.8, 80}}, true);
  FrontDesk desk(play);
  v1::CompareRequest request;
  request.add_job_ids(id);
  for (const char* by : {"", "#job"}) {
    request.set_by(by);
    const auto compared = desk.insights.Compare(request);
    REQUIRE(compared.ok());
    REQUIRE(compared->rows_size() == 1);
    CHECK(compared->rows(0).trials() == 3);
    CHECK(compared->rows(0).best() == 0.8);
    CHECK(play.Describe(id).best().objective() == 0.8);
  }
}

TEST_CASE("Insights: beside a trial is the best one that violates no bound on a metric", "[server]") {
  Play play;
  const std::string id = PlayFront(play, {{0.9, 200}, {0.7, 50}, {0.8, 80}}, true);
  const std::string none = PlayFront(play, {{0.9, 200}, {0.8, 120}}, true);
  FrontDesk desk(play);
  v1::GetNeighboursRequest request;
  request.set_job_id(id);
  request.set_trial(1);
  const auto beside = desk.insights.GetNeighbours(request);
  REQUIRE(beside.ok());
  CHECK(beside->best().number() == 3);
  CHECK(beside->best().number() == play.Describe(id).best().trial());
  CHECK(beside->rank() == 1);
  request.set_job_id(none);
  CHECK_FALSE(desk.insights.GetNeighbours(request)->has_best());
}

TEST_CASE("Insights: groups of a job with several objectives have the fronts of their trials", "[server]") {
  Play play;
  const std::string id = PlayFront(play, {{0.7, 50}, {0.8, 90}, {0.6, 60}, {0.95, 120}, {0.5, 10}});
  FrontDesk desk(play);
  v1::CompareRequest request;
  request.add_job_ids(id);
  request.set_by("#job");
  const v1::Comparison whole = *desk.insights.Compare(request);
  request.set_by("x");
  const auto groups = desk.insights.Compare(request);
  REQUIRE(groups.ok());
  REQUIRE(groups->rows_size() == 5);  // each trial has a value of its own
  int64_t feasible = 0;
  double most = 0;
  for (const v1::ComparisonRow& row : groups->rows()) {
    feasible += row.front_trials();
    most = std::max(most, row.hypervolume());
  }
  CHECK(feasible == 4);
  CHECK(most > 0);
  request.set_by("");
  const auto one = desk.insights.Compare(request);
  REQUIRE(one.ok());
  REQUIRE(one->rows_size() == 1);
  CHECK(one->rows(0).front_trials() == whole.rows(0).front_trials());
  CHECK(one->rows(0).front_trials() == 3);
  CHECK(one->rows(0).hypervolume() == whole.rows(0).hypervolume());
}

TEST_CASE("Insights: several objectives are points, those of the front first known as such", "[server]") {
  Play play;
  const std::string id = PlayFront(play, {{0.7, 50}, {0.8, 90}, {0.6, 60}, {0.95, 120}, {0.5, 10}});
  FrontDesk desk(play);
  v1::GetObjectivesRequest request;
  request.set_job_id(id);
  auto answer = desk.insights.GetObjectives(request);
  INFO(answer.status().ToString());
  REQUIRE(answer.ok());
  CHECK(answer->x_metric() == "size");
  CHECK(answer->y_metric() == "accuracy");
  CHECK(answer->trials() == 5);
  CHECK(std::vector<int32_t>(answer->trial().begin(), answer->trial().end()) ==
        std::vector<int32_t>{1, 2, 5, 3, 4});
  CHECK(std::vector<bool>(answer->front().begin(), answer->front().end()) ==
        std::vector<bool>{true, true, true, false, false});
  CHECK(answer->y_value(3) == 0.6);
  CHECK(answer->violation(3) == 0);
  CHECK(answer->violation(4) == 20);
  v1::QueryTrialsRequest table;
  table.set_job_id(id);
  table.set_order_by("violation desc");
  table.add_filters("#objective:..");
  table.add_filters("#state:pending|running|paused|completed|pruned|cancelled");
  table.set_limit(1);
  const auto rows = desk.insights.QueryTrials(table);
  INFO(rows.status().ToString());
  REQUIRE(rows.ok());
  CHECK(rows->total() == 5);
  CHECK(rows->trials(0).number() == 4);
  request.add_filters("#number:3..4");
  request.set_x_metric("accuracy");
  request.set_y_metric("size");
  request.set_max_points(1);
  answer = desk.insights.GetObjectives(request);
  REQUIRE(answer.ok());
  CHECK(answer->trials() == 2);
  CHECK(answer->trial_size() == 1);
  CHECK(answer->x_value(0) == 0.6);
  request.set_x_metric("speed");
  const absl::Status refused = desk.insights.GetObjectives(request).status();
  CHECK(absl::IsInvalidArgument(refused));
  CHECK(std::string(refused.message()).rfind("x_metric: ", 0) == 0);

  FakeWorker worker(play, "one", 2);
  const std::string single = play.Create(RandomJob(3, 3));
  PlayToEnd(play, single, {&worker});
  v1::GetObjectivesRequest of_one;
  of_one.set_job_id(single);
  CHECK(absl::IsFailedPrecondition(desk.insights.GetObjectives(of_one).status()));
}

}  // namespace
}  // namespace winnow

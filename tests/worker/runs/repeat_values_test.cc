// What a program reports in one repeat of a configuration becomes one report of the repeat.

#include "worker/runs/repeat_values.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/worker/fake_server.h"
#include "tests/worker/trainer_play.h"

namespace winnow {
namespace {

struct RepeatScene {
  TrainerPlay Run(const std::string& script, v1::ObjectiveSpec::Value value) {
    v1::Assignment assignment = MakeAssignment("a", {"/bin/sh", "-c", script});
    assignment.set_resource_regex("epoch ([0-9]+)");
    assignment.mutable_repeat()->set_number(3);
    assignment.mutable_repeat()->set_goal(v1::MINIMIZE);
    assignment.mutable_repeat()->set_value(value);
    return RunTrainer(&loop, folder, assignment, nullptr);
  }
  TempFolder folder;
  EventLoop loop;
};

constexpr char kThree[] = "echo epoch 1 loss=0.5; echo epoch 2 loss=0.25; echo epoch 3 loss=0.75";

TEST_CASE("Repeat: its value is the best, the last or the mean of the program's", "[worker]") {
  const auto [value, expected] =
      GENERATE(table<v1::ObjectiveSpec::Value, double>({{v1::ObjectiveSpec::VALUE_UNSPECIFIED, 0.25},
                                                        {v1::ObjectiveSpec::BEST, 0.25},
                                                        {v1::ObjectiveSpec::LAST, 0.75},
                                                        {v1::ObjectiveSpec::MEAN, 0.5}}));
  RepeatScene scene;
  const TrainerPlay play = scene.Run(kThree, value);
  CHECK(play.outcome.kind() == v1::Outcome::FINISHED);
  REQUIRE(play.reports.size() == 1);
  CHECK(play.reports[0].resource() == 3);
  CHECK(play.reports[0].assignment_id() == "a");
  REQUIRE(play.reports[0].metrics_size() == 1);
  CHECK(play.reports[0].metrics(0).name() == "loss");
  CHECK(play.reports[0].metrics(0).value() == expected);
  CHECK(play.notices.empty());
}

TEST_CASE("Repeat: one that fails reports nothing", "[worker]") {
  RepeatScene scene;
  const TrainerPlay play = scene.Run(std::string(kThree) + "; exit 3", v1::ObjectiveSpec::BEST);
  CHECK(play.outcome.kind() == v1::Outcome::FAILED);
  CHECK(play.reports.empty());
}

TEST_CASE("Repeat: one that never prints the objective says so", "[worker]") {
  RepeatScene scene;
  const TrainerPlay play = scene.Run("echo epoch 1 accuracy=1", v1::ObjectiveSpec::BEST);
  CHECK(play.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(play.reports.empty());
  CHECK(play.outcome.reason().find("without printing `loss`") != std::string::npos);
}

TEST_CASE("Repeat: what once was not a finite number counts, whatever comes after", "[worker]") {
  RepeatScene scene;
  const TrainerPlay play = scene.Run("echo epoch 1 loss=nan; echo epoch 2 loss=0.1", v1::ObjectiveSpec::BEST);
  REQUIRE(play.reports.size() == 1);
  CHECK(std::isnan(play.reports[0].metrics(0).value()));
}

TEST_CASE("Repeat: other metrics have their newest values", "[worker]") {
  v1::Repeat repeat;
  repeat.set_number(1);
  repeat.set_goal(v1::MAXIMIZE);
  RepeatValues values(repeat, "auc");
  CHECK_FALSE(values.complete());
  values.Add({1, {{"auc", 0.5}, {"loss", 2}}});
  values.Add({2, {{"loss", 1}}});
  REQUIRE(values.complete());
  const v1::Report report = values.Report();
  REQUIRE(report.metrics_size() == 2);
  CHECK(report.metrics(1).name() == "loss");
  CHECK(report.metrics(1).value() == 1);
}

}  // namespace
}  // namespace winnow

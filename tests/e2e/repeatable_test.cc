// Equal job files and seeds give equal trials and values, whatever else was running.

#include <string>

#include "checkout.h"
#include "tests/catch.h"
#include "tests/e2e/job_client.h"
#include "tests/support/server_process.h"

namespace winnow {
namespace {

const char* kServer = WINNOW_BIN_DIR "/winnow-server";

JobRecord RunRandomJob(int parallel, int nodes) {
  ServerProcess server(kServer, {"--local-workers", "2", "--slots", "2"});
  WriteClassificationTable(server.folder() + "/train.csv", 3000, 1);
  v1::TuningJobSpec spec = SpecFromJson(R"({
    "name": "repeat", "trainer": {"builtin": "gbdt"},
    "channels": {"train": {"path": "train.csv", "label": "y", "validation_fraction": 0.25}},
    "static_hyperparameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "12"},
    "parameters": [
      {"name": "eta", "continuous": {"min": 0.01, "max": 1}},
      {"name": "max_depth", "integer": {"min": 1, "max": 8}},
      {"name": "subsample", "continuous": {"min": 0.3, "max": 1}},
      {"name": "colsample_bytree", "continuous": {"min": 0, "max": 1}}
    ],
    "objective": {"metric": "validation:auc", "goal": "MAXIMIZE"},
    "strategy": "RANDOM", "limits": {"max_trials": 16}, "seed": 1729
  })");
  spec.set_working_directory(server.folder());
  spec.mutable_limits()->set_max_parallel_trials(parallel);
  spec.mutable_cluster()->set_nodes(nodes);
  JobClient client(server.Client());
  const std::string id = client.Create(spec);
  v1::TuningJob job = client.WatchToEnd(id, [](const auto&) {});
  INFO(server.log());
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  return client.Record(id, "validation:auc");
}

TEST_CASE("RANDOM tries the same configurations and reports the same AUCs at 1 and at 4 parallel slots",
          "[e2e]") {
  const JobRecord alone = RunRandomJob(1, 1);
  const JobRecord four = RunRandomJob(4, 1);
  REQUIRE(alone.trials.size() == 16);
  CHECK(alone.trials == four.trials);
  CHECK(alone.best_trial == four.best_trial);
  for (const auto& [number, trial] : alone.trials) CHECK(trial.curve.size() == 12);
}

TEST_CASE("A trial on three nodes of two workers reports, to the last digit, what one node reports",
          "[e2e]") {
  const JobRecord one = RunRandomJob(2, 1);
  const JobRecord three = RunRandomJob(1, 3);
  REQUIRE(one.trials.size() == 16);
  CHECK(one.trials == three.trials);
  CHECK(one.best_trial == three.best_trial);
}

}  // namespace
}  // namespace winnow

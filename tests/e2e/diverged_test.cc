// Trials of winnow-mlp whose learning rate is too high diverge: each counts as the worst, and the job goes
// on.

#include <string>

#include "checkout.h"
#include "tests/catch.h"
#include "tests/e2e/job_client.h"
#include "tests/support/server_process.h"

namespace winnow {
namespace {

TEST_CASE("A job whose learning rates reach values that diverge ends with a best trial", "[e2e]") {
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "1", "--slots", "2"});
  WriteClassificationTable(server.folder() + "/train.csv", 600, 1);
  v1::TuningJobSpec spec = SpecFromJson(R"({
    "name": "diverged", "trainer": {"builtin": "mlp"},
    "channels": {"train": {"path": "train.csv", "label": "y", "validation_fraction": 0.25}},
    "static_hyperparameters": {"loss": "mse", "hidden_layers": "16", "epochs": "4", "batch_size": "32"},
    "parameters": [{"name": "learning_rate", "continuous": {"min": 0.001, "max": 1000, "scaling": "LOG"}}],
    "objective": {"metric": "validation:loss", "goal": "MINIMIZE"},
    "strategy": "RANDOM", "limits": {"max_trials": 12}, "seed": 5})");
  spec.set_working_directory(server.folder());
  JobClient client(server.Client());
  const std::string id = client.Create(spec);
  const v1::TuningJob job = client.WatchToEnd(id, [](const auto&) {});
  INFO(server.log());
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  const JobRecord record = client.Record(id, "validation:loss");
  int failed = 0;
  for (const auto& [number, trial] : record.trials) failed += trial.state == "FAILED" ? 1 : 0;
  CHECK(failed > 0);
  CHECK(failed < 12);
  CHECK(record.trials.size() == 12);
  CHECK(record.best_objective < 0.3);
  CHECK(record.trials.at(record.best_trial).state == "COMPLETED");
}

}  // namespace
}  // namespace winnow

// Real processes, really killed, in the middle of a real job.

#include <signal.h>

#include <string>

#include "checkout.h"
#include "tests/catch.h"
#include "tests/e2e/job_client.h"
#include "tests/support/server_process.h"

namespace winnow {
namespace {

const char* kServer = WINNOW_BIN_DIR "/winnow-server";

v1::TuningJobSpec HyperbandJob(const std::string& folder) {
  v1::TuningJobSpec spec = SpecFromJson(R"({
    "name": "kill", "trainer": {"builtin": "gbdt"},
    "channels": {"train": {"path": "train.csv", "label": "y"}, "validation": {"path": "validation.csv", "label": "y"}},
    "static_hyperparameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "200"},
    "parameters": [
      {"name": "eta", "continuous": {"min": 0.01, "max": 0.5, "scaling": "LOG"}},
      {"name": "max_depth", "integer": {"min": 2, "max": 9}},
      {"name": "subsample", "continuous": {"min": 0.5, "max": 1}}
    ],
    "objective": {"metric": "validation:auc", "goal": "MAXIMIZE"},
    "strategy": "HYPERBAND", "hyperband": {"min_resource": 3, "max_resource": 81, "reduction_factor": 3},
    "limits": {"max_trials": 30, "max_attempts": 5}, "seed": 7
  })");
  spec.set_working_directory(folder);
  return spec;
}

void WriteData(const std::string& folder) {
  WriteClassificationTable(folder + "/train.csv", 40000, 1);
  WriteClassificationTable(folder + "/validation.csv", 5000, 2);
}

TEST_CASE("Killing server, worker and trainer in the middle of a job changes nothing of its result",
          "[e2e]") {
  const std::vector<std::string> flags = {"--local-workers", "2", "--slots", "2"};
  JobRecord undisturbed;
  {
    ServerProcess server(kServer, flags);
    WriteData(server.folder());
    JobClient client(server.Client());
    const std::string id = client.Create(HyperbandJob(server.folder()));
    v1::TuningJob job = client.WatchToEnd(id, [](const auto&) {});
    REQUIRE(job.state() == v1::TuningJob::COMPLETED);
    undisturbed = client.Record(id, "validation:auc");
  }
  REQUIRE(undisturbed.trials.size() == 30);
  REQUIRE(undisturbed.duplicates.empty());

  ServerProcess server(kServer, flags);
  WriteData(server.folder());
  JobClient client(server.Client());
  const std::string id = client.Create(HyperbandJob(server.folder()));
  int reports = 0, killed_servers = 0, killed_workers = 0, killed_trainers = 0;
  v1::TuningJob job = client.WatchToEnd(id, [&](const v1::TuningJobEvent& event) {
    if (event.kind() != "reported") return;
    ++reports;
    if (reports >= 20 && killed_servers == 0) {
      ++killed_servers;
      server.Kill();
      server.Restart();
    } else if (reports >= 60 && killed_workers == 0) {
      const auto workers = server.WorkerPids();
      if (workers.empty()) return;
      ++killed_workers;
      kill(workers[0], SIGKILL);
    } else if (reports >= 100 && killed_trainers == 0) {
      const auto trainers = server.TrainerPids();
      if (trainers.empty()) return;  // all at a barrier: the next report will find one
      ++killed_trainers;
      kill(trainers[0], SIGKILL);
    }
  });
  INFO(server.log());
  CHECK(killed_servers == 1);
  CHECK(killed_workers == 1);
  CHECK(killed_trainers == 1);
  CHECK(job.state() == v1::TuningJob::COMPLETED);

  const JobRecord disturbed = client.Record(id, "validation:auc");
  CHECK(disturbed.duplicates.empty());
  CHECK(disturbed.trials.size() == undisturbed.trials.size());
  for (const auto& [number, trial] : undisturbed.trials) {
    INFO("trial " << number);
    REQUIRE(disturbed.trials.count(number) == 1);
    const auto& other = disturbed.trials.at(number);
    CHECK(other.configuration == trial.configuration);
    CHECK(other.state == trial.state);
    CHECK(other.curve == trial.curve);
  }
  CHECK(disturbed.best_trial == undisturbed.best_trial);
  CHECK(disturbed.best_objective == undisturbed.best_objective);
}

TEST_CASE("A polite stop hands trials back, and a restart finishes the job at no cost of attempts", "[e2e]") {
  ServerProcess server(kServer, {"--local-workers", "1", "--slots", "2"});
  WriteData(server.folder());
  JobClient client(server.Client());
  v1::TuningJobSpec spec = HyperbandJob(server.folder());
  spec.mutable_limits()->set_max_attempts(1);
  const std::string id = client.Create(spec);
  int reports = 0;
  v1::TuningJob job = client.WatchToEnd(id, [&](const v1::TuningJobEvent& event) {
    if (event.kind() != "reported" || ++reports != 30) return;
    CHECK(server.Stop() == 0);
    CHECK(server.WorkerPids().empty());
    server.Restart();
  });
  INFO(server.log());
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(job.trial_counts().failed() == 0);
  CHECK(client.Record(id, "validation:auc").duplicates.empty());
}

}  // namespace
}  // namespace winnow

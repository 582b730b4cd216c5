// With studies that Optuna itself has made; skipped where it is not installed.

#include <cstdlib>
#include <fstream>

#include "tests/server/grpc/service_play.h"

namespace winnow {
namespace {

constexpr char kMakeStudy[] = R"py(
import sys
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(storage="sqlite:///" + sys.argv[1], study_name="old", direction="minimize",
                            sampler=optuna.samplers.RandomSampler(seed=1))
def objective(trial):
    x = trial.suggest_float("x", 0, 2 if trial.number == 3 else 1)
    trial.suggest_categorical("kind", ["a", True, None, 3])
    trial.suggest_int("depth", 1, 8, log=True)
    for step in range(4):
        trial.report(x + 1 / (step + 1), step)
        if trial.number == 1 and step == 1:
            raise optuna.TrialPruned()
    if trial.number == 2:
        return float("nan")
    return 1.5 if trial.number == 3 else x + 0.25
study.enqueue_trial({"x": 0.5, "kind": True, "depth": 4})
study.enqueue_trial({"x": 0.25, "kind": None, "depth": 8})
study.enqueue_trial({"x": 0.75, "kind": "a", "depth": 1})
study.enqueue_trial({"x": 1.5, "kind": 3, "depth": 1})
study.optimize(objective, n_trials=4)
)py";

TEST_CASE("Warm start: a study that Optuna made", "[server]") {
  if (std::system("/usr/bin/python3 -c 'import optuna' 2>/dev/null") != 0)
    return Skip("python3-optuna is not installed");
  ServicePlay play;
  std::ofstream(play.folder.file("make.py")) << kMakeStudy;
  const std::string command =
      "/usr/bin/python3 " + play.folder.file("make.py") + " " + play.folder.file("study.db");
  REQUIRE(std::system(command.c_str()) == 0);

  v1::CreateTuningJobRequest create;
  *create.mutable_spec() = RandomJob(2, 4);
  v1::TuningJobSpec& spec = *create.mutable_spec();
  spec.set_working_directory(play.folder.file("").substr(0, play.folder.file("").size() - 1));
  v1::ParameterSpec* kind = spec.add_parameters();
  kind->set_name("kind");
  for (const char* value : {"a", "True", "None", "3"}) kind->mutable_categorical()->add_values(value);
  v1::ParameterSpec* depth = spec.add_parameters();
  depth->set_name("depth");
  depth->mutable_integer()->set_min(1);
  depth->mutable_integer()->set_max(8);
  spec.mutable_warm_start()->add_optuna_studies()->set_file("study.db");
  v1::TuningJob job;
  grpc::Status status = play.Call(&v1::TuningService::Stub::CreateTuningJob, create, job);
  INFO(status.error_message());
  REQUIRE(status.ok());
  CHECK(job.warm_start_text() ==
        "2 results used: 2 from study.db; 2 left out: 1 that failed or have not ended, 1 with x outside its "
        "range.");
  std::vector<Fact> facts = play.Facts(job.id());
  REQUIRE(facts.size() >= 2);
  CHECK(Identical(
      facts[0].body,
      EarlierResult{{0.5, std::string("True"), int64_t{4}}, 0.75, 4, "study old of study.db, trial 0"}));
  CHECK(Identical(
      facts[1].body,
      EarlierResult{{0.25, std::string("None"), int64_t{8}}, 0.75, 2, "study old of study.db, trial 1"}));
}

}  // namespace
}  // namespace winnow

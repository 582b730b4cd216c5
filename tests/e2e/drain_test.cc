// Draining a worker by the command line: its trials continue elsewhere, and no attempt is counted.

#include <string>

#include "checkout.h"
#include "tests/catch.h"
#include "tests/cli/process.h"
#include "tests/e2e/job_client.h"
#include "tests/support/server_process.h"

namespace winnow {
namespace {

// Trains until it is first asked to stop, then to the end from its checkpoint.
constexpr char kTrainer[] = R"(
trap 'echo 1 > "$WINNOW_CHECKPOINT_DIR/level"; exit 0' TERM
if [ -e "$WINNOW_CHECKPOINT_DIR/level" ]; then echo loss=0.25; echo loss=0.125; exit 0; fi
echo loss=0.5
while :; do sleep 0.05; done
)";

TEST_CASE("Draining a worker moves its trial from its checkpoint to another worker", "[e2e]") {
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "2", "--slots", "1"});
  v1::TuningJobSpec spec = SpecFromJson(R"({
    "name": "drain", "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
    "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM",
    "limits": {"max_trials": 1, "max_attempts": 1, "max_lost_attempts": 1, "max_trial_resource": 3}
  })");
  for (const char* word : {"/bin/sh", "-c", kTrainer, "trainer", "{{x}}"})
    spec.mutable_trainer()->add_command(word);
  v1::MetricDefinition* loss = spec.mutable_trainer()->add_metrics();
  loss->set_name("loss");
  loss->set_regex("loss=([0-9.]+)");
  spec.set_working_directory(server.folder());

  JobClient client(server.Client());
  const std::string id = client.Create(spec);
  std::string drained;
  const v1::TuningJob job = client.WatchToEnd(id, [&](const v1::TuningJobEvent& event) {
    if (event.kind() != "reported" || !drained.empty()) return;
    v1::ListWorkersResponse workers;
    grpc::ClientContext context;
    REQUIRE(server.Client()->ListWorkers(&context, {}, &workers).ok());
    for (const v1::Worker& worker : workers.workers()) {
      if (worker.used_slots() == 1) drained = worker.name();
    }
    REQUIRE(!drained.empty());
    const Result result = RunWinnow({"drain", drained, "--reason", "new disk"}, server.address());
    CHECK(result.err == "");
    CHECK(result.out == drained + " is drained: it runs nothing and gets no new trials.\n");
  });

  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(job.best().objective() == 0.125);
  CHECK(job.trial_counts().failed() == 0);
  const Result workers = RunWinnow({"workers"}, server.address());
  CHECK_THAT(workers.out, Catch::Contains("LIVE, DRAINING"));
  CHECK_THAT(workers.out, Catch::Contains(drained + " is draining: new disk"));
  CHECK(RunWinnow({"uncordon", drained}, server.address()).out == drained + " gets trials again.\n");
  const Result nobody = RunWinnow({"cordon", "nobody"}, server.address());
  CHECK(nobody.code == 1);
  CHECK_THAT(nobody.err, Catch::Contains("no worker is named \"nobody\""));
}

}  // namespace
}  // namespace winnow

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/fake_service.h"
#include "tests/cli/process.h"
#include "tests/cli/sample.h"

namespace winnow {

using nlohmann::json;

namespace {

v1::SuggestTrialsResponse Suggestion() {
  return Text<v1::SuggestTrialsResponse>(R"(
    job_state: RUNNING lease { seconds: 60 }
    trials { trial: 7 attempt: 2 resource_from: 3 resource_to: 9 seed: 5
      hyperparameters { name: "eta" continuous: 0.1 } hyperparameters { name: "unused" } hyperparameters { name: "kind" categorical: "a b'c" } })");
}

}  // namespace

TEST_CASE("ask: a line per trial that a shell can read", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  service.suggestion = Suggestion();
  const Result result = RunWinnow({"ask", "latest", "--count", "3", "--wait", "10s"}, service.address());
  CHECK(result.code == 0);
  CHECK(result.out == "7 2 3 9 eta=0.1 'kind=a b'\\''c'\n");
  CHECK(service.suggest_asked.job_id() == "bank-2");
  CHECK(service.suggest_asked.count() == 3);
  CHECK(service.suggest_asked.wait().seconds() == 10);
  CHECK_FALSE(service.suggest_asked.client().empty());
  const json answer = json::parse(RunWinnow({"ask", "bank-2", "-o", "json"}, service.address()).out);
  CHECK(answer["trials"][0]["hyperparameters"][0]["continuous"] == 0.1);
  CHECK(answer["trials"][0]["configuration"] == json({{"eta", 0.1}, {"kind", "a b'c"}}));
  CHECK(answer["trials"][0]["resource_to"] == 9);
}

TEST_CASE("ask: nothing now is success, the job's end is exit code 3", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  service.suggestion.set_job_state(v1::TuningJob::RUNNING);
  const Result now = RunWinnow({"ask", "bank-2"}, service.address());
  CHECK(now.code == 0);
  CHECK(now.out.empty());
  CHECK_THAT(now.err, Catch::StartsWith("winnow: bank-2 has no trial yet"));
  service.jobs[0].set_paused(true);
  const Result paused = RunWinnow({"ask", "bank-2"}, service.address());
  CHECK(paused.code == 0);
  CHECK(paused.err == "winnow: bank-2 is paused and gives no trials; to go on: winnow resume bank-2\n");
  service.suggestion.set_job_state(v1::TuningJob::COMPLETED);
  const Result ended = RunWinnow({"ask", "bank-2"}, service.address());
  CHECK(ended.code == 3);
  CHECK(ended.out.empty());
  CHECK(ended.err == "winnow: bank-2 has ended: COMPLETED\n");
}

TEST_CASE("tell: reports values and says whether to go on", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  const Result on = RunWinnow(
      {"tell", "bank-2", "7", "2", "--metric", "auc=0.75", "--metric", "loss=nan", "--resource", "4"},
      service.address());
  CHECK(on.code == 0);
  CHECK(on.out == "go on\n");
  REQUIRE(service.reported.points_size() == 2);
  CHECK(service.reported.trial() == 7);
  CHECK(service.reported.attempt() == 2);
  CHECK(service.reported.points(0).metric() == "auc");
  CHECK(service.reported.points(0).value() == 0.75);
  CHECK(service.reported.points(1).resource() == 4);
  service.report_answer = Text<v1::ReportMetricsResponse>(R"(stop: true reason: "ASHA: rank 3 of 3.")");
  const Result stop =
      RunWinnow({"tell", "--metric", "auc=0.7", "bank-2", "7", "2", "--resource", "5"}, service.address());
  CHECK(service.reported.points_size() == 1);
  CHECK(stop.code == 3);
  CHECK(stop.out == "stop: ASHA: rank 3 of 3.\n");
  CHECK(json::parse(RunWinnow({"tell", "bank-2", "7", "2", "-o", "json"}, service.address()).out)["stop"] ==
        true);
}

TEST_CASE("complete: an attempt's end, or its failure with the reason", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  service.trials = SampleTrials();
  const Result done = RunWinnow({"complete", "bank-2", "3", "1"}, service.address());
  CHECK(done.code == 0);
  CHECK(done.out == "trial 3 is COMPLETED\n");
  CHECK_FALSE(service.completed.failed());
  const Result failed =
      RunWinnow({"complete", "bank-2", "2", "1", "--failed", "--reason", "out of memory"}, service.address());
  CHECK(failed.code == 0);
  CHECK(failed.out.rfind("trial 2 is FAILED: exit code 1", 0) == 0);
  CHECK(service.completed.failed());
  CHECK(service.completed.reason() == "out of memory");
}

TEST_CASE("replay: verified, or the first difference and exit code 1", "[cli]") {
  FakeService service;
  service.jobs = {SampleJob()};
  service.replay = Text<v1::ReplayTuningJobResponse>("facts: 1200 decisions: 80");
  const Result same = RunWinnow({"replay", "bank", "--verify"}, service.address());
  CHECK(same.code == 0);
  CHECK(same.out == "verified: 1,200 facts recorded, 80 recomputed, all the same\n");
  service.replay.set_mismatch(7);
  service.replay.set_recorded("trial 3 is stopped");
  service.replay.set_expected("trial 3 goes on");
  const Result other = RunWinnow({"replay", "bank", "--verify"}, service.address());
  CHECK(other.code == 1);
  CHECK(
      other.out ==
      "not the same: fact 7 of 1,200 differs\n  recorded  trial 3 is stopped\n  expected  trial 3 goes on\n");
  CHECK(RunWinnow({"replay", "bank"}, service.address()).code == 0);
  CHECK(json::parse(RunWinnow({"replay", "bank", "-o", "json"}, service.address()).out)["mismatch"] == 7);
  CHECK(RunWinnow({"replay", "bnak"}, service.address()).err.find("Did you mean bank?") != std::string::npos);
}

}  // namespace winnow

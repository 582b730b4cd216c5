#include <signal.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/catch.h"
#include "tests/cli/fake_service.h"
#include "tests/cli/process.h"
#include "tests/cli/sample.h"

namespace winnow {
namespace {

using nlohmann::json;

v1::TuningJobEvent LastEvent(int64_t sequence, v1::TuningJob::State state) {
  v1::TuningJobEvent event = SampleEvent(sequence, "job_ended", "The job has ended.");
  *event.mutable_job() = SampleJob();
  event.mutable_job()->set_id("bank-2");
  event.mutable_job()->set_state(state);
  return event;
}

constexpr char kSummary[] =
    "bank-2 COMPLETED: every planned trial has ended\n"
    "  best     auc 0.781235 (trial 3, at 9 units)\n"
    "           num_round 200   eta 0.25   booster gbtree\n"
    "  trials   5: 2 completed, 1 pruned, 1 cancelled, 1 failed\n"
    "  trained  1,234 units of 1,500 planned\n"
    "  time     1 m 12 s elapsed, 4 m 01 s of trial time (3.3× parallel)\n"
    "  look at  winnow trials bank-2 --sort objective\n"
    "           winnow describe bank-2 3\n"
    "           winnow analytics bank-2 --output csv\n";

// Puts the server's events of the sample's trials.
void PutDay(FakeService& service) {
  const auto put = [&](int64_t sequence, const char* kind, int64_t trial, const char* text) {
    v1::TuningJobEvent event = SampleEvent(sequence, kind, text);
    event.set_trial(trial);
    service.PutEvent(event);
  };
  put(21, "suggested", 3,
      "The search model proposes trial 3 (facts up to 20): Gaussian process on 2 results.");
  put(22, "reported", 1, "Trial 1 reported auc = 0.7 at resource 1.");
  put(23, "attempt_ended", 2, "Trial 2 failed in attempt 1: exit code 1: cannot read.");
  put(24, "trial_ended", 2, "Trial 2 has failed: exit code 1: cannot read.");
  put(25, "rung_cut", 0, "Bracket 1 is cut at resource 3: 1 of 3 trials go on.");
  put(26, "trial_ended", 1, "Trial 1 is stopped: Hyperband: bracket 1, rung 1: rank 2 of 3.");
  put(27, "attempt_ended", 3, "Trial 3 finished attempt 2.");
  put(28, "trial_ended", 3, "Trial 3 is complete.");
  service.PutEvent(LastEvent(29, v1::TuningJob::COMPLETED));
}

FakeService& WithTrialsOf(FakeService& service, const std::string& job) {
  service.jobs = {RunningJob()};
  service.trials = SampleTrials();
  for (v1::Trial& trial : service.trials) trial.set_job_id(job);
  return service;
}

}  // namespace

TEST_CASE("watch: a short line for each trial that ends where there is no terminal, then the summary",
          "[cli]") {
  FakeService service;
  PutDay(WithTrialsOf(service, "bank-2"));
  const Result result = RunWinnow({"watch", "bank-2"}, service.address());
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  CHECK(service.watched_after == std::vector<int64_t>{20});
  CHECK(result.out ==
        "08:00:24  3/5 trials done, 50 %  trial 2 FAILED: exit code 1: cannot read \"a,b\" at line 3\n"
        "08:00:25  3/5 trials done, 50 %  Bracket 1 is cut at resource 3: 1 of 3 trials go on.\n"
        "08:00:26  4/5 trials done, 50 %  trial 1 PRUNED  auc 0.745 at 2 units\n"
        "08:00:28  5/5 trials done, 50 %  trial 3 COMPLETED  auc 0.781235 at 9 units, best so far\n" +
            std::string(kSummary));
}

TEST_CASE("watch --from-start: past events are printed too, also those of a job that has ended", "[cli]") {
  for (const bool ended : {false, true}) {
    FakeService service;
    PutDay(WithTrialsOf(service, "bank-2"));
    if (ended) {
      service.jobs = {LastEvent(29, v1::TuningJob::COMPLETED).job()};
      service.jobs[0].set_last_sequence(29);
    }
    const Result result = RunWinnow({"watch", "bank-2", "--from-start"}, service.address());
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    CHECK(service.watched_after == std::vector<int64_t>{0});
    const char* second =
        ended ? "08:00:26  2/5 trials done  trial 1 PRUNED" : "08:00:26  4/5 trials done, 50 %  trial 1";
    CHECK_THAT(result.out, Catch::Contains(second));
    CHECK(result.out.find("trial 3 COMPLETED  auc 0.781235 at 9 units, best so far\n" +
                          std::string(kSummary)) != std::string::npos);
  }
  FakeService service;
  const Result both = RunWinnow({"watch", "bank-2", "--from-start", "--exec", "true"}, service.address());
  CHECK(both.code == 2);
}

TEST_CASE("watch: a trial that failed is not called the best so far", "[cli]") {
  FakeService service;
  PutDay(WithTrialsOf(service, "bank-2"));
  service.jobs[0].mutable_best()->set_trial(2);
  const Result result = RunWinnow({"watch", "bank-2"}, service.address());
  CHECK_THAT(result.out, Catch::Contains("trial 2 FAILED"));
  CHECK(result.out.find("best so far") == std::string::npos);
}

TEST_CASE("watch --verbose: the server's own words, models' choices and stops with their reasons", "[cli]") {
  FakeService service;
  PutDay(WithTrialsOf(service, "bank-2"));
  const std::string out = RunWinnow({"watch", "bank-2", "--verbose"}, service.address()).out;
  INFO(out);
  CHECK(out.find("  The search model proposes trial 3 (facts up to 20): Gaussian process on 2 results.\n") !=
        std::string::npos);
  CHECK(out.find("  Trial 2 failed in attempt 1: exit code 1: cannot read.\n") != std::string::npos);
  CHECK(out.find("  Trial 1 is stopped: Hyperband: bracket 1, rung 1: rank 2 of 3.\n") != std::string::npos);
  CHECK(out.find("reported") == std::string::npos);
  CHECK(out.find("PRUNED") == std::string::npos);
}

TEST_CASE("watch: a job that has ended shows its summary, and a failed one is exit code 1", "[cli]") {
  FakeService service;
  service.jobs = {SampleJob()};
  service.trials = SampleTrials();
  const Result ended = RunWinnow({"watch", "latest"}, service.address());
  CHECK(ended.code == 0);
  CHECK(ended.out.rfind("bank COMPLETED: every planned trial has ended\n", 0) == 0);
  service.jobs.front().set_state(v1::TuningJob::FAILED);
  service.jobs.front().clear_best();
  const Result failed = RunWinnow({"watch", "latest"}, service.address());
  CHECK(failed.code == 1);
  CHECK(failed.out.find("best     none: no trial reported auc\n") != std::string::npos);
  CHECK(failed.out.find("describe") == std::string::npos);
  service.metrics =
      Text<v1::QueryMetricsResponse>("points { trial: 1 metric: 'auc' resource: 1 value: nan }");
  CHECK(RunWinnow({"watch", "latest"}, service.address())
            .out.find("best     none: every trial that reported auc failed\n") != std::string::npos);
  CHECK(service.metrics_asked.metrics(0) == "auc");
}

TEST_CASE("submit --watch: from the first event to the summary, exit code 1 if the job fails", "[cli]") {
  for (const auto state : {v1::TuningJob::COMPLETED, v1::TuningJob::FAILED}) {
    FakeService service;
    service.jobs = {RunningJob()};
    service.trials = SampleTrials();
    service.PutEvent(LastEvent(5, state));
    const Result result = RunWinnow({"submit", "-", "--watch"}, service.address(), SampleFile());
    INFO(result.out << result.err);
    CHECK(result.code == (state == v1::TuningJob::FAILED ? 1 : 0));
    CHECK(service.watched_after == std::vector<int64_t>{0});
    CHECK(result.out.rfind("bank-2 is running: ", 0) == 0);
    CHECK(result.out.find("trained  1,234 units of 1,500 planned\n") != std::string::npos);
  }
}

TEST_CASE("watch: JSON is a line per event and the job at the end", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  service.PutEvent(SampleEvent(21, "reported", "Trial 4 reported auc = 0.7 at resource 9."));
  service.PutEvent(LastEvent(22, v1::TuningJob::STOPPED));
  const Result result = RunWinnow({"watch", "bank-2", "-o", "json"}, service.address());
  CHECK(result.code == 0);
  std::vector<json> lines;
  std::istringstream stream(result.out);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["kind"] == "reported");
  CHECK(lines[1]["job"]["state"] == "STOPPED");
  CHECK(lines[2]["id"] == "bank-2");
}

TEST_CASE("watch: a restart of the server is mentioned once, and no event is missed", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  service.trials = SampleTrials();
  Process process({"watch", "bank-2"}, service.address());
  service.PutEvent(SampleEvent(31, "rung_cut", "Before."));
  REQUIRE(process.ReadUntil("Before."));
  service.Stop();
  service.Start();
  service.AwaitWatches(2);
  service.PutEvent(SampleEvent(32, "rung_cut", "After."));
  service.PutEvent(LastEvent(33, v1::TuningJob::COMPLETED));
  CHECK(process.Wait() == 0);
  CHECK(service.watched_after == std::vector<int64_t>{20, 31});
  CHECK(process.err() ==
        "winnow: The server at " + service.address() +
            " is away; the job's trials may go on. Waiting for it…\nwinnow: the server is back\n");
  CHECK(process.out().find("After.") != std::string::npos);
}

TEST_CASE("watch: patience with a server that stays away has an end", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  Process process({"watch", "bank-2", "--patience", "0.3"}, service.address());
  service.AwaitWatches(1);
  service.Stop();
  CHECK(process.Wait() == 1);
  INFO(process.err());
  CHECK(process.err().find("winnow: waited 0.3") != std::string::npos);
  CHECK(process.err().find(" for the server, which is still away; the job may go on.\n"
                           "Watch it again with: winnow watch bank-2\n") != std::string::npos);
  CHECK(process.err().find("cannot reach winnow-server at " + service.address()) != std::string::npos);
}

TEST_CASE("watch: Ctrl-C leaves the job running and says so", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  Process process({"watch", "bank-2"}, service.address());
  service.PutEvent(SampleEvent(21, "rung_cut", "Now."));
  REQUIRE(process.ReadUntil("Now."));
  process.Signal(SIGINT);
  CHECK(process.Wait() == 130);
  CHECK(process.err() ==
        "\nThe job goes on. Watch it again with: winnow watch bank-2\nStop it with: winnow stop bank-2\n");
  CHECK(service.jobs.front().state() == v1::TuningJob::RUNNING);
}

TEST_CASE("watch: what the job waits for is said once where no event comes", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  service.jobs.front().set_state_reason("Waiting for a worker: none is present.");
  service.trials = SampleTrials();
  Process process({"watch", "bank-2"}, service.address(), Process::Io::kPipes);
  REQUIRE(process.ReadUntil("  Waiting for a worker: none is present.\n"));
  service.PutEvent(LastEvent(21, v1::TuningJob::COMPLETED));
  CHECK(process.Wait() == 0);
  const size_t at = process.out().find("Waiting for a worker");
  CHECK(process.out().find("Waiting for a worker", at + 1) == std::string::npos);
}

TEST_CASE("watch: a terminal's table is redrawn in place, and gives way to the summary", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  service.trials = SampleTrials();
  Process process({"watch", "bank-2", "--no-color"}, service.address(), Process::Io::kTerminal);
  REQUIRE(process.ReadUntil("bank-2  RUNNING  HYPERBAND, R = 9, eta = 3, maximize auc"));
  REQUIRE(process.ReadUntil("  50 %   about "));
  REQUIRE(process.ReadUntil("  best     trial 3: 0.781235 at 9 units"));
  REQUIRE(process.ReadUntil("  trials   2 running, 1 paused, 2 pruned; 5 planned"));
  REQUIRE(process.ReadUntil("  trained  750 units of 1,500 planned"));
  REQUIRE(process.ReadUntil("  2: s = 0      9      1/2  ━━━━━─────        1       0.7"));
  const size_t first_frame = process.out().size();
  service.PutEvent(SampleEvent(21, "rung_cut", "Bracket 1 is cut."));
  REQUIRE(process.ReadUntil("08:00:21  Bracket 1 is cut."));
  CHECK(process.out().find("\x1b[11A\r", first_frame - 1) != std::string::npos);
  service.PutEvent(LastEvent(22, v1::TuningJob::COMPLETED));
  CHECK(process.Wait() == 0);
  const size_t last = process.out().rfind("\x1b[J");
  REQUIRE(last != std::string::npos);
  CHECK(process.out().find("bank-2 COMPLETED: every planned trial has ended", last) != std::string::npos);
}

TEST_CASE("watch: colour on a terminal only, and not with NO_COLOR", "[cli]") {
  FakeService service;
  service.jobs = {SampleJob()};
  const auto run = [&](Process::Io io, const std::vector<std::string>& environment) {
    Process process({"list"}, service.address(), io, environment);
    CHECK(process.Wait() == 0);
    return process.out();
  };
  CHECK(run(Process::Io::kTerminal, {}).find("\x1b[32mCOMPLETED\x1b[0m") != std::string::npos);
  CHECK(run(Process::Io::kTerminal, {"NO_COLOR=1"}).find('\x1b') == std::string::npos);
  CHECK(run(Process::Io::kPipes, {}).find('\x1b') == std::string::npos);
}

}  // namespace winnow

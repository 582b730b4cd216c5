#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "tests/catch.h"
#include "tests/cli/fake_service.h"
#include "tests/cli/process.h"
#include "tests/cli/sample.h"

namespace winnow {

using nlohmann::json;

TEST_CASE("list: a line per job, newest first", "[cli]") {
  FakeService service;
  CHECK(RunWinnow({"list"}, service.address()).out ==
        "There are no jobs yet. Start one with: winnow submit FILE\n");
  service.jobs = {RunningJob(), SampleJob()};
  const Result result = RunWinnow({"list"}, service.address());
  CHECK(result.code == 0);
  CHECK(result.out ==
        "JOB     STATE      TRIALS      BEST  UNITS   ELAPSED  CREATED              OBJECTIVE\n"
        "bank-2  RUNNING       2/5  0.781235    750  1 m 12 s  2026-11-21 08:00:00  auc\n"
        "bank    COMPLETED     5/5  0.781235  1,234  1 m 12 s  2026-11-21 08:00:00  auc\n");
  const Result one = RunWinnow({"list", "--limit", "1"}, service.address());
  CHECK(one.out.find("bank-2") != std::string::npos);
  CHECK(one.out.find("The newest 1; for more: winnow list --limit N\n") != std::string::npos);
  service.jobs[0].set_paused(true);
  CHECK(RunWinnow({"list"}, service.address()).out.find("bank-2  PAUSED ") != std::string::npos);
}

TEST_CASE("list: JSON holds whole jobs under the proto's names", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob(), SampleJob()};
  const json list = json::parse(RunWinnow({"list", "--output", "json"}, service.address()).out);
  REQUIRE(list["jobs"].size() == 2);
  CHECK(list["jobs"][1]["id"] == "bank");
  CHECK(list["jobs"][1]["state"] == "COMPLETED");
  CHECK(list["jobs"][1]["trial_counts"]["running"] == 0);
  CHECK(list["jobs"][1]["best"]["objective"] == 0.78123456);
  CHECK(json::parse(RunWinnow({"-o", "json", "list"}, service.address()).out) == list);
}

TEST_CASE("describe: a job with its brackets", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob(), SampleJob()};
  const Result result = RunWinnow({"describe", "bank"}, service.address());
  CHECK(result.code == 0);
  CHECK(result.out ==
        "bank  COMPLETED  every planned trial has ended\n"
        "  strategy  HYPERBAND, R = 9, eta = 3, maximize auc\n"
        "  best      trial 3: 0.781235 at 9 units\n"
        "  created   2026-11-21 08:00:00\n"
        "  ended     2026-11-21 08:01:12\n"
        "  trials    2 completed, 1 pruned, 1 cancelled, 1 failed; 5 planned\n"
        "  trained   1,234 units of 1,500 planned\n"
        "  time      1 m 12 s elapsed, 4 m 01 s of trial time (3.3× parallel); 4 m 01 s billable\n"
        "\n"
        "  BRACKET   UNITS  ARRIVED              RUNNING      BEST  CUT-OFF\n"
        "  1: s = 1      3      3/3  ━━━━━━━━━━               0.76     0.75\n"
        "                9      1/1  ━━━━━━━━━━           0.781235\n"
        "  2: s = 0      9      2/2  ━━━━━━━━━━                0.7\n");
  const json job = json::parse(RunWinnow({"describe", "latest", "--output", "json"}, service.address()).out);
  CHECK(job["id"] == "bank-2");
  for (v1::TuningJob& listed : service.jobs) listed.clear_best();
  CHECK(RunWinnow({"describe", "bank-2"}, service.address()).out.find("  best      none yet\n") !=
        std::string::npos);
  CHECK(RunWinnow({"describe", "bank"}, service.address()).out.find("  best      none\n") !=
        std::string::npos);
  CHECK(job["spec"]["parameters"][2]["categorical"]["values"] == json({"gbtree", "dart"}));
}

TEST_CASE(
    "describe: failures by reason, what looks wrong, the owner, what pruning saved and what starting cost",
    "[cli]") {
  FakeService service;
  service.jobs = {SampleJob()};
  service.jobs.front().MergeFrom(Text<v1::TuningJob>(R"(
    owner: "alice" trial_counts { failed: 9 }
    spend { saved_resource: 411 startup_seconds: 60.25 new_process_parts: 1 forked_parts: 30 continued_parts: 3 }
    failures { reason: "CUDA out of memory" trials: 4 first_trial: 7 }
    failures { reason: "exit code 1: no\x1b[2J file" trials: 1 first_trial: 2 }
    notices { kind: IDENTICAL_CURVES trial: 5 text: "5 trials reported the same values." })"));
  const std::string text = RunWinnow({"describe", "bank"}, service.address()).out;
  INFO(text);
  CHECK(text.find("  owner     alice\n") != std::string::npos);
  CHECK(text.find("  failures  4 × CUDA out of memory (first: trial 7)\n"
                  "            1 × exit code 1: no [2J file (trial 2)\n"
                  "            4 for other reasons\n") != std::string::npos);
  CHECK(text.find("  trained   1,234 units of 1,500 planned; pruning saved 411 more (25 %)\n") !=
        std::string::npos);
  CHECK(text.find(" of trial time (3.3× parallel), 25 % of it start-up; ") != std::string::npos);
  CHECK(text.find("  parts     34: 1 new process, 30 forked, 3 continued\n") != std::string::npos);
  CHECK(text.find("  notices   trial 5: 5 trials reported the same values.\n") != std::string::npos);
  service.jobs.front().mutable_notices(0)->set_text("Trial 5 reported level 0.");
  CHECK_THAT(RunWinnow({"describe", "bank"}, service.address()).out,
             Catch::Contains("  notices   Trial 5 reported level 0.\n"));
  CHECK(RunWinnow({"list"}, service.address()).out.find("OBJECTIVE  OWNER\n") != std::string::npos);
}

TEST_CASE("list, trials, workers: a line of JSON for each", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob(), SampleJob()};
  service.trials = SampleTrials();
  service.workers = Text<v1::ListWorkersResponse>(R"(workers { name: "one" state: LIVE })");
  const auto lines = [&](const std::vector<std::string>& arguments) {
    const Result result = RunWinnow(arguments, service.address());
    std::vector<json> read;
    std::istringstream stream(result.out);
    for (std::string line; std::getline(stream, line);) read.push_back(json::parse(line));
    return read;
  };
  CHECK(lines({"list", "-o", "jsonl"}).at(1)["id"] == "bank");
  CHECK(lines({"trials", "bank", "-o", "jsonl"}).at(2)["configuration"]["num_round"] == 200);
  CHECK(lines({"analytics", "bank", "-o", "jsonl"}).size() == 3);
  CHECK(lines({"workers", "-o", "jsonl"}).at(0)["name"] == "one");
}

TEST_CASE("describe: an unknown job is answered with the ids that were meant", "[cli]") {
  FakeService service;
  const Result none = RunWinnow({"describe", "bnak"}, service.address());
  CHECK(none.code == 1);
  CHECK(none.err ==
        "winnow: there is no job \"bnak\": there are no jobs yet. Start one with: winnow submit FILE\n");
  CHECK(RunWinnow({"describe", "latest"}, service.address()).err.find("no latest one") != std::string::npos);
  service.jobs = {RunningJob(), SampleJob()};
  for (const std::string command :
       {"describe", "trials", "best", "analytics", "metrics", "watch", "stop", "delete"}) {
    const Result result = RunWinnow({command, "bnak"}, service.address());
    INFO(command << result.out);
    CHECK(result.code == 1);
    CHECK(result.err ==
          "winnow: there is no job \"bnak\". Did you mean bank?\nSee all jobs with: winnow list\n");
  }
  CHECK(RunWinnow({"logs", "bnak", "1"}, service.address()).err.find("Did you mean bank?") !=
        std::string::npos);
}

TEST_CASE("pause, resume, limit, continue, enqueue, stop and keep of a trial: one change with a reason each",
          "[cli]") {
  FakeService service;
  service.jobs = {RunningJob(), SampleJob()};
  const auto run = [&service](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--reason", "a check"});
    const auto ran = RunWinnow(arguments, service.address());
    INFO(ran.err);
    CHECK(ran.out == "bank-2: a check\n");
    CHECK(service.changed.id() == "bank-2");
    return service.changed;
  };
  CHECK(run({"pause", "latest"}).pause());
  CHECK(run({"resume", "bank-2"}).resume());
  CHECK(run({"stop", "bank-2", "7"}).stop_trial() == 7);
  CHECK(run({"keep", "bank-2", "7"}).keep_trial() == 7);
  CHECK(run({"keep", "bank-2", "7", "--undo"}).release_trial() == 7);
  const v1::ChangedLimits limits = run({"limit", "bank-2", "--max-trials", "40", "--max-cost", "0"}).limits();
  CHECK(limits.max_trials() == 40);
  CHECK(limits.has_max_cost());
  CHECK_FALSE(limits.has_max_total_resource());
  CHECK(run({"continue", "bank-2", "--max-trials", "40"}).continue_with().max_trials() == 40);
  CHECK(run({"continue", "bank-2"}).has_continue_with());
  const v1::SchedulingSpec scheduling = run({"priority", "bank-2", "--priority", "-5"}).scheduling();
  CHECK(scheduling.priority() == -5);
  CHECK_FALSE(scheduling.has_weight());
  CHECK(run({"priority", "bank-2"}).has_scheduling());
  const v1::ChangedRange eta = run({"range", "bank-2", "eta", "--min", "0.01", "--max", "0.2"}).range();
  CHECK(eta.parameter() == "eta");
  CHECK(eta.min() == "0.01");
  CHECK(eta.max() == "0.2");
  const v1::ChangedRange kind = run({"range", "bank-2", "kind", "--add", "a", "b", "--drop", "c"}).range();
  CHECK(kind.add_size() == 2);
  CHECK(kind.drop(0) == "c");
  const auto values = run({"enqueue", "bank-2", "eta=0.1", "kind=a=b"}).enqueue().hyperparameters();
  CHECK(values.at("eta") == "0.1");
  CHECK(values.at("kind") == "a=b");
  CHECK_THAT(RunWinnow({"enqueue", "bank-2", "eta"}, service.address()).err, Catch::Contains("NAME=VALUE"));
}

TEST_CASE("stop: says what happens next, and is harmless after the end", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob(), SampleJob()};
  CHECK(RunWinnow({"stop", "latest"}, service.address()).out ==
        "bank-2 is stopping: no further trial starts. See it end with: winnow watch bank-2\n");
  CHECK(RunWinnow({"stop", "bank"}, service.address()).out == "bank has ended: COMPLETED\n");
  CHECK(json::parse(RunWinnow({"stop", "bank-2", "-o", "json"}, service.address()).out)["state"] ==
        "STOPPING");
}

TEST_CASE("stop: a reason that would be lost is refused", "[cli]") {
  FakeService service;
  service.jobs = {SampleJob(), RunningJob()};
  const Result result = RunWinnow({"stop", "bank-2", "--reason", "wrong data"}, service.address());
  CHECK(result.code == 2);
  CHECK(result.err.find("--reason: is kept with the stop of a trial only") != std::string::npos);
  CHECK(RunWinnow({"stop", "bank-2", "7", "--reason", "wrong data"}, service.address()).code == 0);
}

TEST_CASE("describe: one configuration that is enqueued is not told in the plural", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  service.jobs[0].set_queued_configurations(1);
  CHECK(RunWinnow({"describe", "bank-2"}, service.address()).out.find("1 configuration is enqueued") !=
        std::string::npos);
}

TEST_CASE("delete: only an ended job goes", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob(), SampleJob()};
  const Result running = RunWinnow({"delete", "bank-2"}, service.address());
  CHECK(running.code == 1);
  CHECK(running.err == "winnow: job \"bank-2\" is running; stop it first with: winnow stop bank-2\n");
  const Result ended = RunWinnow({"delete", "bank"}, service.address());
  CHECK(ended.code == 0);
  CHECK(ended.out == "bank is deleted\n");
  CHECK(service.jobs.size() == 1);
}

TEST_CASE("workers: slots in use, and the lost ones on request", "[cli]") {
  FakeService service;
  CHECK(RunWinnow({"workers"}, service.address()).out ==
        "No worker is connected, so nothing can train. A server's own take a moment to start; start others "
        "with: winnow-worker --server " +
            service.address() + "\n");
  service.workers = Text<v1::ListWorkersResponse>(R"(
    workers { name: "local-1" host: "alpha" state: LIVE slots: 4 used_slots: 3 last_sync_time { seconds: 1795248000 } version: "0.1.0"
              cpus: 8 used_cpus: 3 memory_gib: 15.614 used_memory_gib: 1.5 limits: "cgroup v2"
              host_cpu: 0.875 host_memory: 0.5
              labels { key: "zone" value: "a" } labels { key: "fast" value: "" }
              scheduling: CORDONED scheduling_reason: "new disk" }
    workers { name: "local-2" host: "beta" state: LOST slots: 4 used_slots: 1 last_sync_time { seconds: 1795247000 } version: "0.1.0" })");
  CHECK(RunWinnow({"workers", "--all"}, service.address()).out ==
        "WORKER   HOST   STATE           SLOTS IN USE  CPUS        MEMORY  HOST CPU  HOST MEMORY  LIMITS BY  "
        "LABELS       LAST HEARD           VERSION\n"
        "local-1  alpha  LIVE, CORDONED           3/4   3/8  1.5/15.6 GiB      88 %         50 %  cgroup v2  "
        "fast zone=a  2026-11-21 08:00:00  0.1.0\n"
        "local-2  beta   LOST                     1/4                                                        "
        "             2026-11-21 07:43:20  0.1.0\n"
        "3 of 4 slots in use\n"
        "local-1 is cordoned: new disk\n");
  for (const auto& [id, used, fault] :
       {std::tuple{"0", 1.0, ""}, std::tuple{"1", 0.5, ""}, std::tuple{"GPU-c", 0.0, "too hot"}}) {
    v1::Gpu& gpu = *service.workers.mutable_workers(0)->add_gpus();
    gpu.set_id(id);
    gpu.set_used(used);
    gpu.set_fault(fault);
  }
  const std::string with_gpus = RunWinnow({"workers"}, service.address()).out;
  CHECK_THAT(with_gpus,
             Catch::Contains("MEMORY   GPUS  HOST CPU") && Catch::Contains("GiB  1.5/3      88 %"));
  CHECK_THAT(with_gpus, Catch::Contains("\nGPU GPU-c of local-1 gets no trials: too hot\n"));
  service.workers.mutable_workers(0)->clear_gpus();
  service.workers.mutable_workers(0)->set_waiting_trainers(12);
  service.workers.mutable_workers(0)->set_suspended_trainers(2);
  service.workers.mutable_workers(0)->set_parents(1);
  CHECK_THAT(RunWinnow({"workers"}, service.address()).out,
             Catch::Contains("SLOTS IN USE  WAITING                     CPUS") &&
                 Catch::Contains("3/4  12 (2 suspended), 1 parent   3/8"));
  const json list = json::parse(RunWinnow({"workers", "-o", "json"}, service.address()).out);
  REQUIRE(list["workers"].size() == 1);
  CHECK(list["workers"][0]["used_slots"] == 3);
  CHECK(list["workers"][0]["labels"]["zone"] == "a");
  CHECK(list["workers"][0]["limits"] == "cgroup v2");
  CHECK(list["workers"][0]["host_cpu"] == 0.875);
  CHECK(list["workers"][0]["host_memory"] == 0.5);
  CHECK(list["workers"][0]["scheduling"] == "CORDONED");
}

TEST_CASE("Completion: job ids come from the server", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob(), SampleJob()};
  CHECK(RunWinnow({"__complete", "jobs"}, service.address()).out == "bank-2\nbank\n");
}

TEST_CASE("Client: another server is named in hints again", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  CHECK(RunWinnow({"stop", "bank-2", "--server", service.address()}, "").out ==
        "bank-2 is stopping: no further trial starts. See it end with: winnow watch bank-2 --server " +
            service.address() + "\n");
}

TEST_CASE("Client: the error for a server that does not answer in time says so", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  const std::lock_guard held(service.mutex);  // so no call is answered
  const Result result = RunWinnow({"list", "--timeout", "0.2"}, service.address());
  CHECK(result.code == 1);
  CHECK(result.err.find("did not answer within 0.2 s") != std::string::npos);
  CHECK(result.err.find("--timeout") != std::string::npos);
}

}  // namespace winnow

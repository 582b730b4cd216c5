#include "server/host/pools/pools_file.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <map>

#include "base/utf8.h"
#include "server/host/pools/command_pool.h"
#include "server/host/pools/pilot_files.h"
#include "server/host/pools/program.h"
#include "server/host/pools/slurm_commands.h"
#include "server/host/pools/slurm_pool.h"
#include "server/host/pools/slurm_rest.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

absl::StatusOr<std::vector<DeclaredPool>> ReadText(const std::string& text) {
  TempFolder folder;
  const std::string file = (folder / "pools.json").string();
  std::ofstream(file) << text;
  return ReadPoolsFile(file, folder / "pools", "winnow-0123abcd",
                       {{"SLURM", "slurm", &SlurmPool::Make}, {"COMMAND", "command", &CommandPool::Make}});
}

AllocationRequest RequestOf(int64_t number, int32_t nodes) {
  AllocationRequest request;
  request.number = number;
  request.name = "winnow-0123abcd-cpu-" + std::to_string(number);
  request.nodes = nodes;
  request.shape.cpus = 2;
  request.shape.memory_gib = 1.5;
  request.time_limit = std::chrono::seconds(90);
  request.command = {"winnow-worker", "--name",       request.name + ".{node}", "--work-dir",
                     "{scratch}",     "--token-file", "{files}/token",          "it's"};
  return request;
}

}  // namespace

TEST_CASE("pools' file: every error is reported, with its path", "[server]") {
  const auto pools = ReadText(R"({"pools": [
    {"name": "CPU", "kind": "SLURM", "max_nodes": 0, "worker": {"slots": "two", "core": 1},
     "slurm": {"partition": 3, "arguments": ["--array=1-3"]}},
    {"name": "b-", "kind": "PBS"},
    {"name": "c", "kind": "COMMAND", "time_limit_seconds": 60, "command": {"submit": ["s"]}}], "other": 1})");
  REQUIRE(!pools.ok());
  const std::string text(pools.status().message());
  for (const char* part :
       {"pools[0].name: is \"CPU\"; expected 1 to 20 lower-case letters",
        "pools[1].name: is \"b-\"; expected 1 to 20 lower-case letters, digits and '-', which is neither",
        "pools[0].max_nodes: is 0; expected a whole number from 1",
        "pools[0].worker.slots: is \"two\"; expected a whole number",
        "pools[0].worker.core: is not a field; expected one of",
        "pools[0].slurm.partition: is 3; expected a string",
        "pools[0].slurm.arguments: has \"--array=1-3\", which the server sets itself",
        "pools[1].kind: is \"PBS\"; expected SLURM or COMMAND", "pools[2].time_limit_seconds: is 60",
        "pools[2].command.list: is required", "other: is not a field"}) {
    INFO(text);
    CHECK_THAT(text, Catch::Contains(part));
  }
  CHECK_THAT(std::string(ReadText("{").status().message()), Catch::Contains("is not JSON"));
  CHECK_THAT(std::string(ReadText("[1e999]").status().message()), Catch::Contains("is not JSON"));
  CHECK_THAT(std::string(ReadPoolsFile("/", "/", "w", {}).status().message()),
             Catch::Contains("/ cannot be read: Is a directory"));
}

TEST_CASE("pools' file: an authority is a certificate, not a key or a directory", "[server]") {
  TempFolder folder;
  const std::string key = (folder / "server.key").string();
  std::ofstream(key) << "-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n";
  const std::map<std::string, std::string> problems = {{key, "contains no certificate"},
                                                       {folder.path().string(), "cannot be read"}};
  for (const auto& [file, problem] : problems) {
    const auto pools =
        ReadText(R"({"pools": [{"name": "a", "kind": "SLURM", "worker": {"tls_ca": ")" + file + R"("}}]})");
    REQUIRE_FALSE(pools.ok());
    CHECK_THAT(std::string(pools.status().message()),
               Catch::Contains("pools[0].worker.tls_ca: is \"" + file + "\", which " + problem));
  }
}

TEST_CASE("pools' file: a pool with its defaults", "[server]") {
  const auto pools = ReadText(R"({"pools": [{"name": "cpu", "kind": "SLURM", "worker": {}}]})");
  REQUIRE(pools.ok());
  REQUIRE(pools->size() == 1);
  const PoolSettings& settings = (*pools)[0].settings;
  CHECK(settings.worker.slots == 1);
  CHECK(settings.worker_command == std::vector<std::string>{"winnow-worker"});
  CHECK(settings.min_nodes == 0);
  CHECK(settings.max_nodes == 1);
  CHECK(settings.idle_timeout == std::chrono::seconds(300));
}

TEST_CASE("SlurmPool: renders one allocation, and several single nodes as an array", "[server]") {
  const auto pools = ReadText(
      R"({"pools": [{"name": "cpu", "kind": "SLURM", "slurm": {"partition": "p", "shared_dir": "/s"}}]})");
  REQUIRE(pools.ok());
  const Pool& pool = *(*pools)[0].engine;
  const std::string wide = pool.Render({RequestOf(7, 3)});
  for (const char* part :
       {"--parsable", "--no-requeue", "--job-name=winnow-0123abcd-cpu-7", "--nodes=3", "--mem=1536",
        "--cpus-per-task=2", "--time=2", "--partition=p", "winnow_files='/s'/\"$winnow_name\""}) {
    INFO(wide);
    CHECK_THAT(wide, Catch::Contains(part));
  }
  const std::string array = pool.Render({RequestOf(1007, 1), RequestOf(1008, 1)});
  for (const char* part : {"--job-name=winnow-0123abcd-cpu-2x", "--array=7-8",
                           "winnow_name='winnow-0123abcd-cpu-'$((1000 + SLURM_ARRAY_TASK_ID))"}) {
    INFO(array);
    CHECK_THAT(array, Catch::Contains(part));
  }
}

TEST_CASE("SlurmPool: reads squeue, elements of arrays too", "[server]") {
  std::vector<Allocation> read;
  for (const SlurmJob& job : ReadSqueue("5|PENDING|Resources||winnow-0123abcd-cpu-7|N/A\n"
                                        "6_7|RUNNING|None|n[1-3]|winnow-0123abcd-cpu-2x|7\n"
                                        "8|TIMEOUT|TimeLimit|n1|winnow-0123abcd-cpu-9|N/A\n"
                                        "9|COMPLETING|None|n1|winnow-0123abcd-cpu-10|N/A\n"
                                        "10|SOMETHING_NEW|None|n1|winnow-0123abcd-cpu-11|N/A\n"
                                        "slurm_load_jobs: a line of another kind\n"))
    read.push_back(ReadSlurmJob(job));
  using State = Allocation::State;
  CHECK(read ==
        std::vector<Allocation>{
            {"winnow-0123abcd-cpu-7", "5", State::kQueued, "Resources: waits for free nodes", {}},
            {"winnow-0123abcd-cpu-1007", "6_7", State::kRunning, "", {"n[1-3]"}},
            {"winnow-0123abcd-cpu-9", "8", State::kEnded, "TIMEOUT: its time limit was reached", {"n1"}},
            {"winnow-0123abcd-cpu-10", "9", State::kRunning, "COMPLETING: its nodes are being freed", {"n1"}},
            {"winnow-0123abcd-cpu-11", "10", State::kRunning, "SOMETHING_NEW", {"n1"}}});
}

TEST_CASE("SlurmPool: what Slurm has put back and holds will not start", "[server]") {
  std::vector<bool> held;
  for (const SlurmJob& job : ReadSqueue("5|PENDING|launch failed requeued held||a-1|N/A\n"
                                        "6|PENDING|JobHoldMaxRequeue||a-2|N/A\n"
                                        "7|REQUEUE_HOLD|None||a-3|N/A\n"
                                        "8|PENDING|JobHeldUser||a-4|N/A\n"
                                        "9|PENDING|BeginTime||a-5|N/A\n"))
    held.push_back(ReadSlurmJob(job).held);
  CHECK(held == std::vector<bool>{true, true, true, false, false});
  const std::vector<SlurmJob> jobs = ReadSlurmRestJobs(R"({"jobs": [
    {"job_id": 5, "job_state": "PENDING", "state_reason": "JobHeldUser", "name": "a-1",
     "state_description": "launch failed requeued held"}]})");
  REQUIRE(jobs.size() == 1);
  CHECK(ReadSlurmJob(jobs[0]).held);
  CHECK(ReadSlurmJob(jobs[0]).reason == "launch failed requeued held");
}

TEST_CASE("SlurmPool: knows what is a limit or lack of nodes, no answer, and a refusal", "[server]") {
  const auto said = [](const char* words) { return SlurmError(words, words).code(); };
  CHECK(said("sbatch: error: QOSMaxSubmitJobPerUserLimit") == absl::StatusCode::kResourceExhausted);
  CHECK(said("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying") ==
        absl::StatusCode::kResourceExhausted);
  CHECK(said("Required node not available (down, drained or reserved)") ==
        absl::StatusCode::kResourceExhausted);
  CHECK(said("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect "
             "failure)") == absl::StatusCode::kUnavailable);
  CHECK(said("sbatch: error: invalid partition specified: gold") == absl::StatusCode::kInvalidArgument);
  // One sentence for limits that others fill, and for those that a job exceeds by itself.
  const std::string policy =
      "\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, "
      "user's size and/or time limits)";
  for (const char* limit : {"AssocMaxSubmitJobLimit", "AssocGrpSubmitJobsLimit", "QOSGrpSubmitJobsLimit",
                            "QOSMaxSubmitJobPerUserLimit", "Reached jobs per hour limit"})
    CHECK(said(("sbatch: error: " + (limit + policy)).c_str()) == absl::StatusCode::kResourceExhausted);
  for (const char* limit : {"QOSMaxWallDurationPerJobLimit", "QOSMaxNodePerJobLimit", "QOSMinCpuNotSatisfied",
                            "AssocMaxWallDurationPerJobLimit", "QOSGrpCpuLimit"})
    CHECK(said(("sbatch: error: " + (limit + policy)).c_str()) == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("SlurmPool: reads the jobs of slurmrestd, and of an array that waits each element", "[server]") {
  const std::vector<SlurmJob> jobs = ReadSlurmRestJobs(R"({"jobs": [
    {"job_id": 5, "job_state": "PENDING", "state_reason": "Resources", "nodes": "", "name": "a-7",
     "array_job_id": 0, "array_task_id": null, "array_task_string": ""},
    {"job_id": 9, "job_state": "RUNNING", "state_reason": "None", "nodes": "n1", "name": "a-2x",
     "array_job_id": 6, "array_task_id": 7, "array_task_string": ""},
    {"job_id": 6, "job_state": "PENDING", "state_reason": "Priority", "nodes": "", "name": "a-2x",
     "array_job_id": 6, "array_task_id": null, "array_task_string": "8-9,12%2"},
    {"name": "no job"}, 7]})");
  std::vector<std::string> ids;
  for (const SlurmJob& job : jobs) ids.push_back(job.id + " " + ReadSlurmJob(job).name);
  CHECK(ids == std::vector<std::string>{"5 a-7", "6_7 a-1007", "6_8 a-1008", "6_9 a-1009", "6_12 a-1012"});
  CHECK(ReadSlurmRestJobs("[1]").empty());
  CHECK(ReadSlurmRestJobs("<html>").empty());
}

TEST_CASE("SlurmPool: the newest version of slurmrestd's interface that is known", "[server]") {
  CHECK(SlurmRestVersion(R"({"paths": {"/slurm/v0.0.36/job/submit": {}, "/slurm/v0.0.38/job/submit": {},
                             "/slurm/v0.0.41/job/submit": {}}})") == "v0.0.38");
  CHECK(SlurmRestVersion(R"({"paths": {"/slurm/v0.0.41/job/submit": {}}})").empty());
  CHECK(SlurmRestVersion("").empty());
}

TEST_CASE("CommandPool: a line of `list` without tabs or with an unknown state is an error, not a state",
          "[server]") {
  const auto said = [](const std::string& line) {
    const auto pools = ReadText(R"({"pools": [{"name": "a", "kind": "COMMAND", "command":
      {"submit": ["true"], "cancel": ["true"], "list": ["printf", ")" +
                                line + R"(\\nmore words\\n"]}}]})");
    REQUIRE(pools.ok());
    return (*pools)[0].engine->List({{"w-a-1", "7"}});
  };
  const auto good = said("w-a-1\\\\t7\\\\tQUEUED");
  REQUIRE(good.ok());
  REQUIRE(good->size() == 1);
  CHECK(good->at(0).state == Allocation::State::kQueued);
  for (const auto& [line, words] :
       {std::pair{"w-a-1\\\\t7\\\\tCOMPLETED", "printf printed \"w-a-1<tab>7<tab>COMPLETED\"; expected"},
        std::pair{"w-a-1 7 ENDED", "with tabs between them"}}) {
    const auto list = said(line);
    CHECK(absl::IsUnavailable(list.status()));
    CHECK_THAT(std::string(list.status().message()), Catch::Contains(words));
  }
  CHECK(said("w-a-11\\\\t8\\\\tCOMPLETED")->empty());
}

TEST_CASE("Pools: a List that hangs ends soon after Stop", "[server]") {
  TempFolder folder;
  const std::string squeue = (folder / "squeue").string();
  std::ofstream(squeue) << "#!/bin/sh\nexec sleep 3600\n";
  std::filesystem::permissions(squeue, std::filesystem::perms::owner_all);
  const auto pools = ReadText(R"({"pools": [
    {"name": "a", "kind": "COMMAND", "command":
      {"submit": ["true"], "cancel": ["true"], "list": ["sleep", "3600"], "timeout_seconds": 600}},
    {"name": "b", "kind": "SLURM", "slurm": {"shared_dir": "/tmp", "bin_dir": ")" +
                              folder.path().string() + R"("}}]})");
  INFO(pools.status().ToString());
  REQUIRE(pools.ok());
  for (const DeclaredPool& pool : *pools) {
    pool.engine->Stop();
    const auto known = pool.engine->List({{"w-a-1", "7"}});
    CHECK(absl::IsUnavailable(known.status()));
    CHECK_THAT(std::string(known.status().message()), Catch::Contains("was ended with the server"));
  }
}

TEST_CASE("pilots: their last words are those that say why no worker came", "[server]") {
  TempFolder folder;
  const PilotFiles files(folder.path());
  const auto words = [&](const std::string& output) {
    std::filesystem::create_directories(files.Of("w-1"));
    std::ofstream(files.OutputOf("w-1")) << output;
    return files.LastWords("w-1");
  };
  CHECK(words("2026-11-30T01:46:27.049 info worker w-1.0 for head:7070\n"
              "2026-11-30T01:46:38.377 warning worker w-1.0 waits: Domain name not found\n"
              "srun: Job step aborted: Waiting up to 17 seconds for job step to finish.\n"
              "srun: got SIGCONT\n"
              "srun: forcing job termination\n"
              "slurmstepd-n1: error: *** STEP 2.0 ON n1 CANCELLED ***\n"
              "2026-11-30T01:42:54.498 info leaving: 0 trainers to stop\n") ==
        "2026-11-30T01:46:38.377 warning worker w-1.0 waits: Domain name not found / "
        "slurmstepd-n1: error: *** STEP 2.0 ON n1 CANCELLED ***");
  CHECK(words("sh: nosuch: not found\nsrun: error: n1: task 0: Exited with exit code 127\n") ==
        "sh: nosuch: not found / srun: error: n1: task 0: Exited with exit code 127");
  CHECK(words("srun: forcing job termination\n") == "srun: forcing job termination");
  CHECK(words("f\374r\n") == "f?r");
}

TEST_CASE("programs of engines: what they print becomes UTF-8, also where words are cut", "[server]") {
  using std::chrono::seconds;
  const auto run = [](const std::string& script) {
    return RunProgram({"/bin/sh", "-c", script}, "", seconds(60));
  };
  const auto latin1 = run(R"(printf 'M\374nchen'; printf 'kein Platz f\374r 3 Knoten' >&2; exit 1)");
  REQUIRE(latin1.ok());
  CHECK(latin1->exit_code == 1);
  CHECK(latin1->output == "M?nchen");
  CHECK(latin1->Words() == "kein Platz f?r 3 Knoten");
  const auto cut = run(R"(printf '.%0398d' 0 >&2; printf '\303\274ber' >&2)");
  REQUIRE(cut.ok());
  CHECK_THAT(cut->Words(), Catch::EndsWith("0…"));
  CHECK(ValidUtf8(cut->Words()) == cut->Words());
}

TEST_CASE("programs of engines: one that closes its outputs and goes on is late too", "[server]") {
  const auto late =
      RunProgram({"/bin/sh", "-c", "exec > /dev/null 2>&1; sleep 600"}, "", std::chrono::milliseconds(100));
  CHECK(absl::IsUnavailable(late.status()));
  CHECK_THAT(std::string(late.status().message()), Catch::Contains("/bin/sh did not end within"));
}

TEST_CASE("SlurmPool: every error in `rest` is reported", "[server]") {
  const auto pools = ReadText(R"({"pools": [{"name": "a", "kind": "SLURM", "slurm": {"arguments": ["--x"],
    "rest": {"url": "head:6820", "job": {"name": "mine"}, "tokn_file": "x"}}},
    {"name": "b", "kind": "SLURM", "slurm": {"rest": {"url": "http://head:6820"}}}]})");
  REQUIRE_FALSE(pools.ok());
  for (const char* part :
       {"slurm.arguments: is for Slurm's commands", "slurm.rest.url: is \"head:6820\"",
        "slurm.rest.job: has \"name\"", "slurm.rest.tokn_file", "slurm.rest.token_file: is absent"}) {
    INFO(pools.status().message());
    CHECK_THAT(std::string(pools.status().message()), Catch::Contains(part));
  }
}

TEST_CASE("a shell gets a worker's arguments as they are", "[server]") {
  CHECK(ShellArgument("it's {files}/a b", "", "$1") == "'it'\\''s '\"$winnow_files\"'/a b'");
  CHECK(ShellArgument("x-7.{node}", "x-7", "$SLURM_PROCID") == "\"$winnow_name\"'.'\"$SLURM_PROCID\"");
  CHECK(ShellArgument("", "x", "0") == "''");
}

}  // namespace winnow

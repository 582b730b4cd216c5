#include "worker/runs/trainer_environment.h"

#include <map>

#include "tests/catch.h"

namespace winnow {
namespace {

std::map<std::string, std::string> ToMap(const std::vector<std::string>& entries) {
  std::map<std::string, std::string> map;
  for (const std::string& entry : entries) {
    const size_t equals = entry.find('=');
    CHECK(map.emplace(entry.substr(0, equals), entry.substr(equals + 1)).second);
  }
  return map;
}

v1::Assignment ThirdOfFour() {
  v1::Assignment assignment;
  assignment.set_id("job-7");
  assignment.set_job_id("job");
  assignment.set_trial(7);
  assignment.set_attempt(2);
  assignment.set_rank(2);
  assignment.set_world_size(4);
  for (const char* worker : {"a", "b", "b", "b"}) {
    v1::Peer* peer = assignment.add_peers();
    peer->set_worker(worker);
    peer->set_host(std::string("host-") + worker);
  }
  assignment.set_master_address("10.0.0.1");
  assignment.set_master_port(29501);
  assignment.set_resource_from(3);
  assignment.set_resource_to(9);
  assignment.set_resource_offset(1);
  (*assignment.mutable_environment())["SM_HPS"] = "{\"eta\": 0.5}";
  (*assignment.mutable_environment())["HOME"] = "/job";
  return assignment;
}

const TrialDirectories kDirectories{"/s/checkpoint", "/s/model", "/s/output"};

}  // namespace

TEST_CASE("TrainerEnvironment: a rank of a trial cluster", "[worker]") {
  const v1::Assignment assignment = ThirdOfFour();
  auto got =
      ToMap(TrainerEnvironment(assignment, kDirectories, {"here", LocalRank(assignment), {3, 1}, "/work"},
                               {"PATH=/bin", "HOME=/root", "RANK=9", "SM_HP_OLD=1", "WINNOW_TRIAL=3",
                                "WINNOW_WORK_DIR=/outer", "WINNOW_SLOT=9"}));
  const std::map<std::string, std::string> expected = {
      {"PATH", "/bin"},
      {"HOME", "/job"},
      {"SM_HPS", "{\"eta\": 0.5}"},
      {"RANK", "2"},
      {"WORLD_SIZE", "4"},
      {"LOCAL_RANK", "1"},
      {"MASTER_ADDR", "10.0.0.1"},
      {"MASTER_PORT", "29501"},
      {"SM_HOSTS", R"(["host-a","host-b","host-b","host-b"])"},
      {"SM_CURRENT_HOST", "host-b"},
      {"SM_MODEL_DIR", "/s/model"},
      {"SM_OUTPUT_DATA_DIR", "/s/output"},
      {"WINNOW_CHECKPOINT_DIR", "/s/checkpoint"},
      {"WINNOW_RESOURCE_FROM", "3"},
      {"WINNOW_RESOURCE_TO", "9"},
      {"WINNOW_RESOURCE_OFFSET", "1"},
      {"WINNOW_JOB", "job"},
      {"WINNOW_TRIAL", "7"},
      {"WINNOW_ATTEMPT", "2"},
      {"WINNOW_ASSIGNMENT", "job-7"},
      {"WINNOW_WORK_DIR", "/work"},
      {"WINNOW_SLOT", "3"},
      {"PYTHONUNBUFFERED", "1"}};
  CHECK(got == expected);
}

TEST_CASE("TrainerEnvironment: a trial of one node without peers is its own master", "[worker]") {
  v1::Assignment assignment;
  auto got = ToMap(TrainerEnvironment(assignment, kDirectories,
                                      {"127.0.0.1", LocalRank(assignment), {0, 29503}, "/work"}, {}));
  CHECK(got["RANK"] == "0");
  CHECK(got["WORLD_SIZE"] == "1");
  CHECK(got["LOCAL_RANK"] == "0");
  CHECK(got["MASTER_ADDR"] == "127.0.0.1");
  CHECK(got["MASTER_PORT"] == "29503");
  CHECK(got["SM_HOSTS"] == R"(["127.0.0.1"])");
  CHECK(got["SM_CURRENT_HOST"] == "127.0.0.1");
}

TEST_CASE("TrainerEnvironment: what users set for trainers is passed on, what opens the server is not",
          "[worker]") {
  const std::vector<std::string> own = {
      "WINNOW_CACHE_DIR=/fast/cache", "WINNOW_CACHE_BYTES=1000", "WINNOW_TOKEN=secret",
      "WINNOW_TOKEN_FILE=/etc/token", "WINNOW_TLS_KEY=/etc/key", "WINNOW_SERVER=unix:/run/winnow.sock"};
  auto got = ToMap(TrainerEnvironment({}, kDirectories, {"127.0.0.1", 0, {}, "/work"}, own));
  CHECK(got["WINNOW_CACHE_DIR"] == "/fast/cache");
  CHECK(got["WINNOW_CACHE_BYTES"] == "1000");
  for (const char* name : {"WINNOW_TOKEN", "WINNOW_TOKEN_FILE", "WINNOW_TLS_KEY", "WINNOW_SERVER"})
    CHECK(got.count(name) == 0);
}

TEST_CASE("TrainerEnvironment: Python keeps no lines back, unless the job says otherwise", "[worker]") {
  v1::Assignment assignment = ThirdOfFour();
  const TrainerHost host{"host-b", 1, {}, "/work"};
  CHECK(ToMap(TrainerEnvironment(assignment, kDirectories, host, {}))["PYTHONUNBUFFERED"] == "1");
  (*assignment.mutable_environment())["PYTHONUNBUFFERED"] = "";
  CHECK(ToMap(TrainerEnvironment(assignment, kDirectories, host, {}))["PYTHONUNBUFFERED"] == "");
}

TEST_CASE("TrainerEnvironment: devices that were given out replace others, and without any all stay",
          "[worker]") {
  v1::Assignment assignment = ThirdOfFour();
  const TrainerHost host{"host-b", 1, {3, 30000}, "/work"};
  const std::vector<std::string> inherited = {"CUDA_VISIBLE_DEVICES=7"};
  auto variables = ToMap(TrainerEnvironment(assignment, kDirectories, host, inherited));
  CHECK(variables["CUDA_VISIBLE_DEVICES"] == "7");
  CHECK(variables["WINNOW_SLOT"] == "3");
  CHECK(variables.count("ROCR_VISIBLE_DEVICES") == 0);
  CHECK(variables.count("CUDA_DEVICE_ORDER") == 0);
  assignment.add_gpus("2");
  assignment.add_gpus("GPU-aa");
  (*assignment.mutable_environment())["CUDA_VISIBLE_DEVICES"] = "0,1";
  variables = ToMap(TrainerEnvironment(assignment, kDirectories, host, inherited));
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"})
    CHECK(variables[name] == "2,GPU-aa");
  CHECK(variables["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID");
}

TEST_CASE("TrainerEnvironment: passes a limit of processors to libraries that count them, unless it is set",
          "[worker]") {
  v1::Assignment assignment = ThirdOfFour();
  const TrainerHost host{"host-b", 1, {0, 30000}, "/work"};
  CHECK(ToMap(TrainerEnvironment(assignment, kDirectories, host, {})).count("OMP_NUM_THREADS") == 0);
  assignment.set_cpus(2.5);
  (*assignment.mutable_environment())["MKL_NUM_THREADS"] = "7";
  auto variables = ToMap(TrainerEnvironment(assignment, kDirectories, host, {"OPENBLAS_NUM_THREADS=9"}));
  CHECK(variables["OMP_NUM_THREADS"] == "3");
  CHECK(variables["NUMEXPR_NUM_THREADS"] == "3");
  CHECK(variables["MKL_NUM_THREADS"] == "7");
  CHECK(variables["OPENBLAS_NUM_THREADS"] == "9");
}

}  // namespace winnow

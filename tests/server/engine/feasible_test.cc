#include "server/engine/feasible.h"

#include "server/grpc/errors.h"
#include "server/host/declared_workers.h"
#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

v1::TuningJobSpec Asking(int32_t nodes, int32_t slots = 0, const std::string& label = "") {
  v1::TuningJobSpec spec = RandomJob(2, 3);
  spec.mutable_cluster()->set_nodes(nodes);
  spec.mutable_cluster()->set_slots(slots);
  if (!label.empty()) (*spec.mutable_cluster()->mutable_labels())[label] = "";
  return spec;
}

std::string Refusal(const v1::TuningJobSpec& spec, const std::vector<WorkerRoom>& known,
                    const std::vector<WorkerRoom>& declared = {}) {
  std::string text;
  for (const Violation& violation : CheckFits(spec, "", known, declared))
    text += violation.field + " " + violation.description;
  return text;
}

std::vector<WorkerRoom> Declared(const std::string& text) {
  auto workers = ReadDeclaredWorkers(text);
  INFO(workers.status().ToString());
  REQUIRE(workers.ok());
  return *workers;
}

TEST_CASE("Feasible: a pool that there is not is named, with those that there are", "[server]") {
  const std::vector<WorkerRoom> known = {{"a", 8, "", {{"pool", "cpu"}}}, {"b", 4, ""}};
  const std::vector<WorkerRoom> declared = {{"", 64, "", {{"pool", "big"}}}};
  v1::TuningJobSpec spec = Asking(2, 6);
  spec.mutable_cluster()->add_pools("cpu");
  CHECK(Refusal(spec, known, declared) ==
        "cluster.nodes is 2, but no set of registered or declared workers could hold 2 ranks of 6 slots in "
        "pool "
        "cpu: the largest is 1");
  spec.mutable_cluster()->add_pools("big");
  CHECK(Refusal(spec, known, declared) == "");
  spec.mutable_cluster()->add_pools("gpu");
  CHECK(Refusal(spec, known, declared) ==
        "cluster.pools[2] is \"gpu\", which is not a pool; expected big or cpu");
  CHECK(Refusal(spec, {{"b", 4, ""}}) ==
        "cluster.pools[0] is \"cpu\", which is not a pool; the server has none"
        "cluster.pools[1] is \"big\", which is not a pool; the server has none"
        "cluster.pools[2] is \"gpu\", which is not a pool; the server has none");
  CHECK(Refusal(spec, {}) == "");  // workers may come
}

TEST_CASE("Feasible: what no machine could hold is refused, and the reason says what could be", "[server]") {
  const std::vector<WorkerRoom> known = {
      {"a", 8, "", {{"gpu", ""}}, 16, 32}, {"b", 4, "", {{"gpu", ""}}, 4, 64}, {"c", 64, "", {}, 8, 8}};
  CHECK(Refusal(Asking(3, 4, "gpu"), known) == "");
  CHECK(Refusal(Asking(4, 4, "gpu"), known) ==
        "cluster.nodes is 4, but no set of registered workers could hold 4 ranks of 4 slots with label gpu: "
        "the largest is 3");
  CHECK(Refusal(Asking(1, 0, "tpu"), known) == "cluster.labels no registered worker is one with label tpu");
  CHECK(Refusal(Asking(1, 9, "gpu"), known) ==
        "cluster.slots is 9, but the most that a registered worker with label gpu has is 8");
  v1::TuningJobSpec spec = Asking(2);
  spec.mutable_cluster()->set_cpus(12);
  CHECK(
      Refusal(spec, known) ==
      "cluster.nodes is 2, but no set of registered workers could hold 2 ranks of 1 slot and 12 processors: "
      "the largest is 1");
  spec.mutable_cluster()->set_cpus(17);
  CHECK(Refusal(spec, known) == "cluster.cpus is 17, but the most that a registered worker has is 16");
  spec.mutable_cluster()->set_cpus(0);
  spec.mutable_cluster()->set_memory_gib(65);
  CHECK(Refusal(spec, known) == "cluster.memory_gib is 65, but the most that a registered worker has is 64");
}

TEST_CASE("Feasible: GPUs, of workers that have some", "[server]") {
  std::vector<WorkerRoom> known = {{"a", 8, ""}, {"b", 8, ""}};
  v1::TuningJobSpec spec = Asking(1);
  spec.mutable_cluster()->set_gpu_share(0.5);
  CHECK(Refusal(spec, known) == "cluster.gpu_share is 0.5, but no registered worker has a GPU");
  known[1].gpus = {{"0"}, {"1"}};
  CHECK(Refusal(spec, known) == "");
  spec.mutable_cluster()->set_gpu_share(0);
  spec.mutable_cluster()->set_gpus(3);
  CHECK(Refusal(spec, known) == "cluster.gpus is 3, but the most that a registered worker has is 2");
  CHECK(Refusal(spec, known, Declared("gpus=4")) == "");
  spec.mutable_cluster()->set_gpus(1);
  CHECK(Refusal(spec, known) == "");
  spec.mutable_cluster()->set_nodes(3);
  CHECK(Refusal(spec, known) ==
        "cluster.nodes is 3, but no set of registered workers could hold 3 ranks of 1 slot and 1 GPU: the "
        "largest is 2");
}

TEST_CASE("Feasible: declared machines count as well, each kind by itself", "[server]") {
  const std::vector<WorkerRoom> known = {{"a", 2, ""}};
  CHECK(Refusal(Asking(8), known, Declared("8 x slots=1")) == "");
  CHECK(Refusal(Asking(9), known, Declared("8 x slots=1")) ==
        "cluster.nodes is 9, but no set of registered or declared workers could hold 9 ranks of 1 slot: the "
        "largest is 8");
  CHECK(Refusal(Asking(9), {}) == "");  // nothing is known: the job waits
}

TEST_CASE("Feasible: the largest number of nodes of a hyperparameter has to fit", "[server]") {
  v1::TuningJobSpec spec = Asking(0);
  v1::ParameterSpec* width = spec.add_parameters();
  width->set_name("ranks");
  width->mutable_discrete()->add_values(1);
  width->mutable_discrete()->add_values(4);
  spec.mutable_cluster()->set_nodes_parameter("ranks");
  CHECK(Refusal(spec, {{"a", 4, ""}}) == "");
  CHECK(Refusal(spec, {{"a", 3, ""}}) ==
        "cluster.nodes_parameter is \"ranks\", of which the largest value is 4, but no set of registered "
        "workers could hold 4 ranks of 1 slot: the largest is 3");
}

TEST_CASE("Feasible: a machine counts once, as it last was, unless it has left", "[server]") {
  WorkerRow row;
  row.id = "1";
  row.name = "one";
  row.slots = 4;
  row.state = WorkerState::kLost;
  row.register_us = 10;
  WorkerRow anew = row, left = row;
  anew.id = "2";
  anew.slots = 2;
  anew.state = WorkerState::kLive;
  anew.register_us = 20;
  left.name = "two";
  left.state = WorkerState::kGone;
  const auto known = KnownMachines({anew, row, left});
  REQUIRE(known.size() == 1);
  CHECK(known[0].free_slots == 2);
  CHECK(KnownMachines({row}).size() == 1);
}

TEST_CASE("Feasible: jobs are refused at the door, but a known request has its job", "[server]") {
  Play play;
  const std::string early = play.Create(Asking(3), "request");
  FakeWorker one(play, "one", 2);
  REQUIRE(one.Tell().ok());
  CHECK(play.Create(Asking(3), "request") == early);
  const absl::Status refused = play.TryCreate(Asking(3)).status();
  CHECK(refused.code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(refused.message()),
             Catch::Contains("could hold 3 ranks of 1 slot: the largest is 2"));
  one.StartAnew();  // its old self is lost, and is the same machine
  CHECK_FALSE(play.TryCreate(Asking(3)).ok());
  FakeWorker two(play, "two", 1);
  REQUIRE(two.Tell().ok());
  CHECK(play.TryCreate(Asking(3)).ok());
}

TEST_CASE("Feasible: workers on loopback do not count with those elsewhere, and the reason says so",
          "[server]") {
  Play play;
  FakeWorker here(play, "here", 2), there(play, "there", 1);
  here.loopback_of = "this machine";
  REQUIRE(here.Tell().ok());
  REQUIRE(there.Tell().ok());
  CHECK(play.TryCreate(Asking(2)).ok());
  CHECK_THAT(std::string(play.TryCreate(Asking(3)).status().message()),
             Catch::Contains("the largest is 2 (all workers together have room for 3, of which 2 on workers "
                             "whose host is a loopback address: the ranks of a trial on other machines "
                             "cannot reach those; start such workers with --host ADDRESS)"));
  here.loopback_of.clear();  // it was started with --host
  REQUIRE(here.Tell().ok());
  CHECK(play.TryCreate(Asking(3)).ok());
}

TEST_CASE("Feasible: a declared worker that has registered has the processors that it has told", "[server]") {
  Play play;
  const std::vector<WorkerRoom> declared = {{"local-1", 2, ""}, {"local-2", 2, ""}};
  v1::TuningJobSpec spec = Asking(2);
  spec.mutable_cluster()->set_cpus(8);
  const auto fits = [&] {
    absl::Status status;
    REQUIRE(play.Inside([&](Engine& engine) { status = Fits(spec, "", engine.workers(), declared); }).ok());
    return status.ok();
  };
  for (const char* name : {"local-1", "local-2"}) {
    CHECK(fits());  // of one, more is not known
    FakeWorker worker(play, name, 2);
    v1::SyncRequest request = worker.Request();
    request.set_cpus(4);
    REQUIRE(play.Sync(request).ok());
  }
  CHECK_FALSE(fits());
  spec.mutable_cluster()->set_cpus(4);
  CHECK(fits());
}

TEST_CASE("Declared workers: number, slots, processors, memory and labels", "[server]") {
  const auto workers = Declared("8 x slots=4, cpus=16,memory_gib=64,label=gpu,label=zone=a");
  REQUIRE(workers.size() == 8);
  CHECK(workers[7].free_slots == 4);
  CHECK(workers[7].free_cpus == 16);
  CHECK(workers[7].free_memory_gib == 64);
  CHECK(workers[7].labels == std::map<std::string, std::string>{{"gpu", ""}, {"zone", "a"}});
  CHECK(Declared("slots=2").size() == 1);
  CHECK(CapacityOf(Declared("label=x"), {1, 100, 100, {}}) == 1);
}

TEST_CASE("Declared workers: what is wrong is named", "[server]") {
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"", "says nothing"},
           {"0 x slots=1", "\"0\" workers; expected 1 to 100000"},
           {"many x slots=1", "\"many\" workers"},
           {"2 x", "\"2 x\"; expected slots, cpus"},
           {"slots=0", "\"slots=0\"; expected slots from 1 to 1024"},
           {"gpus=-1", "\"gpus=-1\"; expected gpus from 0 to 1024"},
           {"slots=1,", "\"\"; expected slots, cpus"},
           {"cpus=-1", "\"cpus=-1\"; expected a number above 0"},
           {"label=", "expected label=NAME"},
           {"gpu=1", "\"gpu=1\"; expected slots, cpus, memory_gib, gpus or label"}}) {
    INFO(text);
    const auto read = ReadDeclaredWorkers(text);
    REQUIRE_FALSE(read.ok());
    CHECK_THAT(std::string(read.status().message()), Catch::Contains(what));
  }
}

}  // namespace
}  // namespace winnow

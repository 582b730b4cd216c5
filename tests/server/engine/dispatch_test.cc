#include "server/engine/dispatch.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

v1::TuningJobSpec JobOf(int32_t nodes, int64_t trials, int64_t levels = 3) {
  v1::TuningJobSpec spec = RandomJob(trials, levels);
  spec.mutable_cluster()->set_nodes(nodes);
  return spec;
}

int64_t RanksOf(const std::vector<FakeWorker*>& workers, const std::string& job) {
  int64_t ranks = 0;
  for (const FakeWorker* worker : workers) {
    for (const auto& [id, run] : worker->running) ranks += run.assignment.job_id() == job ? 1 : 0;
  }
  return ranks;
}

TEST_CASE("Dispatch: a gang that waits keeps few workers, and small trials fill the others", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1), three(play, "three", 1);
  const std::vector<FakeWorker*> all = {&one, &two, &three};
  std::string small = play.Create(JobOf(1, 100, 5));
  for (FakeWorker* worker : all) REQUIRE(worker->Tell().ok());
  for (int step = 0; step < 4; ++step) REQUIRE(one.Step().ok());  // its trial is the first to end
  std::string wide = play.Create(JobOf(2, 1, 1));
  for (int step = 0; step < 2; ++step) REQUIRE(one.Step().ok());
  REQUIRE(one.Step().ok());
  CHECK(RanksOf(all, wide) == 0);
  CHECK(one.running.empty());  // kept for the gang, with one of the others
  for (int step = 0; step < 12 && RanksOf(all, wide) == 0; ++step) {
    for (FakeWorker* worker : {&two, &three, &one}) REQUIRE(worker->Step().ok());
    CHECK(RanksOf(all, small) + 2 * (RanksOf(all, wide) > 0 ? 1 : 0) >= 1);
  }
  CHECK(PlayToEnd(play, wide, all).state() == v1::TuningJob::COMPLETED);
  CHECK(play.Describe(small).state() == v1::TuningJob::RUNNING);
}

TEST_CASE("Dispatch: a higher priority comes first, even where workers are kept for a gang", "[server]") {
  Play play;
  FakeWorker one(play, "one", 2);
  std::string running = play.Create(JobOf(1, 2, 4));
  REQUIRE(one.Tell().ok());
  std::string wide = play.Create(JobOf(2, 1));
  v1::TuningJobSpec urgent = JobOf(1, 3, 2);
  urgent.mutable_scheduling()->set_priority(1);
  std::string first = play.Create(urgent);
  for (int step = 0; step < 40 && play.Describe(wide).trial_counts().running() == 0; ++step) {
    REQUIRE(one.Step().ok());
  }
  CHECK(play.Describe(first).state() == v1::TuningJob::COMPLETED);
  CHECK(PlayToEnd(play, wide, {&one}).state() == v1::TuningJob::COMPLETED);
}

TEST_CASE("Dispatch: jobs hold slots as their weights say", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 8);
  v1::TuningJobSpec heavy = JobOf(1, 100);
  heavy.mutable_scheduling()->set_weight(3);
  std::string light = play.Create(JobOf(1, 100)), more = play.Create(heavy);
  REQUIRE(worker.Tell().ok());
  CHECK(RanksOf({&worker}, light) == 2);
  CHECK(RanksOf({&worker}, more) == 6);
}

TEST_CASE("Dispatch: a changed weight and a changed priority count from then on", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 8);
  const std::string light = play.Create(JobOf(1, 100)), more = play.Create(JobOf(1, 100));
  const auto change = [&](const std::string& id, auto fill) {
    v1::ChangeTuningJobRequest request;
    request.set_id(id);
    fill(*request.mutable_scheduling());
    REQUIRE(play.Inside([&](Engine& engine) { CHECK(engine.ChangeJob(request, Requester{}).ok()); }).ok());
  };
  change(more, [](v1::SchedulingSpec& scheduling) { scheduling.set_weight(3); });
  REQUIRE(worker.Tell().ok());
  CHECK(RanksOf({&worker}, light) == 2);
  CHECK(RanksOf({&worker}, more) == 6);
  change(light, [](v1::SchedulingSpec& scheduling) { scheduling.set_priority(1); });
  for (int step = 0; step < 12 && RanksOf({&worker}, light) < 8; ++step) REQUIRE(worker.Step().ok());
  CHECK(RanksOf({&worker}, light) == 8);
}

TEST_CASE("Dispatch: ranks go to workers with their labels, and take their slots", "[server]") {
  Play play;
  FakeWorker plain(play, "plain", 8), gpu(play, "gpu", 5);
  gpu.labels = {{"gpu", "2"}};
  v1::TuningJobSpec spec = JobOf(1, 10);
  spec.mutable_cluster()->set_slots(2);
  (*spec.mutable_cluster()->mutable_labels())["gpu"] = "";
  std::string id = play.Create(spec);
  for (FakeWorker* worker : {&plain, &gpu}) REQUIRE(worker->Tell().ok());
  CHECK(plain.running.empty());
  CHECK(gpu.running.size() == 2);
}

TEST_CASE("Dispatch: a worker holds short parts beyond its slots, unless another job has work for them",
          "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  worker.ahead = 4;
  worker.part_us = 10'000;
  const std::string first = play.Create(JobOf(1, 100, 1));
  REQUIRE(worker.Tell().ok());
  CHECK(worker.running.size() == 2);  // nothing is known of its parts
  REQUIRE(worker.Step().ok());
  CHECK(RanksOf({&worker}, first) == 5);  // as many more as two slots train in 10 ms, and one
  CHECK(play.Workers(false).front().used_slots() == 2);
  const std::string second = play.Create(JobOf(1, 1, 1));
  REQUIRE(worker.Step().ok());
  CHECK(RanksOf({&worker}, second) == 1);
  REQUIRE(worker.Step().ok());
  CHECK(RanksOf({&worker}, first) == 5);
  const std::string third = play.Create(JobOf(2, 1, 2));  // a gang
  for (int step = 0; step < 2; ++step) REQUIRE(worker.Step().ok());
  CHECK(RanksOf({&worker}, third) == 2);
  CHECK(RanksOf({&worker}, first) == 0);  // no slot of the worker has short parts
  play.CheckStored();
}

TEST_CASE("Dispatch: what is held ahead counts in max_parallel_trials, and long parts are not held",
          "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  worker.ahead = 3;
  worker.part_us = 10'000;
  v1::TuningJobSpec spec = JobOf(1, 100, 1);
  spec.mutable_limits()->set_max_parallel_trials(3);
  const std::string job = play.Create(spec);
  for (int step = 0; step < 3; ++step) REQUIRE(worker.Step().ok());
  CHECK(RanksOf({&worker}, job) == 3);
  worker.part_us = 10'000'000;
  for (int step = 0; step < 3; ++step) REQUIRE(worker.Step().ok());
  CHECK(RanksOf({&worker}, job) == 2);
}

std::vector<std::string> GpusOf(const FakeWorker& worker) {
  std::vector<std::string> gpus;
  for (const auto& [id, run] : worker.running)
    gpus.insert(gpus.end(), run.assignment.gpus().begin(), run.assignment.gpus().end());
  std::sort(gpus.begin(), gpus.end());
  return gpus;
}

std::vector<double> UsedGpus(Play& play) {
  std::vector<double> used;
  const v1::Worker worker = play.Workers(false).front();
  for (const v1::Gpu& gpu : worker.gpus()) used.push_back(gpu.used());
  return used;
}

TEST_CASE("Dispatch: a rank has devices of its own, over a restart of the server too", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 8);
  worker.gpus = {"0", "GPU-b", "2"};
  REQUIRE(worker.Tell().ok());
  v1::TuningJobSpec spec = JobOf(1, 2, 9);
  spec.mutable_cluster()->set_gpus(1);
  const std::string first = play.Create(spec);
  REQUIRE(worker.Tell().ok());
  CHECK(GpusOf(worker) == std::vector<std::string>{"0", "GPU-b"});
  play.Restart();
  REQUIRE(worker.Tell().ok());
  const std::string second = play.Create(spec);
  REQUIRE(worker.Tell().ok());
  CHECK(GpusOf(worker) == std::vector<std::string>{"0", "2", "GPU-b"});
  CHECK(UsedGpus(play) == std::vector<double>{1, 1, 1});
  // Devices of a trial that is to stop are free when the worker has said that it is gone.
  REQUIRE(play.Stop(first).ok());
  REQUIRE(play.Sync(worker.Request()).ok());
  CHECK(UsedGpus(play) == std::vector<double>{1, 1, 1});
  CHECK(PlayToEnd(play, second, {&worker}).state() == v1::TuningJob::COMPLETED);
  CHECK(UsedGpus(play) == std::vector<double>{0, 0, 0});
}

TEST_CASE("Dispatch: parts of a device are shared, and a faulty device is left out", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 8);
  worker.gpus = {"0", "1"};
  worker.faults = {{"0", "row remapping failed"}};
  REQUIRE(worker.Tell().ok());
  v1::TuningJobSpec spec = JobOf(1, 6, 9);
  spec.mutable_cluster()->set_gpu_share(0.4);
  const std::string job = play.Create(spec);
  REQUIRE(worker.Tell().ok());
  CHECK(GpusOf(worker) == std::vector<std::string>{"1", "1"});
  CHECK(play.Workers(false).front().gpus(0).fault() == "row remapping failed");
  worker.faults = {{"1", "too hot"}};  // its trials go on
  REQUIRE(worker.Tell().ok());
  CHECK(GpusOf(worker) == std::vector<std::string>{"0", "0", "1", "1"});
  worker.faults.clear();
  CHECK(PlayToEnd(play, job, {&worker}).state() == v1::TuningJob::COMPLETED);
}

TEST_CASE("Dispatch: trials without GPUs fill workers that a job keeps busy with GPUs", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 4);
  worker.gpus = {"0"};
  REQUIRE(worker.Tell().ok());
  v1::TuningJobSpec needs = JobOf(1, 100, 50);
  needs.mutable_cluster()->set_gpus(1);
  const std::string with = play.Create(needs);
  REQUIRE(worker.Tell().ok());
  const std::string without = play.Create(JobOf(1, 100, 5));
  REQUIRE(worker.Tell().ok());
  for (int step = 0; step < 20; ++step) REQUIRE(worker.Step().ok());
  CHECK(RanksOf({&worker}, with) == 1);
  CHECK(RanksOf({&worker}, without) == 2);  // the last slot is kept for the next that has a device
  CHECK(play.Describe(without).trial_counts().completed() > 2);
}

TEST_CASE("Dispatch: a job says what room it waits for", "[server]") {
  Play play;
  FakeWorker gpu(play, "gpu", 4);
  gpu.labels = {{"gpu", ""}};
  play.Create(JobOf(4, 1, 100));
  REQUIRE(gpu.Tell().ok());
  v1::TuningJobSpec spec = JobOf(3, 1);
  (*spec.mutable_cluster()->mutable_labels())["gpu"] = "";
  CHECK(play.Describe(play.Create(spec)).state_reason() ==
        "Waits for 3 free slots on workers with label gpu.");
  CHECK(play.Describe(play.Create(JobOf(1, 1))).state_reason() == "Waits for 1 free slot.");
}

// Trials of 1, 2 or 3 nodes.
v1::TuningJobSpec WidthJob(int64_t trials) {
  v1::TuningJobSpec spec = RandomJob(trials, 3);
  v1::ParameterSpec* width = spec.add_parameters();
  width->set_name("ranks");
  width->mutable_integer()->set_min(1);
  width->mutable_integer()->set_max(3);
  spec.mutable_cluster()->set_nodes_parameter("ranks");
  return spec;
}

TEST_CASE("Dispatch: the number of nodes may be a hyperparameter, and is what is billed", "[server]") {
  Play play;
  FakeWorker one(play, "one", 2), two(play, "two", 2);
  std::string id = play.Create(WidthJob(12));
  std::set<int32_t> widths;
  v1::TuningJob job = PlayToEnd(play, id, {&one, &two}, [&](int) {
    for (const FakeWorker* worker : {&one, &two}) {
      for (const auto& [key, run] : worker->running) widths.insert(run.assignment.world_size());
    }
  });
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(widths == std::set<int32_t>{1, 2, 3});
  double node_seconds = 0;
  for (const v1::Trial& trial : play.Trials(id)) {
    const int64_t ranks = trial.hyperparameters(trial.hyperparameters_size() - 1).integer();
    CHECK(trial.nodes() == ranks);
    CHECK(trial.billable_node_seconds() == Approx(trial.training_seconds() * static_cast<double>(ranks)));
    node_seconds += trial.billable_node_seconds();
  }
  CHECK(job.spend().billable_node_seconds() == Approx(node_seconds));
  CHECK(job.spend().billable_node_seconds() > job.spend().training_seconds());
}

TEST_CASE("Dispatch: node time is used up by the ranks of each trial, to the microsecond", "[server]") {
  Play play(3'600'000'000);
  FakeWorker worker(play, "one", 6);
  v1::TuningJobSpec spec = WidthJob(100);
  spec.mutable_limits()->set_max_trial_resource(1000);
  spec.mutable_limits()->set_max_node_seconds(60);
  std::string id = play.Create(spec);
  REQUIRE(worker.Tell().ok());
  const auto ranks = static_cast<int64_t>(worker.running.size());
  REQUIRE(ranks > 3);
  play.Tick(60'000'000 / ranks - 1);
  CHECK(play.Describe(id).trial_counts().running() > 0);
  play.Tick(2);
  CHECK(play.Describe(id).trial_counts().running() == 0);
}

}  // namespace
}  // namespace winnow

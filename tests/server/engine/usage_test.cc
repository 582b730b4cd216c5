#include "server/engine/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/catch.h"
#include "tests/server/engine/play.h"
#include "tests/store/get.h"

namespace winnow {
namespace {

constexpr int64_t kSecond = 1'000'000;

void SetTime(int64_t us, v1::UsageSample& sample) {
  sample.mutable_time()->set_seconds(us / kSecond);
  sample.mutable_time()->set_nanos(static_cast<int32_t>(us % kSecond) * 1000);
}

// A worker that says how busy it is with each Sync.
struct BusyWorker {
  BusyWorker(Play& the_play, const std::string& name, int32_t slots)
      : play(the_play), worker(the_play, name, slots) {}

  v1::UsageSample Sample(double cpu, double memory) const {
    v1::UsageSample sample;
    SetTime(play.time.now_us + clock_off_us, sample);
    sample.set_cpu(cpu);
    sample.set_memory(memory);
    for (const auto& [id, run] : worker.running) {
      v1::AssignmentUsage& usage = *sample.add_assignments();
      usage.set_assignment_id(id);
      usage.set_cpus(cpu * 2);
      usage.set_memory_gib(memory * 8);
    }
    return sample;
  }
  void Say(const std::vector<v1::UsageSample>& samples) {
    v1::SyncRequest request = worker.Request();
    for (const v1::UsageSample& sample : samples) *request.add_usage() = sample;
    const auto response = play.Sync(request);
    INFO(response.status().ToString());
    REQUIRE(response.ok());
    worker.Act(*response);
  }
  // Every five seconds, for so many samples.
  void Work(int samples, const std::function<double(int)>& cpu) {
    for (int i = 0; i < samples; ++i) {
      play.Tick(5 * kSecond);
      Say({Sample(cpu(i), cpu(i) / 2)});
    }
  }

  Play& play;
  FakeWorker worker;
  int64_t clock_off_us = 0;
};

v1::GetWorkerUsageResponse WorkerUsage(Play& play, double seconds = 0, int32_t points = 0) {
  const auto store = Get(Store::OpenReadOnly(play.file()));
  v1::GetWorkerUsageRequest request;
  request.set_seconds(seconds);
  request.set_max_points(points);
  return Get(Reads(*store, play.time.clock()).GetWorkerUsage(request));
}

absl::StatusOr<v1::GetTrialUsageResponse> TrialUsage(Play& play, const std::string& job, int64_t trial,
                                                     int32_t points = 0, int64_t attempt = 0) {
  const auto store = Get(Store::OpenReadOnly(play.file()));
  v1::GetTrialUsageRequest request;
  request.set_job_id(job);
  request.set_trial(trial);
  request.set_max_points(points);
  request.set_attempt(attempt);
  return Reads(*store, play.time.clock()).GetTrialUsage(request);
}

// Returns the known points.
std::vector<double> Known(const google::protobuf::RepeatedField<double>& column) {
  std::vector<double> known;
  std::copy_if(column.begin(), column.end(), std::back_inserter(known),
               [](double v) { return !std::isnan(v); });
  return known;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TEST_CASE("Usage: an hour in points keeps the means and the highest values of what was said", "[server]") {
  Play play;
  BusyWorker busy(play, "one", 4);
  busy.Work(720, [](int i) { return i == 300 ? 1.0 : 0.25 + 0.5 * (i % 2); });
  const v1::GetWorkerUsageResponse usage = WorkerUsage(play);
  CHECK(usage.step_seconds() == 30);
  CHECK(usage.start_time().seconds() % 30 == 0);
  REQUIRE(usage.workers_size() == 1);
  const v1::WorkerUsage& row = usage.workers(0);
  CHECK(row.worker() == "one");
  CHECK(row.host() == "localhost");
  CHECK(row.slots() == 4);
  CHECK(row.cpu_size() == 120);
  CHECK(row.memory_size() == 120);
  CHECK(row.slots_used_size() == 120);
  const std::vector<double> cpu = Known(row.cpu()), memory = Known(row.memory());
  CHECK(cpu.size() >= 119);
  CHECK(Mean(cpu) == Approx(0.5).margin(0.005));
  CHECK(*std::max_element(memory.begin(), memory.end()) == 0.5);
  CHECK(std::count(memory.begin(), memory.end(), 0.375) == static_cast<int64_t>(memory.size()) - 1);
}

TEST_CASE("Usage: a day is made of minutes, its newest part of what is known of it", "[server]") {
  Play play;
  BusyWorker busy(play, "one", 4);
  busy.Work(1'000, [](int i) { return i < 500 ? 0.2 : 0.6; });
  const v1::GetWorkerUsageResponse usage = WorkerUsage(play, 86'400, 1'000);
  CHECK(usage.step_seconds() == 120);
  REQUIRE(usage.workers_size() == 1);
  const std::vector<double> cpu = Known(usage.workers(0).cpu());
  CHECK(cpu.size() >= 5'000 / 120);
  CHECK(cpu.front() == Approx(0.2));
  CHECK(cpu.back() == Approx(0.6));
  CHECK(Mean(cpu) == Approx(0.4).margin(0.02));
  CHECK_FALSE(std::isnan(usage.workers(0).cpu(usage.workers(0).cpu_size() - 2)));
}

TEST_CASE("Usage: what was sent before is not counted again", "[server]") {
  Play play;
  BusyWorker busy(play, "one", 4);
  play.time.now_us = 1'700'000'400 * kSecond;
  const v1::UsageSample first = busy.Sample(1, 1);
  busy.Say({first});
  play.time.now_us += 5 * kSecond;
  const v1::UsageSample second = busy.Sample(0, 0);
  for (int i = 0; i < 5; ++i) busy.Say({first, second});
  play.time.now_us += 5 * kSecond;
  busy.Say({busy.Sample(0, 0)});
  const std::vector<double> cpu = Known(WorkerUsage(play, 600, 60).workers(0).cpu());
  REQUIRE(cpu.size() == 1);
  CHECK(cpu[0] == 0.5);
}

TEST_CASE("Usage: a worker whose clock is wrong is shown when it was heard", "[server]") {
  Play play;
  BusyWorker early(play, "early", 1), late(play, "late", 1);
  early.clock_off_us = -86'400 * kSecond;
  late.clock_off_us = 86'400 * kSecond;
  for (BusyWorker* busy : {&early, &late}) {
    busy->Work(4, [](int) { return 0.5; });
    busy->clock_off_us -= 3'600 * kSecond;  // it is set back
    busy->Work(4, [](int) { return 0.5; });
  }
  const v1::GetWorkerUsageResponse usage = WorkerUsage(play, 600, 60);
  REQUIRE(usage.workers_size() == 2);
  for (const v1::WorkerUsage& row : usage.workers()) CHECK(Known(row.cpu()).size() >= 3);
}

TEST_CASE("Usage: values that cannot be are set to some that can", "[server]") {
  Play play;
  BusyWorker busy(play, "one", 1);
  play.Create(RandomJob(1, 9));
  REQUIRE(busy.worker.Tell().ok());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double wrong : {nan, infinity, -infinity, -1.0, 1e300}) {
    play.Tick(10 * kSecond);
    busy.Say({busy.Sample(wrong, wrong)});
  }
  v1::UsageSample timeless = busy.Sample(1, 1);
  for (const int64_t seconds :
       {std::numeric_limits<int64_t>::min(), int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    timeless.mutable_time()->set_seconds(seconds);
    busy.Say({timeless});
  }
  timeless.mutable_time()->set_seconds(play.time.now_us / kSecond);
  timeless.mutable_assignments(0)->set_assignment_id("no assignment's");
  busy.Say({timeless});
  const v1::GetWorkerUsageResponse usage = WorkerUsage(play, 600, 60);
  for (const double value : Known(usage.workers(0).cpu())) CHECK((value >= 0 && value <= 1));
  play.CheckStored();
}

TEST_CASE("Usage: the slots that are held are a mean over time, however seldom it is said", "[server]") {
  Play play;
  BusyWorker busy(play, "one", 2);
  play.Create(RandomJob(1, 9));
  play.time.now_us = 1'700'000'400 * kSecond;
  busy.Say({});
  REQUIRE(busy.worker.running.size() == 1);
  busy.Say({busy.Sample(0, 0)});
  play.time.now_us += 6 * kSecond;
  play.coordinator().Wake();
  while (!busy.worker.running.empty()) REQUIRE(busy.worker.Step().ok());
  play.time.now_us += 6 * kSecond;
  busy.Say({busy.Sample(0, 0)});  // 6 s held, 6 s not
  play.time.now_us += 10 * kSecond;
  busy.Say({busy.Sample(0, 0)});
  const std::vector<double> slots = Known(WorkerUsage(play, 600, 60).workers(0).slots_used());
  REQUIRE(slots.size() == 2);
  CHECK(slots[0] == 1);
  CHECK(slots[1] == 0.5);
}

TEST_CASE("Usage: a trial's usage is given rank by rank, also once it has ended", "[server]") {
  Play play;
  BusyWorker busy(play, "one", 1);
  const std::string id = play.Create(RandomJob(2, 100));
  REQUIRE(busy.worker.Tell().ok());
  busy.Work(60, [](int i) { return i < 30 ? 0.25 : 0.75; });
  auto usage = Get(TrialUsage(play, id, 1));
  CHECK(usage.attempt() == 1);
  REQUIRE(usage.ranks_size() == 1);
  CHECK(usage.ranks(0).worker() == "one");
  CHECK(usage.ranks(0).host() == "localhost");
  const size_t before = usage.ranks(0).cpus_size();
  CHECK(before >= 29);
  CHECK(usage.ranks(0).elapsed_seconds_size() == static_cast<int>(before));
  CHECK(usage.ranks(0).memory_gib_size() == static_cast<int>(before));
  busy.worker.fails_at[1] = 1;
  REQUIRE(busy.worker.Step().ok());  // its last step is written though it is not over
  usage = Get(TrialUsage(play, id, 1));
  CHECK(usage.ranks(0).cpus_size() > static_cast<int>(before));
  CHECK(usage.ranks(0).cpus(2) == 0.5);
  CHECK(usage.ranks(0).memory_gib(2) == 1);
  CHECK(usage.ranks(0).cpus(usage.ranks(0).cpus_size() - 1) == 1.5);
  usage = Get(TrialUsage(play, id, 1, 4));
  REQUIRE(usage.ranks(0).cpus_size() <= 4);
  CHECK(Mean(Known(usage.ranks(0).cpus())) == Approx(1).margin(0.1));
  CHECK(absl::IsNotFound(TrialUsage(play, id, 7).status()));
  for (const int64_t attempt : {-1, 99})
    CHECK_THAT(std::string(TrialUsage(play, id, 1, 0, attempt).status().message()),
               Catch::Contains(fmt::format("has no attempt {}", attempt)));
  CHECK(absl::IsNotFound(TrialUsage(play, "no-job", 1).status()));
}

TEST_CASE("Usage: a trial of a day takes as many rows as one of an hour", "[server]") {
  Play play(3'600 * kSecond);  // the lease, for this worker speaks once a minute
  BusyWorker busy(play, "one", 1);
  const std::string id = play.Create(RandomJob(1, 1'000'000));
  REQUIRE(busy.worker.Tell().ok());
  for (int i = 0; i < 86'400 / 60; ++i) {
    play.time.now_us += 60 * kSecond;
    busy.Say({busy.Sample(i % 2, 0.5)});
  }
  const auto usage = Get(TrialUsage(play, id, 1, 1'000));
  const v1::RankUsage& rank = usage.ranks(0);
  CHECK(rank.cpus_size() <= kMostAssignmentSteps);
  CHECK(rank.cpus_size() >= kMostAssignmentSteps / 2);
  CHECK(Mean(Known(rank.cpus())) == Approx(1).margin(0.02));
  CHECK(rank.elapsed_seconds(rank.elapsed_seconds_size() - 1) >= 84'000);
}

TEST_CASE("Usage: what was kept is there after a restart, and goes on", "[server]") {
  Play play;
  BusyWorker busy(play, "one", 1);
  busy.Work(12, [](int) { return 0.5; });
  play.Restart(40 * kSecond);
  CHECK_FALSE(play.Workers()[0].has_host_cpu());
  busy.Work(12, [](int) { return 0.5; });
  const std::vector<double> cpu = Known(WorkerUsage(play, 600, 60).workers(0).cpu());
  CHECK(cpu.size() >= 10);
  CHECK(Mean(cpu) == Approx(0.5));
}

TEST_CASE("Usage: the list of workers has the newest of each", "[server]") {
  Play play;
  BusyWorker busy(play, "one", 1);
  busy.Say({});
  CHECK_FALSE(play.Workers()[0].has_host_cpu());
  busy.Say({busy.Sample(0.75, 0.25)});
  CHECK(play.Workers()[0].host_cpu() == 0.75);
  CHECK(play.Workers()[0].host_memory() == 0.25);
}

TEST_CASE("Usage: the list of workers has the use of GPUs, where it can be", "[server]") {
  Play play;
  BusyWorker busy(play, "one", 1);
  v1::SyncRequest request = busy.worker.Request();
  *request.add_usage() = busy.Sample(0.5, 0.5);
  for (const double utilization : {0.75, 7.0, std::numeric_limits<double>::quiet_NaN()}) {
    v1::Gpu& gpu = *request.add_gpus();
    gpu.set_id("gpu" + std::to_string(request.gpus_size()));
    gpu.set_utilization(utilization);
  }
  request.mutable_gpus(0)->set_memory(0.25);
  REQUIRE(play.Sync(request).ok());
  const v1::Worker worker = play.Workers()[0];
  REQUIRE(worker.gpus_size() == 3);
  CHECK(worker.gpus(0).utilization() == 0.75);
  CHECK(worker.gpus(0).memory() == 0.25);
  for (const int i : {1, 2}) CHECK_FALSE(worker.gpus(i).has_utilization());
  CHECK_FALSE(worker.gpus(1).has_memory());
}

TEST_CASE("Usage: what is asked for is bounded, and named if it is not", "[server]") {
  Play play;
  const auto store = Get(Store::OpenReadOnly(play.file()));
  Reads reads(*store, play.time.clock());
  v1::GetWorkerUsageRequest request;
  for (const double seconds : {-1.0, 3e6, std::numeric_limits<double>::quiet_NaN()}) {
    request.set_seconds(seconds);
    CHECK_THAT(std::string(reads.GetWorkerUsage(request).status().message()), Catch::StartsWith("seconds: "));
  }
  request.set_seconds(60);
  request.set_max_points(1'001);
  CHECK_THAT(std::string(reads.GetWorkerUsage(request).status().message()),
             Catch::StartsWith("max_points: "));
  for (const double seconds : {0.001, 59.0, 3'600.0, 3'601.0, 86'401.0, 2'592'000.0}) {
    for (const int points : {1, 7, 1'000}) {
      request.set_seconds(seconds);
      request.set_max_points(points);
      const auto usage = Get(reads.GetWorkerUsage(request));
      CHECK(usage.workers().empty());
      CHECK(usage.step_seconds() * points >= seconds);
    }
  }
}

}  // namespace
}  // namespace winnow

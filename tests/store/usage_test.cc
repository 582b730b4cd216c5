#include "store/usage.h"

#include <algorithm>

#include "store/check.h"
#include "store/store.h"
#include "tests/catch.h"
#include "tests/store/get.h"
#include "tests/store/stores.h"

namespace winnow {
namespace {

constexpr int64_t kStart = 1'700'000'400;  // begins a step of every level
constexpr UsageLevel kTens = kUsageLevels[0], kMinutes = kUsageLevels[1], kTenMinutes = kUsageLevels[2];

// The file of a store that is written for as long as `seconds` by workers that say the same all the time.
std::unique_ptr<Store> Filled(Places& places, int workers, int64_t seconds) {
  auto store = Get(Store::Open(places.Name("a.db")));
  std::vector<int64_t> keys;
  for (int i = 0; i < workers; ++i) {
    keys.push_back(Get(store->usage.PutWorker("worker-" + std::to_string(i), "host", 8, kStart)));
  }
  for (int64_t from = 0; from < seconds;) {
    REQUIRE(store
                ->Write([&]() -> absl::Status {  // an hour at a time, for the test's sake
                  for (const int64_t end = std::min(seconds, from + 3'600); from < end; from += 60) {
                    for (int64_t s = from; s < from + 60; s += kTens.step_s) {
                      for (int64_t key : keys) {
                        absl::Status put = store->usage.Put(WorkerStep{kStart + s, key, 0.437, 0.512, 7.25});
                        if (!put.ok()) return put;
                      }
                    }
                    absl::Status rolled = store->usage.RollUp(kStart + from + 60);
                    if (!rolled.ok()) return rolled;
                  }
                  return absl::OkStatus();
                })
                .ok());
  }
  return store;
}

TEST_CASE("Usage: coarser steps keep the mean and the highest of the finer ones", "[store][stores]") {
  Places places;
  auto store = Get(Store::Open(places.Name("a.db")));
  const int64_t one = Get(store->usage.PutWorker("one", "h", 4, kStart));
  const int64_t other = Get(store->usage.PutWorker("other", "h", 4, kStart));
  for (int i = 0; i < 60; ++i) {
    const double share = i / 60.0;
    REQUIRE(
        store->usage.Put(WorkerStep{kStart + i * 10, one, share, i == 17 ? 0.9 : share / 2, 4 * share}).ok());
    if (i < 6) REQUIRE(store->usage.Put(WorkerStep{kStart + i * 10, other, 1, 1, 4}).ok());
  }
  REQUIRE(store->usage.RollUp(kStart + 600).ok());
  const auto minutes = Get(store->usage.Steps(kMinutes, 0, kStart + 6'000));
  REQUIRE(minutes.size() == 11);
  CHECK(minutes[0].start_s == kStart);
  CHECK(minutes[0].cpu == Approx(2.5 / 60).margin(0.001));
  CHECK(minutes[1].worker == other);
  CHECK(minutes[1].slots == 4);
  CHECK(minutes[3].memory == 0.9);  // step 17 is of the third minute
  const auto tens = Get(store->usage.Steps(kTenMinutes, 0, kStart + 6'000));
  REQUIRE(tens.size() == 2);
  CHECK(tens[0].cpu == Approx(29.5 / 60).margin(0.001));
  CHECK(tens[0].memory == 0.9);
  CHECK(tens[0].slots == Approx(4 * 29.5 / 60).margin(0.001));
  CHECK(tens[1].cpu == 1);
  CHECK(Get(store->usage.EndOf(kTenMinutes)) == kStart + 600);
}

TEST_CASE("Usage: a step that comes late counts in the coarser ones too", "[store][stores]") {
  Places places;
  auto store = Get(Store::Open(places.Name("a.db")));
  const int64_t one = Get(store->usage.PutWorker("one", "h", 4, kStart));
  REQUIRE(store->usage.Put(WorkerStep{kStart, one, 0.2, 0.2, 1}).ok());
  REQUIRE(store->usage.RollUp(kStart + 60).ok());
  REQUIRE(store->usage.Put(WorkerStep{kStart + 10, one, 0.4, 0.6, 2}).ok());
  REQUIRE(store->usage.RollUp(kStart + 240).ok());
  const auto minutes = Get(store->usage.Steps(kMinutes, kStart, kStart + 60));
  REQUIRE(minutes.size() == 1);
  CHECK(minutes[0].cpu == Approx(0.3));
  CHECK(minutes[0].memory == 0.6);
}

TEST_CASE("Usage: a worker takes a bounded part of the file, however long it works", "[store]") {
  Places places;
  constexpr int kWorkers = 2;
  constexpr int64_t kRows = 6'120;
  auto store = Filled(places, kWorkers, kTenMinutes.kept_s + 86'400);
  const int64_t rows = Get(store->database().QueryInt("SELECT COUNT(*) FROM worker_usage"));
  CHECK(rows <= kWorkers * (kRows + 10));
  CHECK(rows >= kWorkers * kRows);
  const auto used_pages = [](Store& file) {
    return Get(file.database().QueryInt("PRAGMA page_count")) -
           Get(file.database().QueryInt("PRAGMA freelist_count"));
  };
  const int64_t pages = used_pages(*store) - used_pages(*Get(Store::Open(places.Name("empty.db"))));
  const int64_t bytes = pages * Get(store->database().QueryInt("PRAGMA page_size")) / kWorkers;
  INFO(bytes << " bytes of a worker");
  CHECK(bytes < 250'000);
  store = nullptr;
  CHECK(Get(Get(Store::OpenReadOnly(places.Name("a.db")))->usage.Workers()).size() == kWorkers);
}

TEST_CASE("Usage: a worker that is gone is forgotten when nothing of it is kept", "[store][stores]") {
  Places places;
  auto store = Filled(places, 1, 600);
  const int64_t later = kStart + kTenMinutes.kept_s + 3 * 86'400;
  REQUIRE(store->usage.RollUp(later).ok());
  CHECK(Get(store->database().QueryInt("SELECT COUNT(*) FROM worker_usage")) == 0);
  CHECK(Get(store->usage.Workers()).empty());
}

// A rank that was placed at `kStart`; gives its key.
int64_t PutRank(Store& store, int number, int64_t place_s) {
  if (number == 1) {
    WorkerRow worker;
    worker.id = "w";
    worker.state = WorkerState::kLive;
    REQUIRE(store.workers.Put(worker).ok());
  }
  JobRow job;
  job.state = "running";
  const JobRow inserted = Get(store.jobs.Insert("job", job));
  AssignmentRow row;
  row.id = "a" + std::to_string(number);
  row.job = inserted.key;
  row.trial = 1;
  row.attempt = 1;
  row.worker = "w";
  row.place_us = place_s * 1'000'000;
  return Get(store.assignments.Insert(row));
}

TEST_CASE("Usage: the steps of a rank become fewer and longer the longer it runs", "[store][stores]") {
  CHECK(AssignmentStepSeconds(0) == 10);
  CHECK(AssignmentStepSeconds(2'399) == 10);
  CHECK(AssignmentStepSeconds(2'400) == 20);
  CHECK(AssignmentStepSeconds(86'400) == 640);
  Places places;
  auto store = Get(Store::Open(places.Name("a.db")));
  const int64_t rank = PutRank(*store, 1, kStart);
  for (int i = 0; i < 240; ++i) {
    REQUIRE(store->usage.Put(rank, AssignmentStep{i * 10, i % 2 == 0 ? 1.0 : 2.0, i == 3 ? 7.0 : 1.5}).ok());
  }
  REQUIRE(store->usage.Coarsen(rank, 20).ok());
  REQUIRE(store->usage.Coarsen(rank, 20).ok());  // again changes nothing
  const auto steps = Get(store->usage.OfAssignment(rank));
  REQUIRE(steps.size() == 120);
  CHECK(steps[1].second == 20);
  CHECK(steps[1].cpus == 1.5);
  CHECK(steps[1].memory_gib == 7);
  CHECK(steps[2].memory_gib == 1.5);
}

TEST_CASE("Usage: ranks of long ago are forgotten, newer ones are not", "[store][stores]") {
  Places places;
  auto store = Get(Store::Open(places.Name("a.db")));
  const int64_t old = PutRank(*store, 1, kStart);
  const int64_t newer = PutRank(*store, 2, kStart + 86'400);
  for (int64_t rank : {old, newer}) REQUIRE(store->usage.Put(rank, AssignmentStep{0, 1, 1}).ok());
  REQUIRE(store->usage.RollUp(kStart + kTenMinutes.kept_s + 60).ok());
  CHECK(Get(store->usage.OfAssignment(old)).empty());
  CHECK(Get(store->usage.OfAssignment(newer)).size() == 1);
}

TEST_CASE("Usage: a check finds usage of a worker without a name", "[store][stores]") {
  Places places;
  auto store = Filled(places, 1, 60);
  std::vector<std::string> findings;
  const auto tell = [&](const std::string& text) { findings.push_back(text); };
  REQUIRE(CheckLooseRows(store->database(), tell).ok());
  CHECK(findings.empty());
  REQUIRE(store->database().Execute("DELETE FROM usage_workers").ok());
  REQUIRE(CheckLooseRows(store->database(), tell).ok());
  REQUIRE(findings.size() == 1);
  CHECK(findings[0] == "usage of worker 1, which has no name");
}

}  // namespace
}  // namespace winnow

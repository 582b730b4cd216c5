#include "server/engine/batches.h"

#include "tests/catch.h"
#include "tests/server/engine/play.h"
#include "tests/store/get.h"

namespace winnow {
namespace {

constexpr int64_t kLeaseUs = 15'000'000;

// A worker's lease, in batches that are taken by hand.
struct Lease {
  ManualClock time;
  TempFolder folder;
  std::unique_ptr<Store> store = Get(Store::Open(folder.file("w.db")));
  Engine engine{*store, [this] {
                  EngineOptions options;
                  options.lease_us = kLeaseUs;
                  options.clock = time.clock();
                  return options;
                }()};
  Batches batches{*store, engine};

  Lease() {
    REQUIRE(engine.Load().ok());
    v1::SyncRequest request;
    request.set_worker_id("0123456789abcdef0123456789abcdef");
    request.set_name("one");
    request.set_slots(1);
    Run([request](Engine& of) { of.Sync(request, [](absl::StatusOr<v1::SyncResponse>) {}); });
    REQUIRE(State() == v1::Worker::LIVE);
  }
  // A batch that is taken now.
  void Run(std::function<void(Engine&)> use) {
    REQUIRE(batches.Run({{std::move(use), [](const absl::Status&) {}}}, time.now_us).ok());
  }
  v1::Worker::State State() const { return engine.ListWorkers(true).at(0).state(); }
};

TEST_CASE("Batches: a lease that runs out while nobody calls is the worker's end", "[server]") {
  Lease lease;
  lease.time.now_us += kLeaseUs + 1;
  lease.Run([](Engine&) {});
  CHECK(lease.State() == v1::Worker::LOST);
}

TEST_CASE("Batches: a process that is stopped in the middle of one gives nobody up", "[server]") {
  Lease lease;
  lease.Run([&](Engine&) { lease.time.now_us += 2 * kLeaseUs; });
  CHECK(lease.State() == v1::Worker::LIVE);
  lease.batches.StoodStill();  // as its caller finds out then
  lease.Run([](Engine&) {});
  CHECK(lease.State() == v1::Worker::LIVE);
  lease.time.now_us += kLeaseUs + 1;
  lease.Run([](Engine&) {});
  CHECK(lease.State() == v1::Worker::LOST);
}

}  // namespace
}  // namespace winnow

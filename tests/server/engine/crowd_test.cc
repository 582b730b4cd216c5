#include <thread>

#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

TEST_CASE("Crowd: many threads post at once, and every call is completed", "[server]") {
  Play play;
  constexpr int kWorkers = 4;
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(play.Create(RandomJob(6, 5)));
  std::atomic<int64_t> told{0};
  std::vector<int64_t> listeners;
  for (const std::string& id : ids) listeners.push_back(play.hub.Subscribe(JobTopic(id), [&] { ++told; }));

  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (int w = 0; w < kWorkers; ++w) {
    threads.emplace_back([&, w] {
      FakeWorker worker(play, "worker-" + std::to_string(w), 2);
      for (int step = 0; step < 60; ++step) {
        if (!worker.Step().ok()) failed = true;
      }
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 50; ++i) play.Workers();
  });
  threads.emplace_back([&] {
    for (int i = 0; i < 10; ++i) {
      std::string id = play.Create(RandomJob(1, 1));
      if (!play.Stop(id).ok()) failed = true;
    }
  });
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(failed);
  for (const std::string& id : ids) {
    v1::TuningJob job = play.Describe(id);
    CHECK(job.state() == v1::TuningJob::COMPLETED);
    CHECK(job.spend().resource() == 30);
  }
  for (int64_t listener : listeners) play.hub.Unsubscribe(listener);
  CHECK(told > 0);
}

TEST_CASE("Crowd: what is queued is answered before the coordinator stops", "[server]") {
  std::vector<std::future<absl::StatusOr<v1::SyncResponse>>> calls;
  {
    Play play;
    FakeWorker worker(play, "one", 1);
    v1::SyncRequest request = worker.Request();
    request.mutable_hold()->set_seconds(60);
    for (int i = 0; i < 20; ++i) calls.push_back(play.StartSync(request));
  }
  for (auto& call : calls) CHECK(call.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
}

}  // namespace
}  // namespace winnow

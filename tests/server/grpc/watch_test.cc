#include <thread>

#include "tests/server/grpc/service_play.h"

namespace winnow {
namespace {

struct Watched {
  std::vector<v1::TuningJobEvent> events;
  grpc::Status status;
};

Watched WatchToEnd(ServicePlay& play, const std::string& id, int64_t after) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  v1::WatchTuningJobRequest request;
  request.set_id(id);
  request.set_after_sequence(after);
  auto stream = play.tuning->WatchTuningJob(&context, request);
  Watched watched;
  for (v1::TuningJobEvent event; stream->Read(&event);) watched.events.push_back(event);
  watched.status = stream->Finish();
  return watched;
}

TEST_CASE("Watch: follows a job to its end, every fact once and in order", "[server]") {
  ServicePlay play;
  FakeWorker worker(play, "one", 2);
  std::string id = play.Create(HyperbandJob(9));
  Watched watched;
  std::thread watcher([&] { watched = WatchToEnd(play, id, 0); });
  PlayToEnd(play, id, {&worker});
  watcher.join();
  CHECK(watched.status.ok());
  v1::TuningJob job = play.Describe(id);
  REQUIRE(watched.events.size() == static_cast<size_t>(job.last_sequence()));
  for (size_t i = 0; i < watched.events.size(); ++i) {
    CHECK(watched.events[i].sequence() == static_cast<int64_t>(i) + 1);
    CHECK(watched.events[i].text() != "");
  }
  CHECK(watched.events.back().kind() == "job_ended");
  CHECK(watched.events.back().job().state() == v1::TuningJob::COMPLETED);
}

TEST_CASE("Watch: goes on where it was broken off", "[server]") {
  ServicePlay play;
  FakeWorker worker(play, "one", 2);
  std::string id = play.Create(RandomJob(200, 10));
  PlayToEnd(play, id, {&worker});
  int64_t last = play.Describe(id).last_sequence();
  REQUIRE(last > 1000);  // several batches
  Watched rest = WatchToEnd(play, id, 10);
  CHECK(rest.status.ok());
  REQUIRE(rest.events.size() == static_cast<size_t>(last - 10));
  CHECK(rest.events.front().sequence() == 11);
  int jobs = 0;
  for (const auto& event : rest.events) jobs += event.has_job();
  CHECK(jobs >= 2);
  CHECK(jobs < 20);
  CHECK(WatchToEnd(play, id, last).events.empty());
  CHECK(WatchToEnd(play, id, -1).status.ok());
}

TEST_CASE("Watch: an unknown job is refused", "[server]") {
  ServicePlay play;
  CHECK(WatchToEnd(play, "nobody", 0).status.error_code() == grpc::StatusCode::NOT_FOUND);
}

TEST_CASE("Watch: a client that goes away does no harm, and a stop ends the stream", "[server]") {
  ServicePlay play;
  std::string id = play.Create(RandomJob(1));
  FakeWorker worker(play, "one", 1);
  v1::WatchTuningJobRequest request;
  request.set_id(id);
  grpc::ClientContext gone, stays;
  auto first = play.tuning->WatchTuningJob(&gone, request);
  auto second = play.tuning->WatchTuningJob(&stays, request);
  REQUIRE(worker.Tell().ok());
  v1::TuningJobEvent event;
  REQUIRE(first->Read(&event));
  REQUIRE(second->Read(&event));
  gone.TryCancel();
  CHECK(first->Finish().error_code() == grpc::StatusCode::CANCELLED);
  play.server->Stop(std::chrono::seconds(30));
  while (second->Read(&event)) continue;
  CHECK(second->Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace winnow

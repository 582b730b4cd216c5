#include <thread>

#include "tests/server/grpc/service_play.h"
#include "winnow/v1/logs.grpc.pb.h"

namespace winnow {
namespace {

using Stub = v1::TuningService::Stub;

struct Fixture : ServicePlay {
  Fixture() : worker(*this, "one", 1), id(Create(RandomJob(1, 9))) {
    REQUIRE(worker.Tell().ok());
    assignment = worker.running.begin()->first;
  }
  void Print(int64_t offset, const std::string& text) {
    v1::SyncRequest request = worker.Request();
    v1::LogChunk* chunk = request.add_logs();
    chunk->set_assignment_id(assignment);
    chunk->set_offset(offset);
    chunk->set_data(text);
    REQUIRE(Sync(request).ok());
  }
  v1::GetLogsRequest Request(int64_t offset, int64_t wait_seconds) {
    v1::GetLogsRequest request;
    request.set_job_id(id);
    request.set_trial(1);
    request.set_offset(offset);
    request.mutable_wait()->set_seconds(wait_seconds);
    return request;
  }
  v1::GetLogsResponse Get(int64_t offset, int64_t wait_seconds) {
    v1::GetLogsResponse response;
    grpc::Status status = Call(&Stub::GetLogs, Request(offset, wait_seconds), response);
    INFO(status.error_message());
    REQUIRE(status.ok());
    return response;
  }
  FakeWorker worker;
  std::string id;
  std::string assignment;
};

TEST_CASE("Logs: are given from the offset on", "[server]") {
  Fixture f;
  f.Print(0, "hello ");
  f.Print(6, "world\n");
  v1::GetLogsResponse all = f.Get(0, 0);
  CHECK(all.data() == "hello world\n");
  CHECK(all.next_offset() == 12);
  CHECK_FALSE(all.ended());
  CHECK(all.attempt() == 1);
  CHECK(f.Get(6, 30).data() == "world\n");  // there is something: no waiting
  CHECK(f.Get(12, 0).data() == "");
}

TEST_CASE("Logs: each part that a worker sent has the time at which it was received", "[server]") {
  Fixture f;
  const int64_t first_us = f.time.now_us;
  f.Print(0, "hello ");
  f.time.now_us += 5'000'000;
  f.Print(6, "world\n");
  const auto logs = v1::LogService::NewStub(f.channel);
  const auto times = [&](int64_t offset, int32_t rank) {
    grpc::ClientContext context;
    v1::GetLogTimesRequest request;
    request.set_job_id(f.id);
    request.set_trial(1);
    request.set_offset(offset);
    request.set_rank(rank);
    v1::GetLogTimesResponse response;
    return std::pair(logs->GetLogTimes(&context, request, &response), response);
  };
  const auto [status, all] = times(0, 0);
  REQUIRE(status.ok());
  REQUIRE(all.parts_size() == 2);
  CHECK((all.parts(0).offset() == 0 && all.parts(1).offset() == 6));
  for (int i = 0; i < 2; ++i) CHECK(all.parts(i).receive_time().seconds() == first_us / 1'000'000 + 5 * i);
  CHECK(times(7, 0).second.parts_size() == 1);
  CHECK(times(12, 0).second.parts_size() == 0);
  CHECK(times(0, 1).first.error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(times(-1, 0).first.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("Logs: of what does not exist are refused with what does", "[server]") {
  Fixture f;
  auto refusal = [&](int32_t attempt, int32_t rank) {
    v1::GetLogsRequest request = f.Request(0, 0);
    request.set_attempt(attempt);
    request.set_rank(rank);
    v1::GetLogsResponse response;
    grpc::Status status = f.Call(&Stub::GetLogs, request, response);
    CHECK(status.error_code() == grpc::StatusCode::NOT_FOUND);
    return status.error_message();
  };
  std::string trial = "trial 1 of job \"" + f.id + "\"";
  CHECK(refusal(0, 3) == "attempt 1 of " + trial + " has no rank 3; its ranks are 0 to 0");
  CHECK(refusal(1, 1) == "attempt 1 of " + trial + " has no rank 1; its ranks are 0 to 0");
  CHECK(refusal(7, 0) == trial + " has no attempt 7; its newest is 1");
}

TEST_CASE("Logs: of a trial that a client trains are refused with that reason", "[server]") {
  ServicePlay play;
  v1::TuningJobSpec spec = RandomJob(2, 9);
  spec.clear_trainer();
  spec.mutable_trainer()->set_external(true);
  v1::SuggestTrialsRequest ask;
  ask.set_job_id(play.Create(spec));
  ask.set_client("a client");
  v1::SuggestTrialsResponse asked;
  REQUIRE(play.Call(&Stub::SuggestTrials, ask, asked).ok());
  v1::GetLogsRequest request;
  request.set_job_id(ask.job_id());
  request.set_trial(asked.trials(0).trial());
  v1::GetLogsResponse response;
  CHECK(play.Call(&Stub::GetLogs, request, response).error_message() ==
        "trial 1 of job \"" + ask.job_id() +
            "\" has no output here: a client of the job trains it, and has what it prints");
}

TEST_CASE("Logs: a long poll ends with the next bytes, or with the process", "[server]") {
  Fixture f;
  f.Print(0, "a");
  v1::GetLogsResponse first;
  std::thread waits([&] { first = f.Get(1, 30); });
  f.Print(1, "b");
  waits.join();
  CHECK(first.data() == "b");

  v1::GetLogsResponse last;
  std::thread waits_for_end([&] { last = f.Get(2, 30); });
  for (int level = 0; level < 9; ++level) f.worker.Train();
  REQUIRE(f.worker.Tell().ok());
  waits_for_end.join();
  CHECK(last.data() == "");
  CHECK(last.ended());
}

TEST_CASE("Logs: a long poll ends when its time is over, is cancelled, or the server stops", "[server]") {
  Fixture f;
  v1::GetLogsRequest request = f.Request(0, 0);
  request.mutable_wait()->set_nanos(20'000'000);
  v1::GetLogsResponse response;
  CHECK(f.Call(&Stub::GetLogs, request, response).ok());
  CHECK(response.data() == "");

  grpc::ClientContext impatient;
  impatient.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  CHECK(f.tuning->GetLogs(&impatient, f.Request(0, 30), &response).error_code() ==
        grpc::StatusCode::DEADLINE_EXCEEDED);

  grpc::Status stopped;
  std::thread waits([&] { stopped = f.Call(&Stub::GetLogs, f.Request(0, 30), response); });
  f.Get(0, 0);
  f.server->Stop(std::chrono::seconds(2));
  waits.join();
  CHECK((stopped.error_code() == grpc::StatusCode::UNAVAILABLE ||
         stopped.error_code() == grpc::StatusCode::CANCELLED));
}

}  // namespace
}  // namespace winnow

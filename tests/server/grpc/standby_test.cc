#include <grpcpp/grpcpp.h>

#include "tests/server/grpc/token_play.h"

namespace winnow {
namespace {

using grpc::StatusCode;
using Tuning = v1::TuningService::Stub;

// A server that leads, which requires tokens, and a standby over the same file that is refreshed by hand.
class StandbyPlay : public TokenPlay {
 public:
  StandbyPlay() {
    own_reader = *Reader::Start(file(), time.clock());
    rows = *Store::OpenReadOnly(file());
    GrpcServerOptions own = options;
    own.socket.clear();
    auto started = GrpcServer::StartStandby(own, *ReadPermissions(*rows), link, *own_reader, own_hub);
    INFO(started.status().ToString());
    REQUIRE(started.ok());
    standby = *std::move(started);
    REQUIRE(link.Set(address()).ok());
  }
  ~StandbyPlay() { standby = nullptr; }

  void Refresh() {
    standby->PutPermissions(*ReadPermissions(*rows));
    own_hub.PublishAll();
  }
  Endpoint Here(const std::string& token) const {
    return {.address = "127.0.0.1:" + std::to_string(standby->port()), .token = token};
  }
  std::unique_ptr<v1::TuningService::Stub> ClientHere(v1::Role role, const std::string& name = "someone") {
    const std::string secret = MakeToken(role, 0, name).secret();
    Refresh();
    return v1::TuningService::NewStub(*Connect(Here(secret)));
  }

  LeaderLink link{TlsFiles(), ""};
  Hub own_hub;
  std::unique_ptr<Store> rows;
  std::unique_ptr<Reader> own_reader;
  std::unique_ptr<GrpcServer> standby;
};

v1::CreateTuningJobRequest CreateRequest() {
  v1::CreateTuningJobRequest request;
  *request.mutable_spec() = RandomJob(4);
  return request;
}

TEST_CASE("Standby: what changes something is done by the leader, in the caller's name", "[server]") {
  StandbyPlay play;
  const auto client = play.ClientHere(v1::SUBMITTER, "ann");
  v1::TuningJob made;
  const grpc::Status created = play.Do(*client, &Tuning::CreateTuningJob, CreateRequest(), made);
  INFO(created.error_message());
  REQUIRE(created.ok());
  CHECK(play.Describe(made.id()).owner() == "ann");
  v1::DescribeTuningJobRequest describe;
  describe.set_id(made.id());
  v1::TuningJob described;
  CHECK(play.Do(*client, &Tuning::DescribeTuningJob, describe, described).ok());
  CHECK(described.id() == made.id());
  // The leader's memory answers this one.
  FakeWorker worker(play, "one", 1);
  REQUIRE(worker.Step().ok());
  v1::ListWorkersResponse workers;
  CHECK(play.Do(*client, &Tuning::ListWorkers, v1::ListWorkersRequest(), workers).ok());
  CHECK(workers.workers_size() == 1);
}

TEST_CASE("Standby: the leader's errors arrive whole, and a role is refused in the audit log", "[server]") {
  StandbyPlay play;
  const auto submitter = play.ClientHere(v1::SUBMITTER);
  v1::CreateTuningJobRequest wrong = CreateRequest();
  wrong.mutable_spec()->mutable_limits()->set_max_trials(-1);
  v1::TuningJob job;
  const grpc::Status refused = play.Do(*submitter, &Tuning::CreateTuningJob, wrong, job);
  CHECK(refused.error_code() == StatusCode::INVALID_ARGUMENT);
  CHECK(refused.error_details() != "");  // the violations
  const auto viewer = play.ClientHere(v1::VIEWER, "victor");
  CHECK(play.Do(*viewer, &Tuning::CreateTuningJob, CreateRequest(), job).error_code() ==
        StatusCode::PERMISSION_DENIED);
  REQUIRE(play.Inside([](Engine&) {}).ok());  // what was refused is recorded by a batch of its own
  CHECK(*play.rows->database().QueryInt("SELECT COUNT(*) FROM audit WHERE person = 'victor'") == 1);
}

TEST_CASE("Standby: without a leader it answers reads, and says of changes that no server leads",
          "[server]") {
  StandbyPlay play;
  const std::string id = play.Create(RandomJob(4));
  const auto client = play.ClientHere(v1::SUBMITTER);
  REQUIRE(play.link.Set("").ok());
  v1::ListTuningJobsResponse jobs;
  CHECK(play.Do(*client, &Tuning::ListTuningJobs, v1::ListTuningJobsRequest(), jobs).ok());
  CHECK(jobs.jobs_size() == 1);
  v1::TuningJob job;
  const grpc::Status refused = play.Do(*client, &Tuning::CreateTuningJob, CreateRequest(), job);
  CHECK(refused.error_code() == StatusCode::UNAVAILABLE);
  CHECK_THAT(refused.error_message(), Catch::Contains("no winnow-server leads this database now"));
  // A leader that has ended is named.
  REQUIRE(play.link.Set(play.address()).ok());
  play.server = nullptr;
  const grpc::Status gone = play.Do(*client, &Tuning::CreateTuningJob, CreateRequest(), job);
  CHECK(gone.error_code() == StatusCode::UNAVAILABLE);
  CHECK_THAT(gone.error_message(),
             Catch::Contains("the winnow-server that leads, at " + play.link.Current().address));
}

TEST_CASE("Standby: two that take each other for the leader pass no call in a circle", "[server]") {
  StandbyPlay play;
  const auto client = play.ClientHere(v1::SUBMITTER);
  REQUIRE(play.link.Set(play.Here("").address).ok());  // itself
  v1::TuningJob job;
  CHECK_THAT(play.Do(*client, &Tuning::CreateTuningJob, CreateRequest(), job).error_message(),
             Catch::Contains("no winnow-server leads this database now"));
}

TEST_CASE("Standby: a revoked token is refused once it is read, and its stream ends", "[server]") {
  StandbyPlay play;
  const std::string id = play.Create(RandomJob(4));
  FakeWorker worker(play, "w", 1);
  REQUIRE(worker.Step().ok());
  const v1::CreateTokenResponse made = play.MakeToken(v1::VIEWER);
  play.Refresh();
  const auto stub = v1::TuningService::NewStub(*Connect(play.Here(made.secret())));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  v1::WatchTuningJobRequest request;
  request.set_id(id);
  const auto stream = stub->WatchTuningJob(&context, request);
  v1::TuningJobEvent event;
  REQUIRE(stream->Read(&event));
  CHECK(play.List(play.Here(made.secret())).ok());
  v1::RevokeTokenRequest revoke;
  revoke.set_id(made.token().id());
  v1::Token revoked;
  REQUIRE(play.Admin(play.OverSocket(), &v1::AdminService::Stub::RevokeToken, revoke, revoked).ok());
  play.Refresh();
  CHECK(play.List(play.Here(made.secret())).error_code() == StatusCode::UNAUTHENTICATED);
  while (stream->Read(&event)) {
  }
  CHECK(stream->Finish().error_code() == StatusCode::UNAUTHENTICATED);
}

TEST_CASE("Standby: a stream tells what the leader has committed", "[server]") {
  StandbyPlay play;
  const std::string id = play.Create(RandomJob(2));
  const auto client = play.ClientHere(v1::VIEWER);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  v1::WatchTuningJobRequest request;
  request.set_id(id);
  const auto stream = client->WatchTuningJob(&context, request);
  stream->WaitForInitialMetadata();  // it has read the job, of which there is nothing to tell yet
  FakeWorker worker(play, "one", 2);
  PlayToEnd(play, id, {&worker});
  play.Refresh();
  int64_t last = 0;
  v1::TuningJobEvent event;
  while (stream->Read(&event)) last = event.sequence();
  CHECK(stream->Finish().ok());
  CHECK(last == play.Describe(id).last_sequence());
}

}  // namespace
}  // namespace winnow

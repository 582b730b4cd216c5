// Whose a job is, and what others may do with it.

#include "tests/server/grpc/token_play.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {
namespace {

using Stub = v1::TuningService::Stub;

struct OwnerPlay : TokenPlay {
  std::unique_ptr<Stub> Client(v1::Role role, const std::string& name) {
    return Stub_(OverTcp(MakeToken(role, 0, name).secret()));
  }
  std::unique_ptr<Stub> Stub_(const Endpoint& endpoint) {
    return v1::TuningService::NewStub(*Connect(endpoint));
  }
  template <typename Method, typename Request, typename Response>
  static grpc::Status Call(Stub& stub, Method method, const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    return (stub.*method)(&context, request, &response);
  }
  static v1::TuningJob Submit(Stub& stub, const v1::TuningJobSpec& spec) {
    v1::CreateTuningJobRequest request;
    *request.mutable_spec() = spec;
    v1::TuningJob job;
    const grpc::Status status = Call(stub, &Stub::CreateTuningJob, request, job);
    INFO(status.error_message());
    REQUIRE(status.ok());
    return job;
  }
  static grpc::Status StopJob(Stub& stub, const std::string& id, v1::TuningJob* job) {
    v1::StopTuningJobRequest request;
    request.set_id(id);
    return Call(stub, &Stub::StopTuningJob, request, *job);
  }
  static grpc::Status DeleteJob(Stub& stub, const std::string& id) {
    v1::DeleteTuningJobRequest request;
    request.set_id(id);
    v1::DeleteTuningJobResponse none;
    return Call(stub, &Stub::DeleteTuningJob, request, none);
  }
};

v1::TuningJobSpec Asked() {
  v1::TuningJobSpec spec = RandomJob(2, 9);
  spec.mutable_trainer()->Clear();
  spec.mutable_trainer()->set_external(true);
  return spec;
}

TEST_CASE(
    "Owner: a job is its submitter's, who stops and deletes it, and another submitter may not, an admin may",
    "[server]") {
  OwnerPlay play;
  const auto ana = play.Client(v1::SUBMITTER, "ana"), ben = play.Client(v1::SUBMITTER, "ben");
  const auto admin = play.Client(v1::ADMIN, "root");
  const v1::TuningJob job = play.Submit(*ana, RandomJob(2));
  CHECK(job.owner() == "ana");
  v1::TuningJob stopped;
  const grpc::Status refused = play.StopJob(*ben, job.id(), &stopped);
  CHECK(refused.error_code() == grpc::StatusCode::PERMISSION_DENIED);
  CHECK(refused.error_message() == "job \"job\" belongs to ana; only ana or an admin may do this");
  CHECK(play.DeleteJob(*ben, job.id()).error_code() == grpc::StatusCode::PERMISSION_DENIED);
  REQUIRE(play.StopJob(*ana, job.id(), &stopped).ok());
  CHECK_THAT(stopped.state_reason(), Catch::Contains("stopped by ana"));
  CHECK(play.StopJob(*ben, job.id(), &stopped).error_code() == grpc::StatusCode::PERMISSION_DENIED);
  CHECK(play.DeleteJob(*ben, job.id()).error_code() == grpc::StatusCode::PERMISSION_DENIED);
  CHECK(play.DeleteJob(*ana, job.id()).ok());
  const v1::TuningJob second = play.Submit(*ana, RandomJob(2));
  REQUIRE(play.StopJob(*admin, second.id(), &stopped).ok());
  CHECK_THAT(stopped.state_reason(), Catch::Contains("stopped by root"));
  CHECK(stopped.owner() == "ana");
}

TEST_CASE("Owner: only the owner asks and tells", "[server]") {
  OwnerPlay play;
  const auto ana = play.Client(v1::SUBMITTER, "ana"), ben = play.Client(v1::SUBMITTER, "ben");
  v1::SuggestTrialsRequest ask;
  ask.set_job_id(play.Submit(*ana, Asked()).id());
  v1::SuggestTrialsResponse asked;
  CHECK(play.Call(*ben, &Stub::SuggestTrials, ask, asked).error_code() ==
        grpc::StatusCode::PERMISSION_DENIED);
  REQUIRE(play.Call(*ana, &Stub::SuggestTrials, ask, asked).ok());
  v1::ReportMetricsRequest report;
  report.set_job_id(ask.job_id());
  report.set_trial(1);
  report.set_attempt(1);
  v1::ReportMetricsResponse reported;
  CHECK(play.Call(*ben, &Stub::ReportMetrics, report, reported).error_code() ==
        grpc::StatusCode::PERMISSION_DENIED);
  CHECK(play.Call(*ana, &Stub::ReportMetrics, report, reported).ok());
  v1::CompleteTrialRequest complete;
  complete.set_job_id(ask.job_id());
  complete.set_trial(1);
  complete.set_attempt(1);
  v1::CompleteTrialResponse completed;
  CHECK(play.Call(*ben, &Stub::CompleteTrial, complete, completed).error_code() ==
        grpc::StatusCode::PERMISSION_DENIED);
  CHECK(play.Call(*ana, &Stub::CompleteTrial, complete, completed).ok());
}

TEST_CASE(
    "Owner: a token without a name owns by its id, and what was made without a token only admins change",
    "[server]") {
  OwnerPlay play;
  const v1::CreateTokenResponse nameless = play.MakeToken(v1::SUBMITTER, 0, "");
  const auto one = play.Stub_(play.OverTcp(nameless.secret()));
  CHECK(play.Submit(*one, RandomJob(2)).owner() == "token " + nameless.token().id());
  v1::TuningJob stopped;
  CHECK(play.StopJob(*one, "job", &stopped).ok());
  const auto socket = play.Stub_(play.OverSocket());
  const v1::TuningJob of_nobody = play.Submit(*socket, RandomJob(2));
  CHECK(of_nobody.owner().empty());
  CHECK(play.StopJob(*one, of_nobody.id(), &stopped).error_code() == grpc::StatusCode::PERMISSION_DENIED);
  CHECK(play.StopJob(*socket, of_nobody.id(), &stopped).ok());
}

TEST_CASE("Owner: it stays over a restart, and belongs to a new token of the same name", "[server]") {
  OwnerPlay play;
  play.Submit(*play.Client(v1::SUBMITTER, "ana"), RandomJob(2));
  play.server = nullptr;
  play.Restart();
  play.StartServer();
  CHECK(play.Describe("job").owner() == "ana");
  v1::TuningJob stopped;
  CHECK(play.StopJob(*play.Client(v1::SUBMITTER, "ana"), "job", &stopped).ok());
}

TEST_CASE("Owner: the values of a job's environment are the owner's and admins' to see", "[server]") {
  OwnerPlay play;
  v1::TuningJobSpec spec = RandomJob(2);
  (*spec.mutable_trainer()->mutable_environment())["KEY"] = "hunter2";
  const auto ana = play.Client(v1::SUBMITTER, "ana");
  CHECK(play.Submit(*ana, spec).spec().trainer().environment().at("KEY") == "hunter2");
  const auto seen = [](Stub& stub) {
    v1::DescribeTuningJobRequest request;
    request.set_id("job");
    v1::TuningJob job;
    REQUIRE(OwnerPlay::Call(stub, &Stub::DescribeTuningJob, request, job).ok());
    return job.spec().trainer().environment().at("KEY");
  };
  CHECK(seen(*ana) == "hunter2");
  CHECK(seen(*play.Client(v1::ADMIN, "root")) == "hunter2");
  CHECK(seen(*play.Client(v1::VIEWER, "eve")) == "(hidden)");
  CHECK(seen(*play.Client(v1::SUBMITTER, "ben")) == "(hidden)");
}

}  // namespace
}  // namespace winnow

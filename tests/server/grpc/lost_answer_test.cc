// A commit whose answer is lost: what it recorded holds, although the caller was told that it is not
// recorded.

#include <atomic>

#include "store/database/faults/commit_hook.h"
#include "tests/server/grpc/project_play.h"
#include "tests/store/get.h"

namespace winnow {
namespace {

using grpc::StatusCode;

// What becomes of the next commit; those after it are as usual.
struct NextCommit : CommitHook {
  std::atomic<CommitFate> fate{CommitFate::kCommits};
  CommitFate FateOf() override { return fate.exchange(CommitFate::kCommits); }
  void Committed() override {}
};

// Makes a call whose commit is done and whose answer is lost. That of a file is never lost: there `recorded`
// does the same beforehand, unknown to the server, and the call's own commit fails.
void LoseAnswer(Play& play, NextCommit& next, const std::function<absl::Status(Store&)>& recorded,
                const std::function<grpc::Status()>& call) {
  REQUIRE(play.Inside([&](Engine& engine) { HookCommits(engine.context().store.database(), &next); }).ok());
  if (!Places::postgres()) {
    const auto other = Get(Store::Open(play.file()));
    REQUIRE(recorded(*other).ok());
  }
  next.fate = Places::postgres() ? CommitFate::kUnknown : CommitFate::kFails;
  const grpc::Status lost = call();
  INFO(lost.error_message());
  REQUIRE(lost.error_code() == StatusCode::UNAVAILABLE);
  REQUIRE(play.Inside([](Engine&) {}).ok());  // which reads the tables anew
}

TEST_CASE("Lost answers: a token whose revocation is recorded is refused", "[server][stores]") {
  NextCommit next;
  TokenPlay play;
  const v1::CreateTokenResponse made = play.MakeToken(v1::VIEWER);
  const std::string id = made.token().id();
  CHECK(play.List(play.OverTcp(made.secret())).ok());
  LoseAnswer(
      play, next, [&](Store& store) { return store.tokens.Revoke(id, play.time.now_us).status(); },
      [&] {
        v1::RevokeTokenRequest revoke;
        revoke.set_id(id);
        v1::Token token;
        return play.Admin(play.OverSocket(), &v1::AdminService::Stub::RevokeToken, revoke, token);
      });
  CHECK(play.List(play.OverTcp(made.secret())).error_code() == StatusCode::UNAUTHENTICATED);
}

TEST_CASE("Lost answers: who was removed from a project sees its jobs no more, and open streams end",
          "[server][stores]") {
  NextCommit next;
  ProjectPlay play;
  const std::string ben = play.Token(v1::SUBMITTER, "ben");
  const std::string id = play.Submit(ben, "vision");
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(120));
  v1::WatchTuningJobRequest watch;
  watch.set_id(id);
  const auto stub = v1::TuningService::NewStub(*Connect(play.OverTcp(ben)));
  const auto stream = stub->WatchTuningJob(&context, watch);
  stream->WaitForInitialMetadata();
  LoseAnswer(
      play, next,
      [](Store& store) { return ProjectTable(store.database()).DeleteMember("vision", "ben").status(); },
      [&] { return play.Remove(play.OverSocket(), "vision", "ben"); });
  CHECK(play.Describe(ben, id).error_code() == StatusCode::NOT_FOUND);
  v1::TuningJobEvent event;
  while (stream->Read(&event)) {
  }
  CHECK(stream->Finish().error_code() == StatusCode::NOT_FOUND);
  CHECK(play.Remove(play.OverSocket(), "vision", "ben").error_code() == StatusCode::NOT_FOUND);
}

TEST_CASE("Lost answers: the jobs of a first project are its members' alone", "[server][stores]") {
  NextCommit next;
  TokenPlay play;
  const auto create = [&] {
    v1::CreateProjectRequest request;
    request.set_name("vision");
    v1::Project project;
    return TokenPlay::Do(*v1::ProjectService::NewStub(*Connect(play.OverSocket())),
                         &v1::ProjectService::Stub::CreateProject, request, project);
  };
  LoseAnswer(
      play, next,
      [](Store& store) {
        return ProjectTable(store.database()).Insert({"vision", 1});
      },
      create);
  CHECK(create().error_code() == StatusCode::ALREADY_EXISTS);
  v1::CreateTuningJobRequest request;
  *request.mutable_spec() = RandomJob(3);
  request.set_project("vision");
  v1::TuningJob job;
  REQUIRE(TokenPlay::Do(*v1::TuningService::NewStub(*Connect(play.OverSocket())),
                        &v1::TuningService::Stub::CreateTuningJob, request, job)
              .ok());
  v1::ListTuningJobsResponse listed;
  REQUIRE(TokenPlay::Do(*play.Client(v1::VIEWER, "dan"), &v1::TuningService::Stub::ListTuningJobs,
                        v1::ListTuningJobsRequest(), listed)
              .ok());
  CHECK(listed.jobs().empty());
}

}  // namespace
}  // namespace winnow

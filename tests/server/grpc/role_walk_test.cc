// Every method of every service, called by every role and by nobody.

#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>

#include <map>
#include <set>

#include "server/grpc/roles.h"
#include "tests/server/grpc/canaries.h"
#include "tests/server/grpc/every_method.h"
#include "tests/server/grpc/token_play.h"

namespace winnow {
namespace {

namespace pb = google::protobuf;

const std::set<std::string> kReads = {
    "DescribeTuningJob", "ListTuningJobs", "ListTrials", "DescribeTrial", "QueryMetrics", "GetAnalytics",
    "GetParetoFront", "GetSchedule", "PreviewTuningJob", "WatchTuningJob", "ListWorkers", "GetLogs",
    "GetLogTimes", "ReplayTuningJob", "GetBlob", "GetArtifact", "GetWorkerUsage", "GetTrialUsage",
    "ListPools", "RenderPool", "ListProjects", "GetProject",
    // Methods of insights.
    "GetProgress", "GetSieve", "GetLearningCurves", "GetParallelCoordinates", "GetImportance", "GetSlice",
    "QueryTrials", "GetNeighbours", "Compare", "GetObjectives", "GetContour", "GetScatter"};
const std::set<std::string> kSubmits = {"CreateTuningJob", "StopTuningJob", "ChangeTuningJob",
                                        "DeleteTuningJob", "Annotate", "SuggestTrials", "ReportMetrics",
                                        "CompleteTrial", "AddMember", "RemoveMember", "SetProject",
                                        // The blobs of a source.
                                        "FindMissingBlobs", "PutBlob"};
const std::string kForAll = "GetCaller";
const std::set<std::string> kWorks = {"Sync",    "FindMissingBlobs", "PutBlob",
                                      "GetBlob", "PutArtifact",      "GetArtifact"};

bool Expected(v1::Role role, const std::string& method) {
  if (method == kForAll) return true;
  switch (role) {
    case v1::VIEWER:
      return kReads.contains(method);
    case v1::SUBMITTER:
      return kReads.contains(method) || kSubmits.contains(method);
    case v1::WORKER:
      return kWorks.contains(method);
    default:
      return role == v1::ADMIN;
  }
}

grpc::Status CallEmpty(const std::shared_ptr<grpc::Channel>& channel, const pb::MethodDescriptor& method) {
  return CallWith(channel, method, "");
}

TEST_CASE("RoleWalk: every method has a rule, and every rule a method", "[server]") {
  std::set<std::string> declared;
  std::set<std::string> ruled;
  for (const pb::MethodDescriptor* method : AllMethods()) declared.insert(method->full_name());
  for (const MethodRule& rule : MethodRules()) {
    ruled.insert(std::string(rule.service) + "." + std::string(rule.method));
  }
  CHECK(declared.size() >= 28);
  CHECK(declared == ruled);
}

TEST_CASE("RoleWalk: no method answers a role that it should not, nor anyone without a token", "[server]") {
  TokenPlay play;
  for (v1::Role role : {v1::VIEWER, v1::SUBMITTER, v1::WORKER, v1::ADMIN}) {
    const auto channel = *Connect(play.OverTcp(play.MakeToken(role).secret()));
    for (const pb::MethodDescriptor* method : AllMethods()) {
      const grpc::Status status = CallEmpty(channel, *method);
      INFO(RoleName(role) << " calls " << method->full_name() << ": " << status.error_code() << " "
                          << status.error_message());
      CHECK((status.error_code() != grpc::StatusCode::PERMISSION_DENIED) == Expected(role, method->name()));
      CHECK(status.error_code() != grpc::StatusCode::UNAUTHENTICATED);
      CHECK(status.error_code() != grpc::StatusCode::UNIMPLEMENTED);
      CHECK(status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED);
    }
  }
  const std::string other = "wnw_00000000_" + std::string(43, 'A');
  for (const std::string& token : {std::string(), other, std::string("wnw_"), other + "A"}) {
    const auto channel = *Connect(play.OverTcp(token));
    for (const pb::MethodDescriptor* method : AllMethods()) {
      const grpc::Status status = CallEmpty(channel, *method);
      INFO("\"" << token << "\" calls " << method->full_name() << ": " << status.error_message());
      CHECK(status.error_code() == grpc::StatusCode::UNAUTHENTICATED);
    }
  }
}

TEST_CASE(
    "RoleWalk: no method shows a submitter or a viewer anything that another submitter or the site owns",
    "[server]") {
  Canaries<TokenPlay> play;
  play.options.files = *ReadableFolders::Only({play.folder.file("allowed")});
  play.options.files.Keep(play.file());
  play.StartServer();
  size_t calls = 0;
  const auto walk = [&](const v1::CreateTokenResponse& token) {
    const auto channel = *Connect(play.OverTcp(token.secret()));
    std::string all;
    for (const pb::MethodDescriptor* method : AllMethods()) {
      play.Requests(*method, [&](const pb::Message& request) {
        std::string answers;
        const grpc::Status status = CallWith(channel, *method, request.SerializeAsString(), &answers);
        INFO(method->full_name() << ": " << status.error_code() << " " << status.error_message());
        CHECK(status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED);
        answers += status.error_message() + status.error_details();
        if (token.token().name() != "ana") CHECK(answers.find("canary") == std::string::npos);
        all += answers;
        ++calls;
      });
    }
    return all;
  };
  for (const v1::CreateTokenResponse& token : {play.ben, play.viewer}) {
    CHECK_THAT(walk(token), Catch::Contains("API_KEY") && Catch::Contains("(hidden)"));
  }
  CHECK(calls > 2 * AllMethods().size());
  // She still has her jobs and sees her own data, but not the site's.
  const std::string hers = walk(play.ana);
  CHECK_THAT(hers, Catch::Contains("canaryenvironment"));
  for (const char* site : {"canaryfile", "canarycolumn", "canaryrow", "canarytoken", "canarysecret"}) {
    CHECK_THAT(hers, !Catch::Contains(site));
  }
}

TEST_CASE("RoleWalk: a server that only shows a file answers what looks, and refuses all else", "[server]") {
  TokenPlay play;
  play.options.auth.shown_file = "old.db";
  play.StartServer();
  std::set<std::string> expected = kReads;
  expected.insert({"GetCaller", "ListTokens", "ListWebhooks", "ListDeliveries", "ListAuditEntries"});
  std::set<std::string> answered;
  const auto channel = *Connect(play.OverSocket());
  const auto audit = [&] {
    int64_t entries = 0;
    CHECK(play.Inside([&](Engine& engine) {
                entries = *engine.context().store.database().QueryInt("SELECT COUNT(*) FROM audit");
              })
              .ok());
    return entries;
  };
  const int64_t before = audit();
  for (const pb::MethodDescriptor* method : AllMethods()) {
    const grpc::Status status = CallEmpty(channel, *method);
    INFO(method->full_name() << ": " << status.error_message());
    const bool refused = status.error_message() == "this server only shows old.db; it changes nothing";
    CHECK((!refused || status.error_code() == grpc::StatusCode::FAILED_PRECONDITION));
    if (!refused) answered.insert(method->name());
  }
  CHECK(answered == expected);
  CHECK(audit() == before);
  grpc::ClientContext context;
  v1::Caller caller;
  REQUIRE(v1::AdminService::NewStub(channel)->GetCaller(&context, {}, &caller).ok());
  CHECK(caller.read_only());
}

TEST_CASE("RoleWalk: whoever opens the socket may call everything", "[server]") {
  TokenPlay play;
  const auto channel = *Connect(play.OverSocket());
  for (const pb::MethodDescriptor* method : AllMethods()) {
    const grpc::Status status = CallEmpty(channel, *method);
    INFO(method->full_name() << ": " << status.error_message());
    CHECK(status.error_code() != grpc::StatusCode::PERMISSION_DENIED);
    CHECK(status.error_code() != grpc::StatusCode::UNAUTHENTICATED);
  }
}

TEST_CASE("RoleWalk: where tokens are asked for, reflection answers nobody and health everybody",
          "[server]") {
  TokenPlay play;
  const auto call = [&](const char* name) {
    grpc::GenericStub stub(*Connect(play.OverTcp("")));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    grpc::CompletionQueue queue;
    grpc::Slice nothing;
    const grpc::ByteBuffer request(&nothing, 1);
    const auto pending = stub.PrepareUnaryCall(&context, name, request, &queue);
    pending->StartCall();
    grpc::ByteBuffer answer;
    grpc::Status status;
    pending->Finish(&answer, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return status.error_code();
  };
  CHECK(call("/grpc.health.v1.Health/Check") == grpc::StatusCode::OK);
  CHECK(call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo") ==
        grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace winnow

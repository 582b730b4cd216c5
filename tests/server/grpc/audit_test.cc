// What the audit log says of each call that changes something.

#include "server/grpc/audit.h"

#include <map>

#include "server/grpc/roles.h"
#include "tests/server/grpc/every_method.h"
#include "tests/server/grpc/token_play.h"
#include "winnow/v1/audit.grpc.pb.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {
namespace {

struct AuditPlay : TokenPlay {
  grpc::Status List(const Endpoint& from, const v1::ListAuditEntriesRequest& request,
                    v1::ListAuditEntriesResponse& response) {
    grpc::ClientContext context;
    SetDeadline(context);
    return v1::AuditService::NewStub(*Connect(from))->ListAuditEntries(&context, request, &response);
  }
  std::vector<v1::AuditEntry> Entries(const v1::ListAuditEntriesRequest& request = {}) {
    // Calls that were refused are recorded after they were answered.
    REQUIRE(Inside([](Engine&) {}).ok());
    v1::ListAuditEntriesResponse response;
    const grpc::Status status = List(OverSocket(), request, response);
    INFO(status.error_message());
    REQUIRE(status.ok());
    return {response.entries().begin(), response.entries().end()};
  }
  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  }
  std::unique_ptr<v1::TuningService::Stub> Tuning(const std::string& secret) {
    return v1::TuningService::NewStub(*Connect(OverTcp(secret)));
  }
  std::string Submit(const std::string& secret) {
    v1::CreateTuningJobRequest create;
    *create.mutable_spec() = RandomJob(3);
    (*create.mutable_spec()->mutable_trainer()->mutable_environment())["API_KEY"] = "canary";
    v1::TuningJob job;
    grpc::ClientContext context;
    SetDeadline(context);
    const grpc::Status status = Tuning(secret)->CreateTuningJob(&context, create, &job);
    INFO(status.error_message());
    REQUIRE(status.ok());
    return job.id();
  }
  grpc::Status Stop(const std::string& secret, const std::string& id) {
    v1::StopTuningJobRequest stop;
    stop.set_id(id);
    v1::TuningJob job;
    grpc::ClientContext context;
    SetDeadline(context);
    return Tuning(secret)->StopTuningJob(&context, stop, &job);
  }
};

TEST_CASE("Audit: an entry says who, from where, what, when and with what outcome, and no secret",
          "[server]") {
  AuditPlay play;
  const auto ana = play.MakeToken(v1::SUBMITTER, 0, "ana"), ben = play.MakeToken(v1::SUBMITTER, 0, "ben");
  const std::string job = play.Submit(ana.secret());
  CHECK(play.Stop(ben.secret(), job).error_code() == grpc::StatusCode::PERMISSION_DENIED);
  REQUIRE(play.Stop(ana.secret(), job).ok());
  const auto entries = play.Entries();
  REQUIRE(entries.size() == 5);
  const v1::AuditEntry &stop = entries[0], &refused = entries[1], &create = entries[2], &token = entries[4];
  CHECK(stop.person() == "ana");
  CHECK(stop.token_id() == ana.token().id());
  CHECK(stop.address() == "127.0.0.1");
  CHECK(stop.method() == "StopTuningJob");
  CHECK(stop.job_id() == job);
  CHECK(stop.outcome() == "OK");
  CHECK(stop.time().seconds() * 1'000'000 == play.time.now_us.load());
  CHECK(refused.person() == "ben");
  CHECK(refused.outcome() == "PERMISSION_DENIED");
  CHECK(create.method() == "CreateTuningJob");
  CHECK(create.job_id() == job);
  CHECK(token.person().empty());
  CHECK(token.address() == "unix");
  CHECK(token.subject() == ana.token().id());
  CHECK_THAT(token.detail(), Catch::Contains("role submitter") && Catch::Contains("ana"));
  for (const v1::AuditEntry& entry : entries) {
    CHECK_THAT(entry.ShortDebugString(), !Catch::Contains("canary") && !Catch::Contains("wnw_"));
  }
}

TEST_CASE("Audit: filters and pages give what was asked for", "[server]") {
  AuditPlay play;
  const auto ana = play.MakeToken(v1::SUBMITTER, 0, "ana"), ben = play.MakeToken(v1::SUBMITTER, 0, "ben");
  const std::string first = play.Submit(ana.secret());
  play.Tick(3'000'000);
  const std::string second = play.Submit(ben.secret());
  v1::ListAuditEntriesRequest by_ben;
  by_ben.set_person("ben");
  REQUIRE(play.Entries(by_ben).size() == 1);
  CHECK(play.Entries(by_ben).front().job_id() == second);
  v1::ListAuditEntriesRequest of_first;
  of_first.set_job_id(first);
  REQUIRE(play.Entries(of_first).size() == 1);
  CHECK(play.Entries(of_first).front().person() == "ana");
  v1::ListAuditEntriesRequest late;
  late.mutable_since()->set_seconds(play.time.now_us / 1'000'000);
  CHECK(play.Entries(late).size() == 1);
  v1::ListAuditEntriesRequest page;
  page.set_page_size(1);
  std::vector<std::string> methods;
  do {
    v1::ListAuditEntriesResponse response;
    REQUIRE(play.List(play.OverSocket(), page, response).ok());
    for (const v1::AuditEntry& entry : response.entries()) methods.push_back(entry.method());
    page.set_page_token(response.next_page_token());
  } while (!page.page_token().empty());
  CHECK(methods ==
        std::vector<std::string>{"CreateTuningJob", "CreateTuningJob", "CreateToken", "CreateToken"});
  v1::ListAuditEntriesRequest wrong;
  wrong.set_page_size(-1);
  v1::ListAuditEntriesResponse response;
  CHECK(play.List(play.OverSocket(), wrong, response).error_code() == grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("Audit: only admins read it", "[server]") {
  AuditPlay play;
  for (const v1::Role role : {v1::VIEWER, v1::SUBMITTER, v1::WORKER, v1::ADMIN}) {
    v1::ListAuditEntriesResponse response;
    const grpc::Status status = play.List(play.OverTcp(play.MakeToken(role).secret()), {}, response);
    CHECK((status.error_code() == grpc::StatusCode::OK) == (role == v1::ADMIN));
  }
}

TEST_CASE(
    "Audit: every method that changes something leaves an entry, whoever calls it and whatever comes of it",
    "[server]") {
  AuditPlay play;
  std::map<std::string, const google::protobuf::MethodDescriptor*> methods;
  for (const auto* method : AllMethods()) methods[method->full_name()] = method;
  size_t audited = 0;
  for (const v1::Role role : {v1::VIEWER, v1::ADMIN}) {
    const auto token = play.MakeToken(role, 0, "of the walk " + std::string(RoleName(role)));
    v1::ListAuditEntriesRequest mine;
    mine.set_person(token.token().name());
    for (const MethodRule& rule : MethodRules()) {
      const size_t before = play.Entries(mine).size();
      const auto* method = methods.at(std::string(rule.service) + "." + std::string(rule.method));
      const grpc::Status status = CallWith(*Connect(play.OverTcp(token.secret())), *method, "");
      const auto entries = play.Entries(mine);
      INFO(RoleName(role) << " calls " << rule.method << ": " << status.error_code());
      CHECK(entries.size() == before + (rule.audited ? 1 : 0));
      if (!rule.audited || entries.empty()) continue;
      ++audited;
      CHECK(entries.front().method() == rule.method);
      CHECK((entries.front().outcome() == "PERMISSION_DENIED") == (role == v1::VIEWER));
    }
  }
  CHECK(audited >= 18);
}

TEST_CASE("Audit: calls that a role may not make are recorded once a minute", "[server]") {
  AuditPlay play;
  const auto eve = play.MakeToken(v1::VIEWER, 0, "eve");
  v1::ListAuditEntriesRequest hers;
  hers.set_person("eve");
  for (int i = 0; i < 5; ++i) CHECK_FALSE(play.Stop(eve.secret(), "job").ok());
  CHECK(play.Entries(hers).size() == 1);
  play.Tick(60'000'000);
  CHECK_FALSE(play.Stop(eve.secret(), "job").ok());
  CHECK(play.Entries(hers).size() == 2);
}

TEST_CASE("Audit: entries that are older than the server keeps them are removed", "[server]") {
  constexpr int64_t kHourUs = 3'600'000'000;
  Play play;
  const auto add = [&] {
    REQUIRE(play.Inside([](Engine& engine) {
                  AddAuditEntry(engine.context(), {}, {"StopTuningJob"}, absl::OkStatus());
                })
                .ok());
  };
  const auto count = [&] {
    size_t entries = 0;
    REQUIRE(play.Inside([&](Engine& engine) {
                  entries = engine.context().store.audit.List({}, INT64_MAX, 100)->size();
                })
                .ok());
    return entries;
  };
  add();
  play.audit_keep_us = 2 * kHourUs;
  play.Restart(kHourUs);
  add();
  CHECK(count() == 2);
  play.Tick(kHourUs + 1);
  CHECK(count() == 1);
  play.Tick(kHourUs + 1);
  CHECK(count() == 0);
}

TEST_CASE("Audit: the address of a peer is its host", "[server]") {
  CHECK(AddressOfPeer("ipv4:192.0.2.7:50312") == "192.0.2.7");
  CHECK(AddressOfPeer("ipv6:%5B2001:db8::1%5D:50312") == "2001:db8::1");
  CHECK(AddressOfPeer("ipv6:[::1]:50312") == "::1");
  CHECK(AddressOfPeer("unix:") == "unix");
  CHECK(AddressOfPeer("unix:/a/b.sock") == "unix");
}

}  // namespace
}  // namespace winnow

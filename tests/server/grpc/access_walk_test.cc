// Every method, called by every kind of member, about a job of a project.

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "server/grpc/guard.h"
#include "server/grpc/roles.h"
#include "tests/server/grpc/every_method.h"
#include "tests/server/grpc/project_play.h"

namespace winnow {
namespace {

namespace pb = google::protobuf;

constexpr char kTable[] = WINNOW_SOURCE_DIR "/tests/server/grpc/access_table.md";

const MethodRule& RuleFor(const pb::MethodDescriptor& method) {
  const MethodRule* rule = RuleOf(method.service()->full_name(), method.name());
  REQUIRE(rule != nullptr);
  return *rule;
}

bool NamesJobs(const MethodRule& rule) { return !rule.jobs.starts_with('('); }

void SetText(pb::Message& message, std::string_view path, const std::string& value) {
  const size_t dot = path.find('.');
  const pb::FieldDescriptor* field =
      message.GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  if (field == nullptr) return;
  const pb::Reflection& reflection = *message.GetReflection();
  if (dot != std::string_view::npos)
    return SetText(*reflection.MutableMessage(&message, field), path.substr(dot + 1), value);
  field->is_repeated() ? reflection.AddString(&message, field, value)
                       : reflection.SetString(&message, field, value);
}

// The request of a method about this job, and about project vision where it has such a field.
std::string RequestAbout(const pb::MethodDescriptor& method, const std::string& job) {
  const pb::Message& type = *pb::MessageFactory::generated_factory()->GetPrototype(method.input_type());
  const std::unique_ptr<pb::Message> request(type.New());
  const MethodRule& rule = RuleFor(method);
  if (NamesJobs(rule)) SetText(*request, rule.jobs, job);
  SetText(*request, "project", "vision");
  SetText(*request, "person", "nobody");
  if (method.name() == "CreateProject") SetText(*request, "name", "vision");
  return request->SerializeAsString();
}

// What came of a call in a word; "may", whatever else it was, if not for access.
std::string AccessOf(const grpc::Status& status, const std::string& job) {
  const std::string& text = status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::UNAUTHENTICATED:
      return "token";
    case grpc::StatusCode::PERMISSION_DENIED:
      return text.starts_with("role ") ? "role" : "owner";
    case grpc::StatusCode::NOT_FOUND:
      return text == "there is no job \"" + job + "\"" || text == "there is no project \"vision\"" ? "hidden"
                                                                                                   : "may";
    default:
      return "may";
  }
}

std::string Without(std::string text, const std::string& part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part))
    text.erase(at, part.size());
  return text;
}

TEST_CASE("Access: the rule of each method says where its request names jobs", "[server]") {
  const std::set<std::string> names = {"id", "job_id", "job_ids", "jobs"};
  for (const pb::MethodDescriptor* method : AllMethods()) {
    const MethodRule& rule = RuleFor(*method);
    INFO(method->full_name() << ": " << rule.jobs);
    const bool for_admins = rule.roles == 1u << v1::ADMIN;
    CHECK((rule.jobs == kForAdmins) == for_admins);
    if (NamesJobs(rule)) {
      const pb::Descriptor* type = method->input_type();
      std::string_view path = rule.jobs;
      for (size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
        const pb::FieldDescriptor* field = type->FindFieldByName(std::string(path.substr(0, dot)));
        REQUIRE(field != nullptr);
        type = field->message_type();
        REQUIRE(type != nullptr);
        path.remove_prefix(dot + 1);
      }
      const pb::FieldDescriptor* field = type->FindFieldByName(std::string(path));
      REQUIRE(field != nullptr);
      CHECK(field->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING);
    } else if (rule.jobs != kForAdmins) {
      for (const std::string& name : names) CHECK(method->input_type()->FindFieldByName(name) == nullptr);
    }
  }
}

TEST_CASE("Access: every method, called by every kind of member, answers as the table says", "[server]") {
  ProjectPlay play;
  const std::string expired = play.Token(v1::SUBMITTER, "ana", 1);
  play.Tick(2'000'000);
  const v1::CreateTokenResponse revoked = play.MakeToken(v1::SUBMITTER, 0, "ana");
  play.Revoke(revoked.token().id());
  const std::string ana = play.Token(v1::SUBMITTER, "ana");
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"owner", ana},
      {"member", play.Token(v1::SUBMITTER, "ben")},
      {"leads", play.Token(v1::SUBMITTER, "lea")},
      {"other project", play.Token(v1::SUBMITTER, "cem")},
      {"no project", play.Token(v1::SUBMITTER, "dan")},
      {"viewer", play.Token(v1::VIEWER, "eve")},
      {"other viewer", play.Token(v1::VIEWER, "vic")},
      {"worker", play.WorkerToken({"vision"}).secret()},
      {"other worker", play.WorkerToken({"speech", "default"}).secret()},
      {"any worker", play.WorkerToken({}).secret()},
      {"expired", expired},
      {"revoked", revoked.secret()},
      {"admin", play.Token(v1::ADMIN, "adam")}};
  const std::string ended = play.Submit(ana, "vision"), running = play.Submit(ana, "vision");
  REQUIRE(play.Stop(ana, ended).ok());
  std::map<std::string, std::string> rows;
  for (const pb::MethodDescriptor* method : AllMethods())
    rows[method->full_name()] = "| " + method->name() + " |";
  std::string table = "| method |", line = "| --- |";
  for (const auto& [kind, secret] : kinds) {
    table += " " + kind + " |";
    line += " --- |";
    const auto channel = *Connect(play.OverTcp(secret));
    for (const pb::MethodDescriptor* method : AllMethods()) {
      const std::string& job = method->name() == "DeleteTuningJob" ? running : ended;
      std::string answers;
      const grpc::Status status = CallWith(channel, *method, RequestAbout(*method, job), &answers);
      INFO(kind << " calls " << method->full_name() << ": " << status.error_code() << " "
                << status.error_message());
      CHECK(status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED);
      const std::string access = AccessOf(status, job);
      rows[method->full_name()] += " " + access + " |";
      if (access != "hidden" || !NamesJobs(RuleFor(*method))) continue;
      // What may not be seen is answered as what was never there.
      const std::string never = "never@vision";
      const grpc::Status missing = CallWith(channel, *method, RequestAbout(*method, never));
      CHECK(answers.empty());
      CHECK(missing.error_code() == status.error_code());
      CHECK(Without(missing.error_message(), never) == Without(status.error_message(), job));
    }
  }
  table += "\n" + line + "\n";
  for (const auto& [method, row] : rows) table += row + "\n";
  std::ifstream file(kTable);
  const std::string written((std::istreambuf_iterator<char>(file)), {});
  const size_t begin = written.find("| method |");
  REQUIRE(begin != std::string::npos);
  INFO("If this is how it should be, replace the table of " << kTable << ":\n" << table);
  CHECK(written.substr(begin) == table);
}

TEST_CASE("Access: no method tells anyone outside of a project what is in it", "[server]") {
  ProjectPlay play;
  const std::string ana = play.Token(v1::SUBMITTER, "ana");
  v1::TuningJobSpec spec = RandomJob(2, 4);
  spec.set_name("canaryjob");
  spec.set_note("canarynote");
  spec.add_tags("canarytag");
  (*spec.mutable_static_hyperparameters())["canaryhyperparameter"] = "canaryvalue";
  const std::string hidden = play.Submit(ana, "vision", spec);
  const std::string own = play.Submit(play.Token(v1::SUBMITTER, "dan"), "");
  // Both run.
  v1::SyncRequest worker;
  worker.set_worker_id(std::string(32, 'a'));
  worker.set_name("any");
  worker.set_host("127.0.0.1");
  worker.set_slots(8);
  worker.set_storage_id("shared");
  v1::SyncResponse assigned;
  REQUIRE(TokenPlay::Do(*v1::WorkerService::NewStub(*Connect(play.OverTcp(play.WorkerToken({}).secret()))),
                        &v1::WorkerService::Stub::Sync, worker, assigned)
              .ok());
  CHECK(assigned.assignments_size() > 3);
  size_t calls = 0;
  for (const std::string& secret : {play.Token(v1::SUBMITTER, "cem"), play.Token(v1::SUBMITTER, "dan"),
                                    play.Token(v1::VIEWER, "vic"), play.WorkerToken({"speech"}).secret()}) {
    const auto channel = *Connect(play.OverTcp(secret));
    for (const pb::MethodDescriptor* method : AllMethods()) {
      for (const std::string& about : {std::string(), hidden, own}) {
        // A watch of one's own job would not end.
        if (about == own && method->name() == "WatchTuningJob") continue;
        std::string answers;
        const std::string request = about.empty() ? "" : RequestAbout(*method, about);
        const grpc::Status status = CallWith(channel, *method, request, &answers);
        answers += status.error_message() + status.error_details();
        INFO(method->full_name() << " about \"" << about << "\": " << status.error_message());
        CHECK(status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED);
        CHECK(Without(answers, hidden).find("canary") == std::string::npos);
        if (about != hidden) CHECK(answers.find(hidden) == std::string::npos);
        ++calls;
      }
    }
  }
  CHECK(calls > 4 * AllMethods().size());
  // Its members see all of it.
  v1::TuningJob job;
  REQUIRE(play.Describe(play.Token(v1::VIEWER, "eve"), hidden, &job).ok());
  CHECK_THAT(job.ShortDebugString(), Catch::Contains("canarynote") && Catch::Contains("canaryvalue"));
}

}  // namespace
}  // namespace winnow

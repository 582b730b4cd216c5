// The commands of those who run a server for others: audit, webhooks.

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status_text.h"
#include "cli/commands/audit.h"
#include "tests/catch.h"
#include "tests/cli/process.h"
#include "winnow/v1/admin.grpc.pb.h"
#include "winnow/v1/audit.grpc.pb.h"
#include "winnow/v1/projects.grpc.pb.h"
#include "winnow/v1/tuning.grpc.pb.h"
#include "winnow/v1/webhooks.grpc.pb.h"

namespace winnow {
namespace {

using nlohmann::json;

// Answers with what a test puts into it, entry by entry.
class FakeSite : private v1::AuditService::Service,
                 private v1::WebhookService::Service,
                 private v1::ProjectService::Service,
                 private v1::AdminService::Service,
                 private v1::TuningService::Service {
 public:
  FakeSite() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<v1::AuditService::Service*>(this));
    builder.RegisterService(static_cast<v1::WebhookService::Service*>(this));
    builder.RegisterService(static_cast<v1::ProjectService::Service*>(this));
    builder.RegisterService(static_cast<v1::AdminService::Service*>(this));
    builder.RegisterService(static_cast<v1::TuningService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  void AddEntry(int64_t seconds, const std::string& person, const std::string& method,
                const std::string& outcome) {
    v1::AuditEntry entry;
    entry.mutable_time()->set_seconds(seconds);
    entry.set_person(person);
    entry.set_token_id("3f2a91c4");
    entry.set_address("192.0.2.7");
    entry.set_method(method);
    entry.set_job_id("mnist-2");
    entry.set_outcome(outcome);
    entries.push_back(entry);
  }

  std::vector<v1::AuditEntry> entries;  // the newest first
  v1::ListAuditEntriesRequest asked;    // the first of the newest command
  v1::ListWebhooksResponse webhooks;
  v1::ListDeliveriesResponse deliveries;
  v1::ListDeliveriesRequest deliveries_asked;
  std::string tested;
  v1::ListProjectsResponse projects;
  std::string changed;  // the newest change of a project
  v1::SetProjectRequest set;
  v1::Caller caller;

 private:
  grpc::Status GetCaller(grpc::ServerContext*, const v1::GetCallerRequest*, v1::Caller* answer) override {
    *answer = caller;
    return grpc::Status::OK;
  }
  grpc::Status ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                           v1::ListWorkersResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status ListProjects(grpc::ServerContext*, const v1::ListProjectsRequest*,
                            v1::ListProjectsResponse* response) override {
    *response = projects;
    return grpc::Status::OK;
  }
  grpc::Status CreateProject(grpc::ServerContext*, const v1::CreateProjectRequest* request,
                             v1::Project* project) override {
    changed = "create " + request->name();
    project->set_name(request->name());
    return grpc::Status::OK;
  }
  grpc::Status GetProject(grpc::ServerContext*, const v1::GetProjectRequest* request,
                          v1::Project* project) override {
    *project = projects.projects(0);
    project->set_name(request->project());
    return grpc::Status::OK;
  }
  grpc::Status SetProject(grpc::ServerContext*, const v1::SetProjectRequest* request,
                          v1::Project* project) override {
    set = *request;
    if (request->job_class() > 9)
      return {grpc::StatusCode::INVALID_ARGUMENT, "job_class: is 12; expected 0 to 9"};
    project->set_name(request->project());
    project->set_weight(1);
    return grpc::Status::OK;
  }
  grpc::Status DeleteProject(grpc::ServerContext*, const v1::DeleteProjectRequest* request,
                             v1::DeleteProjectResponse*) override {
    changed = "delete " + request->project();
    return grpc::Status::OK;
  }
  grpc::Status AddMember(grpc::ServerContext*, const v1::AddMemberRequest* request,
                         v1::Project* project) override {
    changed = "add " + request->person() + (request->leads() ? " leads" : "") + " to " + request->project();
    project->set_name(request->project());
    v1::Member& member = *project->add_members();
    member.set_person(request->person());
    member.set_leads(request->leads());
    return grpc::Status::OK;
  }
  grpc::Status RemoveMember(grpc::ServerContext*, const v1::RemoveMemberRequest* request,
                            v1::Project* project) override {
    changed = "remove " + request->person() + " from " + request->project();
    project->set_name(request->project());
    return grpc::Status::OK;
  }

  // A page has at most two entries.
  grpc::Status ListAuditEntries(grpc::ServerContext*, const v1::ListAuditEntriesRequest* request,
                                v1::ListAuditEntriesResponse* response) override {
    if (request->page_token().empty()) asked = *request;
    size_t at = request->page_token().empty() ? 0 : std::stoul(request->page_token());
    while (at < entries.size() && response->entries_size() < std::min(2, request->page_size()))
      *response->add_entries() = entries[at++];
    if (at < entries.size()) response->set_next_page_token(std::to_string(at));
    return grpc::Status::OK;
  }
  grpc::Status ListWebhooks(grpc::ServerContext*, const v1::ListWebhooksRequest*,
                            v1::ListWebhooksResponse* response) override {
    *response = webhooks;
    return grpc::Status::OK;
  }
  grpc::Status ListDeliveries(grpc::ServerContext*, const v1::ListDeliveriesRequest* request,
                              v1::ListDeliveriesResponse* response) override {
    deliveries_asked = *request;
    *response = deliveries;
    return grpc::Status::OK;
  }
  grpc::Status TestWebhook(grpc::ServerContext*, const v1::TestWebhookRequest* request,
                           v1::Delivery* delivery) override {
    tested = request->name();
    delivery->set_number(17);
    return grpc::Status::OK;
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_CASE("audit: entries are lines of a table, from as many pages as there are", "[cli]") {
  FakeSite site;
  site.AddEntry(1'700'000'003, "ana", "StopTuningJob", "OK");
  site.AddEntry(1'700'000'002, "ben", "DeleteTuningJob", "PERMISSION_DENIED");
  site.AddEntry(1'700'000'001, "ana", "CreateTuningJob", "OK");
  const Result all = RunWinnow({"audit"}, site.address());
  CHECK(all.code == 0);
  CHECK_THAT(all.out, Catch::Contains("2023-11-14 22:13:23") && Catch::Contains("StopTuningJob") &&
                          Catch::Contains("mnist-2") && Catch::Contains("192.0.2.7") &&
                          Catch::Contains("PERMISSION_DENIED") && Catch::Contains("CreateTuningJob"));
  const Result newest = RunWinnow({"audit", "--limit", "1"}, site.address());
  CHECK_THAT(newest.out, !Catch::Contains("ben"));
  CHECK_THAT(newest.err, Catch::Contains("older entries"));
  const Result lines = RunWinnow({"audit", "--output", "jsonl"}, site.address());
  CHECK(std::count(lines.out.begin(), lines.out.end(), '\n') == 3);
}

TEST_CASE("audit: the filters are asked of the server", "[cli]") {
  FakeSite site;
  const Result result = RunWinnow(
      {"audit", "--person", "ana", "--job", "mnist-2", "--method", "StopTuningJob", "--since", "2026-11-22"},
      site.address());
  CHECK(result.out == "The audit log has no such entry.\n");
  CHECK(site.asked.person() == "ana");
  CHECK(site.asked.job_id() == "mnist-2");
  CHECK(site.asked.method() == "StopTuningJob");
  CHECK(site.asked.since().seconds() == 1'795'305'600);
  const Result wrong = RunWinnow({"audit", "--since", "yesterday"}, site.address());
  CHECK(wrong.code == 1);
  CHECK_THAT(wrong.err, Catch::Contains("--since: \"yesterday\" is no time"));
}

TEST_CASE("audit: --since takes days, times and ages", "[cli]") {
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  CHECK(absl::ToUnixSeconds(*cli::SinceTime("7d", now)) == 1'800'000'000 - 7 * 86'400);
  CHECK(absl::ToUnixSeconds(*cli::SinceTime("90m", now)) == 1'800'000'000 - 5'400);
  CHECK(absl::ToUnixSeconds(*cli::SinceTime("1970-01-02", now)) == 86'400);
  CHECK(absl::ToUnixSeconds(*cli::SinceTime("1970-01-02T00:00:01Z", now)) == 86'401);
  for (const char* wrong : {"", "d", "-1d", "-5m", "1e9d", "99999999d", "soon"})
    CHECK(absl::IsInvalidArgument(cli::SinceTime(wrong, now).status()));
}

TEST_CASE("webhooks: they, and what was delivered, are lines of tables", "[cli]") {
  FakeSite site;
  CHECK_THAT(RunWinnow({"webhooks"}, site.address()).out, Catch::Contains("has no webhooks"));
  v1::Webhook& webhook = *site.webhooks.add_webhooks();
  webhook.set_name("chat");
  webhook.set_address("https://chat.example");
  webhook.add_events(v1::Event::JOB_ENDED);
  webhook.set_waiting(3);
  CHECK_THAT(RunWinnow({"webhooks"}, site.address()).out,
             Catch::Contains("chat") && Catch::Contains("https://chat.example") &&
                 Catch::Contains("JOB_ENDED") && Catch::Contains("3"));
  v1::Delivery& delivery = *site.deliveries.add_deliveries();
  delivery.set_number(42);
  delivery.set_webhook("chat");
  delivery.mutable_event()->set_kind(v1::Event::WORKER_QUARANTINED);
  delivery.mutable_event()->set_worker("gpu-1");
  delivery.set_state(v1::Delivery::GIVEN_UP);
  delivery.set_answer("status 500");
  const Result log =
      RunWinnow({"webhooks", "deliveries", "--webhook", "chat", "--state", "given_up"}, site.address());
  CHECK_THAT(log.out, Catch::Contains("42") && Catch::Contains("worker gpu-1") &&
                          Catch::Contains("GIVEN_UP") && Catch::Contains("status 500"));
  delivery.mutable_event()->clear_worker();
  delivery.mutable_event()->set_project("vision");
  delivery.mutable_event()->set_person("ana");
  delivery.set_state(v1::Delivery::WAITING);
  delivery.set_attempts(1);
  delivery.mutable_next_time()->set_seconds(1'700'000'000);
  CHECK_THAT(
      RunWinnow({"webhooks", "deliveries", "--webhook", "chat", "--state", "given_up"}, site.address()).out,
      Catch::Contains("ana in project vision") && Catch::Contains("NEXT") && Catch::Contains("2023-11-1"));
  CHECK(site.deliveries_asked.webhook() == "chat");
  CHECK(site.deliveries_asked.state() == v1::Delivery::GIVEN_UP);
  const Result tested = RunWinnow({"webhooks", "test", "chat", "-o", "json"}, site.address());
  CHECK(json::parse(tested.out)["number"] == 17);
  CHECK(site.tested == "chat");
}

TEST_CASE("whoami: it says who the caller is, and whether the server is read-only", "[cli]") {
  FakeSite site;
  site.caller.set_role(v1::SUBMITTER);
  site.caller.set_name("Ana");
  site.caller.set_token_id("3f2a91c4");
  site.caller.set_tokens_required(true);
  site.caller.set_server_version("1.2.3");
  site.caller.add_projects("speech");
  site.caller.add_projects("vision");
  site.caller.add_led_projects("vision");
  CHECK(RunWinnow({"whoami"}, site.address()).out ==
        "Ana, submitter (token 3f2a91c4), a member of project speech, a leader of project vision\n"
        "The server is winnow-server 1.2.3 and requires tokens.\n");
  CHECK(json::parse(RunWinnow({"whoami", "-o", "json"}, site.address()).out)["read_only"] == false);
  site.caller.Clear();
  site.caller.set_role(v1::ADMIN);
  site.caller.set_read_only(true);
  CHECK_THAT(RunWinnow({"whoami"}, site.address()).out,
             Catch::StartsWith("No name, admin\n") && Catch::Contains("requires no tokens") &&
                 Catch::Contains("It is read-only: it shows an archive and changes nothing."));
  CHECK(json::parse(RunWinnow({"whoami", "-o", "json"}, site.address()).out)["read_only"] == true);
  CHECK(RunWinnow({"workers"}, site.address()).out == "This server shows a file, and has no workers.\n");
}

TEST_CASE("projects: what they have and may have is shown, and changed by flags", "[cli]") {
  FakeSite site;
  v1::Project& project = *site.projects.add_projects();
  project.set_weight(2);
  project.set_job_class(3);
  project.set_share(0.25);
  project.set_due_share(0.5);
  project.mutable_quota()->set_max_slots(8);
  project.mutable_use()->set_slots(6);
  project.mutable_use()->set_decayed_slot_hours(12.5);
  v1::Member& ana = *project.add_members();
  ana.set_person("ana");
  ana.mutable_quota()->set_max_node_hours(40);
  ana.mutable_use()->set_node_hours(1.5);
  ana.mutable_use()->set_storage_gib(1.7e-6);
  const std::string shown = RunWinnow({"projects", "show", "vision"}, site.address()).out;
  CHECK_THAT(shown,
             Catch::Contains("weight 2, class 3") && Catch::Contains("25 %") && Catch::Contains("50 %"));
  CHECK_THAT(shown, Catch::Contains("6 of 8") && Catch::Contains("ana") && Catch::Contains("1.5 of 40") &&
                        Catch::Contains("<0.001"));
  CHECK(RunWinnow({"projects", "set", "vision", "--max-slots", "4", "--max-gpus", "0.5", "--weight", "3"},
                  site.address())
            .code == 0);
  CHECK(site.set.max_slots() == 4);
  CHECK(site.set.max_gpus() == 0.5);
  CHECK(site.set.weight() == 3);
  CHECK_FALSE(site.set.has_max_node_hours());
  CHECK_FALSE(site.set.has_job_class());
  CHECK(RunWinnow({"projects", "set", "vision", "--person", "ana", "--max-node-hours", "0",
                   "--max-running-jobs", "2", "--max-storage-gib", "1.5"},
                  site.address())
            .code == 0);
  CHECK(site.set.person() == "ana");
  CHECK(site.set.has_max_node_hours());
  CHECK(site.set.max_running_jobs() == 2);
  CHECK(site.set.max_storage_gib() == 1.5);
  const Result refused = RunWinnow({"projects", "set", "vision", "--class", "12"}, site.address());
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err,
             Catch::Contains("--class: is 12; expected 0 to 9") && !Catch::Contains("job_class"));
}

TEST_CASE("projects: they and their members are lines of a table, and are changed by its words", "[cli]") {
  FakeSite site;
  CHECK_THAT(RunWinnow({"projects"}, site.address()).out, Catch::Contains("projects create NAME"));
  v1::Project& project = *site.projects.add_projects();
  project.set_name("vision");
  project.set_jobs(17);
  project.add_members()->set_person("ana");
  v1::Member& lea = *project.add_members();
  lea.set_person("lea");
  lea.set_leads(true);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"projects"}, {"projects", "list"}}) {
    CHECK_THAT(RunWinnow(words, site.address()).out,
               Catch::Contains("vision") && Catch::Contains("17") && Catch::Contains("ana, lea (leads)"));
  }
  const Result lines = RunWinnow({"projects", "-o", "jsonl"}, site.address());
  CHECK(json::parse(lines.out)["members"][1]["leads"] == true);
  CHECK(RunWinnow({"projects", "create", "speech"}, site.address()).out ==
        "Project speech: no members yet\n");
  CHECK(site.changed == "create speech");
  CHECK(RunWinnow({"projects", "add-member", "vision", "ben", "--leads"}, site.address()).out ==
        "Project vision: ben (leads)\n");
  CHECK(site.changed == "add ben leads to vision");
  const Result removed =
      RunWinnow({"projects", "remove-member", "vision", "ben", "-o", "json"}, site.address());
  CHECK(json::parse(removed.out)["name"] == "vision");
  CHECK(site.changed == "remove ben from vision");
  CHECK(RunWinnow({"projects", "delete", "vision"}, site.address()).out == "Project vision is deleted.\n");
  CHECK(site.changed == "delete vision");
}

}  // namespace
}  // namespace winnow

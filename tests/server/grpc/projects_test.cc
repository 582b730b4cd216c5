// Projects and their members: who sees, changes and runs their jobs.

#include "tests/server/grpc/project_play.h"
#include "winnow/v1/artifact.grpc.pb.h"
#include "winnow/v1/audit.grpc.pb.h"
#include "winnow/v1/worker.grpc.pb.h"

namespace winnow {
namespace {

using Ids = std::vector<std::string>;

v1::ListTuningJobsRequest OfProject(const char* project) {
  v1::ListTuningJobsRequest request;
  request.set_project(project);
  return request;
}

TEST_CASE("Projects: lists have the jobs of the caller's projects and of the default one", "[server]") {
  ProjectPlay play;
  const std::string ana = play.Token(v1::SUBMITTER, "ana"), dan = play.Token(v1::SUBMITTER, "dan"),
                    cem = play.Token(v1::SUBMITTER, "cem"), admin = play.Token(v1::ADMIN, "adam");
  CHECK(play.Submit(dan, "") == "job");
  CHECK(play.Submit(ana, "vision") == "job@vision");
  CHECK(play.Submit(ana, "vision") == "job-2@vision");
  CHECK(play.Submit(cem, "speech") == "job@speech");  // which does not tell that others have taken the name
  CHECK(play.Listed(ana) == Ids{"job-2@vision", "job@vision", "job"});
  CHECK(play.Listed(cem) == Ids{"job@speech", "job"});
  CHECK(play.Listed(dan) == Ids{"job"});
  CHECK(play.Listed(admin) == Ids{"job@speech", "job-2@vision", "job@vision", "job"});
  CHECK(play.Listed(ana, OfProject("vision")) == Ids{"job-2@vision", "job@vision"});
  CHECK(play.Listed(ana, OfProject("default")) == Ids{"job"});
  v1::ListTuningJobsResponse response;
  grpc::Status refused =
      play.Tuning(cem, &v1::TuningService::Stub::ListTuningJobs, OfProject("vision"), response);
  CHECK(refused.error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(refused.error_message() == "there is no project \"vision\"");
  refused = play.Tuning(admin, &v1::TuningService::Stub::ListTuningJobs, OfProject("nowhere"), response);
  CHECK(refused.error_message() == "there is no project \"nowhere\"");
  v1::ListTuningJobsRequest page;
  page.set_page_size(1);
  CHECK(play.Listed(dan, page) == Ids{"job"});  // the newest that they see
  play.StartServer();                           // it reads who sees what anew
  CHECK(play.Listed(cem) == Ids{"job@speech", "job"});
  CHECK_FALSE(play.Describe(cem, "job@vision").ok());
  CHECK(play.Describe(ana, "job@vision").ok());
}

TEST_CASE("Projects: only members create jobs in a project, and only in one that there is", "[server]") {
  ProjectPlay play;
  v1::TuningJob job;
  for (const char* person : {"cem", "dan"}) {
    for (const char* project : {"vision", "never"}) {
      const grpc::Status refused = play.TrySubmit(play.Token(v1::SUBMITTER, person), project, job);
      CHECK(refused.error_code() == grpc::StatusCode::NOT_FOUND);
      CHECK(refused.error_message() == "there is no project \"" + std::string(project) + "\"");
    }
  }
  const grpc::Status refused = play.TrySubmit(play.Token(v1::ADMIN, "adam"), "never", job);
  CHECK(refused.error_message() == "there is no project \"never\"");
  CHECK(play.TrySubmit(play.Token(v1::ADMIN, "adam"), "vision", job).ok());
  CHECK(play.TrySubmit(play.Token(v1::SUBMITTER, "dan"), "default", job).ok());
  CHECK(job.project().empty());
}

TEST_CASE("Projects: the owner, who leads the project and admins change a job, and members see it",
          "[server]") {
  ProjectPlay play;
  const std::string ana = play.Token(v1::SUBMITTER, "ana"), ben = play.Token(v1::SUBMITTER, "ben");
  v1::TuningJobSpec spec = RandomJob(3);
  (*spec.mutable_trainer()->mutable_environment())["API_KEY"] = "value";
  const std::string id = play.Submit(ana, "vision", spec), other = play.Submit(ana, "vision"),
                    third = play.Submit(ben, "");
  const grpc::Status refused = play.Stop(ben, id);
  CHECK(refused.error_code() == grpc::StatusCode::PERMISSION_DENIED);
  CHECK(refused.error_message() ==
        "job \"job@vision\" belongs to ana; only ana, who leads project vision, or an admin may do this");
  CHECK(play.Stop(play.Token(v1::SUBMITTER, "lea"), id).ok());
  CHECK(play.Stop(play.Token(v1::ADMIN, "adam"), other).ok());
  // Leading one project gives nothing in others.
  CHECK(play.Stop(play.Token(v1::SUBMITTER, "lea"), third).error_code() ==
        grpc::StatusCode::PERMISSION_DENIED);
  v1::TuningJob job;
  for (const auto& [person, sees] :
       {std::pair("ana", true), std::pair("ben", false), std::pair("lea", false)}) {
    REQUIRE(play.Describe(play.Token(v1::SUBMITTER, person), id, &job).ok());
    CHECK((job.spec().trainer().environment().at("API_KEY") == "value") == sees);
  }
}

TEST_CASE("Projects: a job begins only with results that all who see it may see", "[server]") {
  ProjectPlay play;
  REQUIRE(play.Add(play.OverSocket(), "speech", "ana").ok());
  const std::string ana = play.Token(v1::SUBMITTER, "ana"), cem = play.Token(v1::SUBMITTER, "cem");
  const std::string id = play.Submit(ana, "vision"), common = play.Submit(ana, "");
  for (const std::string& each : {id, common}) REQUIRE(play.Stop(ana, each).ok());
  const auto begin = [&](const std::string& secret, const char* project, const std::string& parent) {
    v1::TuningJobSpec spec = RandomJob(3);
    spec.mutable_warm_start()->add_jobs(parent);
    v1::TuningJob job;
    return play.TrySubmit(secret, project, job, spec);
  };
  CHECK(begin(cem, "speech", id).error_message() == "there is no job \"job@vision\"");
  // She sees both projects, but others who see the new job do not.
  for (const char* project : {"speech", ""}) {
    const grpc::Status refused = begin(ana, project, id);
    CHECK(refused.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
    CHECK_THAT(refused.error_message() + refused.error_details(), Catch::Contains("warm_start.jobs[0]"));
  }
  CHECK(begin(ana, "vision", id).ok());
  CHECK(begin(ana, "vision", common).ok());
}

TEST_CASE(
    "Projects: admins set quotas of projects, who leads one those of its persons, and both are kept and "
    "shown",
    "[server]") {
  ProjectPlay play;
  const auto set = [&](const std::string& secret, const v1::SetProjectRequest& request, v1::Project* after) {
    v1::Project answer;
    return play.Projects(play.OverTcp(secret), &v1::ProjectService::Stub::SetProject, request,
                         after != nullptr ? *after : answer);
  };
  const std::string lea = play.Token(v1::SUBMITTER, "lea"), admin = play.Token(v1::ADMIN, "adam"),
                    ana = play.Token(v1::SUBMITTER, "ana");
  v1::SetProjectRequest whole, person;
  for (v1::SetProjectRequest* request : {&whole, &person}) request->set_project("vision");
  whole.set_max_slots(1);
  whole.set_weight(2);
  person.set_person("ana");
  person.set_max_running_jobs(1);
  CHECK(set(lea, whole, nullptr).error_message() ==
        "only an admin may change the quota, weight and class of project vision");
  CHECK(set(ana, person, nullptr).error_code() == grpc::StatusCode::PERMISSION_DENIED);
  REQUIRE(set(lea, person, nullptr).ok());
  v1::Project after;
  REQUIRE(set(admin, whole, &after).ok());
  CHECK(after.quota().max_slots() == 1);
  whole.clear_max_slots();
  whole.set_max_node_hours(7.5);
  whole.set_max_storage_gib(2.5);
  REQUIRE(set(admin, whole, &after).ok());
  CHECK(after.quota().max_slots() == 1);  // what is not given stays
  play.StartServer();
  v1::GetProjectRequest get;
  get.set_project("vision");
  v1::Project read;
  REQUIRE(play.Projects(play.OverTcp(play.Token(v1::SUBMITTER, "ana")), &v1::ProjectService::Stub::GetProject,
                        get, read)
              .ok());
  CHECK(read.name() == "vision");
  CHECK(read.quota().max_slots() == 1);
  CHECK(read.quota().max_node_hours() == 7.5);
  CHECK(read.quota().max_storage_gib() == 2.5);
  CHECK(read.weight() == 2);
  for (const v1::Member& member : read.members())
    CHECK(member.quota().max_running_jobs() == (member.person() == "ana" ? 1 : 0));
  person.set_person("nobody");
  CHECK(set(play.Token(v1::ADMIN, "adam"), person, nullptr).error_message() ==
        "nobody is no member of project vision; add them first");
  v1::SetProjectRequest common;
  common.set_project("default");
  common.set_max_gpus(3);
  REQUIRE(set(play.Token(v1::ADMIN, "adam"), common, &after).ok());
  CHECK(after.name() == "default");
  CHECK(after.quota().max_gpus() == 3);
  v1::SetProjectRequest bad;
  bad.set_project("vision");
  bad.set_max_slots(-1);
  bad.set_weight(0);
  bad.set_job_class(1);
  const std::string refused = set(play.Token(v1::ADMIN, "adam"), bad, nullptr).error_message();
  CHECK_THAT(refused,
             Catch::Contains("max_slots: is -1; expected 0 (no limit) to") &&
                 Catch::Contains("weight: is 0; expected more than 0") &&
                 Catch::Contains("job_class: is 1; expected 0, because the server was started without"));
}

TEST_CASE("Projects: request ids of one project say nothing about those of another", "[server]") {
  ProjectPlay play;
  const std::string ana = play.Token(v1::SUBMITTER, "ana"), cem = play.Token(v1::SUBMITTER, "cem");
  const std::string id = play.Submit(ana, "vision", RandomJob(3), "nightly");
  CHECK(play.Submit(ana, "vision", RandomJob(3), "nightly") == id);
  CHECK(play.Submit(cem, "speech", RandomJob(3), "nightly") == "job@speech");
  CHECK(play.Submit(cem, "", RandomJob(3), "nightly") == "job");
  CHECK(play.Submit(cem, "", RandomJob(3), "nightly") == "job");
  v1::TuningJob job;
  CHECK(play.TrySubmit(cem, "", job, RandomJob(3), "nightly\nvision").error_code() ==
        grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("Projects: who is removed sees the project's jobs no more, and creates none in it", "[server]") {
  ProjectPlay play;
  const std::string ben = play.Token(v1::SUBMITTER, "ben");
  const std::string id = play.Submit(ben, "vision");
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(120));
  v1::WatchTuningJobRequest watch;
  watch.set_id(id);
  const auto stub = v1::TuningService::NewStub(*Connect(play.OverTcp(ben)));
  const auto stream = stub->WatchTuningJob(&context, watch);
  v1::TuningJobEvent event;
  stream->WaitForInitialMetadata();
  REQUIRE(play.Remove(play.OverSocket(), "vision", "ben").ok());
  while (stream->Read(&event)) {
  }
  CHECK(stream->Finish().error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK_FALSE(play.Describe(ben, id).ok());
  CHECK(play.Stop(ben, id).error_code() == grpc::StatusCode::NOT_FOUND);  // although it is his
  v1::TuningJob job;
  CHECK(play.TrySubmit(ben, "vision", job).error_message() == "there is no project \"vision\"");
  CHECK(play.Remove(play.OverSocket(), "vision", "ben").error_message() ==
        "ben is no member of project vision");
}

TEST_CASE("Projects: those who lead a project, and admins, change its members, and one with jobs stays",
          "[server]") {
  ProjectPlay play;
  const Endpoint lea = play.OverTcp(play.Token(v1::SUBMITTER, "lea")),
                 ben = play.OverTcp(play.Token(v1::SUBMITTER, "ben")),
                 cem = play.OverTcp(play.Token(v1::SUBMITTER, "cem"));
  CHECK(play.Add(lea, "vision", "dan").ok());
  CHECK(play.Remove(lea, "vision", "dan").ok());
  CHECK(play.Add(ben, "vision", "dan").error_code() == grpc::StatusCode::PERMISSION_DENIED);
  CHECK(play.Remove(ben, "vision", "lea").error_code() == grpc::StatusCode::PERMISSION_DENIED);
  CHECK(play.Add(cem, "vision", "cem").error_message() == "there is no project \"vision\"");
  CHECK(play.Add(lea, "speech", "lea").error_message() == "there is no project \"speech\"");
  CHECK(play.Add(play.OverSocket(), "never", "dan").error_message() == "there is no project \"never\"");
  CHECK(play.Add(play.OverSocket(), "default", "dan").error_code() == grpc::StatusCode::NOT_FOUND);
  for (const char* wrong : {"", "da\x1bn", "dan\n"})
    CHECK(play.Add(lea, "vision", wrong).error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  const std::string ana = play.Token(v1::SUBMITTER, "ana");
  const std::string id = play.Submit(ana, "vision");
  const v1::CreateTokenResponse hosts = play.WorkerToken({"vision"});
  const auto remove = [&] {
    v1::DeleteProjectRequest request;
    request.set_project("vision");
    v1::DeleteProjectResponse response;
    return play.Projects(play.OverSocket(), &v1::ProjectService::Stub::DeleteProject, request, response);
  };
  CHECK(remove().error_message() == "project vision has 1 job; delete it first");
  REQUIRE(play.Stop(ana, id).ok());
  v1::DeleteTuningJobRequest request;
  request.set_id(id);
  v1::DeleteTuningJobResponse response;
  REQUIRE(play.Tuning(ana, &v1::TuningService::Stub::DeleteTuningJob, request, response).ok());
  CHECK_THAT(remove().error_message(), Catch::Contains(hosts.token().id()));
  play.Revoke(hosts.token().id());
  CHECK(remove().ok());
  CHECK(remove().error_code() == grpc::StatusCode::NOT_FOUND);
  v1::TuningJob job;
  CHECK(play.TrySubmit(ana, "vision", job).error_code() == grpc::StatusCode::NOT_FOUND);
  for (const char* name : {"default", "", "Vision", "a@b", "-a"}) {
    v1::CreateProjectRequest wrong;
    wrong.set_name(name);
    v1::Project project;
    INFO(name);
    CHECK(play.Projects(play.OverSocket(), &v1::ProjectService::Stub::CreateProject, wrong, project)
              .error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_CASE("Projects: the default project and one that is not there are not deleted, nor are their quotas",
          "[server]") {
  ProjectPlay play;
  v1::SetProjectRequest set;
  set.set_project("default");
  set.set_max_slots(2);
  v1::Project project;
  REQUIRE(play.Projects(play.OverSocket(), &v1::ProjectService::Stub::SetProject, set, project).ok());
  for (const char* name : {"", "default", "never"}) {
    INFO(name);
    v1::DeleteProjectRequest remove;
    remove.set_project(name);
    v1::DeleteProjectResponse response;
    CHECK(play.Projects(play.OverSocket(), &v1::ProjectService::Stub::DeleteProject, remove, response)
              .error_code() == grpc::StatusCode::NOT_FOUND);
  }
  play.server = nullptr;
  play.Restart();
  play.StartServer();
  v1::GetProjectRequest get;
  get.set_project("default");
  REQUIRE(play.Projects(play.OverSocket(), &v1::ProjectService::Stub::GetProject, get, project).ok());
  CHECK(project.quota().max_slots() == 2);
}

TEST_CASE("Projects: each sees their own projects, and the changes are in the audit log", "[server]") {
  ProjectPlay play;
  const auto names = [&](const std::string& secret) {
    v1::ListProjectsResponse list;
    REQUIRE(play.Projects(play.OverTcp(secret), &v1::ProjectService::Stub::ListProjects,
                          v1::ListProjectsRequest(), list)
                .ok());
    Ids found;
    for (const v1::Project& project : list.projects()) found.push_back(project.name());
    return found;
  };
  CHECK(names(play.Token(v1::SUBMITTER, "ana")) == Ids{"vision"});
  CHECK(names(play.Token(v1::SUBMITTER, "dan")).empty());
  CHECK(names(play.Token(v1::ADMIN, "adam")) == Ids{"speech", "vision"});
  v1::Caller caller;
  REQUIRE(play.Admin(play.OverTcp(play.Token(v1::VIEWER, "cem")), &v1::AdminService::Stub::GetCaller,
                     v1::GetCallerRequest(), caller)
              .ok());
  CHECK(Ids(caller.projects().begin(), caller.projects().end()) == Ids{"speech"});
  REQUIRE(play.Remove(play.OverTcp(play.Token(v1::SUBMITTER, "lea")), "vision", "ben").ok());
  CHECK_FALSE(play.Stop(play.Token(v1::SUBMITTER, "cem"), "job@vision").ok());
  REQUIRE(play.Inside([](Engine&) {}).ok());  // refusals are recorded after they were answered
  v1::ListAuditEntriesRequest request;
  v1::ListAuditEntriesResponse entries;
  REQUIRE(TokenPlay::Do(*v1::AuditService::NewStub(*Connect(play.OverSocket())),
                        &v1::AuditService::Stub::ListAuditEntries, request, entries)
              .ok());
  std::string text;
  for (const v1::AuditEntry& entry : entries.entries()) {
    if (!entry.person().empty())
      text += entry.person() + " " + entry.method() + " " + entry.subject() + " " + entry.detail() + " " +
              entry.outcome() + "\n";
  }
  CHECK(text == "cem StopTuningJob   NOT_FOUND\nlea RemoveMember vision ben OK\n");
}

// A worker that registers with a token, and which jobs it is given trials of.
std::pair<grpc::Status, std::set<std::string>> SyncAs(ProjectPlay& play, const std::string& secret,
                                                      const std::string& name, int32_t slots = 4) {
  v1::SyncRequest request;
  request.set_worker_id(std::string(32, name.back()));
  request.set_name(name);
  request.set_host("127.0.0.1");
  request.set_slots(slots);
  request.set_storage_id("shared");
  v1::SyncResponse response;
  const grpc::Status status = TokenPlay::Do(*v1::WorkerService::NewStub(*Connect(play.OverTcp(secret))),
                                            &v1::WorkerService::Stub::Sync, request, response);
  std::set<std::string> jobs;
  for (const v1::Assignment& assignment : response.assignments()) jobs.insert(assignment.job_id());
  return {status, jobs};
}

TEST_CASE("Projects: a worker's token is bound to names, and to the projects whose jobs it gets",
          "[server]") {
  ProjectPlay play;
  const std::string of_vision = play.WorkerToken({"vision"}, "gpu-*").secret();
  const grpc::Status wrong = SyncAs(play, of_vision, "cpu-1").first;
  CHECK(wrong.error_code() == grpc::StatusCode::PERMISSION_DENIED);
  CHECK_THAT(wrong.error_message(), Catch::Contains("gpu-*"));
  const std::string common = play.Submit(play.Token(v1::SUBMITTER, "dan"), "");
  const std::string speech = play.Submit(play.Token(v1::SUBMITTER, "cem"), "speech");
  const std::string vision = play.Submit(play.Token(v1::SUBMITTER, "ana"), "vision");
  // The others are older, and stay without a worker.
  auto [status, jobs] = SyncAs(play, of_vision, "gpu-a");
  INFO(status.error_message());
  REQUIRE(status.ok());
  CHECK(jobs == std::set<std::string>{vision});
  v1::TuningJob job;
  REQUIRE(play.Describe(play.Token(v1::SUBMITTER, "cem"), speech, &job).ok());
  CHECK(job.state_reason() == "Waiting for a worker: none that runs jobs of project speech is present.");
  REQUIRE(play.Describe(play.Token(v1::SUBMITTER, "dan"), common, &job).ok());
  CHECK(job.state_reason() == "Waiting for a worker: none that runs jobs of the default project is present.");
  CHECK(SyncAs(play, play.WorkerToken({"speech"}).secret(), "b", 1).second == std::set<std::string>{speech});
  CHECK(SyncAs(play, play.WorkerToken({"default"}).secret(), "c", 1).second == std::set<std::string>{common});
  // Its binding holds over a restart of the server, before it has said anything.
  play.server = nullptr;
  play.Restart();
  play.StartServer();
  play.Submit(play.Token(v1::SUBMITTER, "dan"), "");
  CHECK(SyncAs(play, of_vision, "gpu-a").second == std::set<std::string>{vision});
}

TEST_CASE("Projects: a bound worker reads the sources and models of its own projects only", "[server]") {
  ProjectPlay play;
  const std::string vision = play.Submit(play.Token(v1::SUBMITTER, "ana"), "vision");
  const auto get = [&](const std::string& secret) {
    v1::GetArtifactRequest request;
    request.set_job_id(vision);
    request.set_kind(v1::Artifact::SOURCE);
    v1::Artifact artifact;
    return TokenPlay::Do(*v1::ArtifactService::NewStub(*Connect(play.OverTcp(secret))),
                         &v1::ArtifactService::Stub::GetArtifact, request, artifact)
        .error_message();
  };
  CHECK_THAT(get(play.WorkerToken({"vision"}).secret()), Catch::Contains("has no source"));
  CHECK_THAT(get(play.WorkerToken({}).secret()), Catch::Contains("has no source"));
  CHECK(get(play.WorkerToken({"speech", "default"}).secret()) == "there is no job \"job@vision\"");
  CHECK_THAT(get(play.Token(v1::SUBMITTER, "ben")), Catch::Contains("belongs to ana"));
}

TEST_CASE("Projects: only a worker's token is bound, and only to projects that there are", "[server]") {
  ProjectPlay play;
  const auto create = [&](v1::Role role, const char* project, const char* names) {
    v1::CreateTokenRequest request;
    request.set_role(role);
    request.set_name("x");
    if (*project != '\0') request.add_worker_projects(project);
    request.set_worker_names(names);
    v1::CreateTokenResponse made;
    return play.Admin(play.OverSocket(), &v1::AdminService::Stub::CreateToken, request, made);
  };
  CHECK(create(v1::SUBMITTER, "vision", "").error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(create(v1::VIEWER, "", "gpu-*").error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(create(v1::WORKER, "never", "").error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(create(v1::WORKER, "vision", "gpu-*").ok());
}

}  // namespace
}  // namespace winnow

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/server/grpc/token_play.h"
#include "winnow/v1/projects.grpc.pb.h"

namespace winnow {

// Two projects, "vision" and "speech": ana, ben, eve and lea, who leads it, are members of the first; cem and
// vic of the second.
struct ProjectPlay : TokenPlay {
  explicit ProjectPlay(ArtifactStore* artifacts = nullptr)
      : TokenPlay({}, AuthOptions().calls_per_second, artifacts) {
    for (const char* name : {"vision", "speech"}) {
      v1::CreateProjectRequest request;
      request.set_name(name);
      v1::Project project;
      REQUIRE(Projects(OverSocket(), &v1::ProjectService::Stub::CreateProject, request, project).ok());
    }
    for (const char* person : {"ana", "ben", "eve"}) REQUIRE(Add(OverSocket(), "vision", person).ok());
    REQUIRE(Add(OverSocket(), "vision", "lea", true).ok());
    for (const char* person : {"cem", "vic"}) REQUIRE(Add(OverSocket(), "speech", person).ok());
  }

  template <typename Method, typename Request, typename Response>
  grpc::Status Projects(const Endpoint& from, Method method, const Request& request, Response& response) {
    return Do(*v1::ProjectService::NewStub(*Connect(from)), method, request, response);
  }
  template <typename Method, typename Request, typename Response>
  grpc::Status Tuning(const std::string& secret, Method method, const Request& request, Response& response) {
    return Do(*v1::TuningService::NewStub(*Connect(OverTcp(secret))), method, request, response);
  }
  grpc::Status Add(const Endpoint& from, const char* project, const char* person, bool leads = false) {
    v1::AddMemberRequest request;
    request.set_project(project);
    request.set_person(person);
    request.set_leads(leads);
    v1::Project answer;
    return Projects(from, &v1::ProjectService::Stub::AddMember, request, answer);
  }
  grpc::Status Remove(const Endpoint& from, const char* project, const char* person) {
    v1::RemoveMemberRequest request;
    request.set_project(project);
    request.set_person(person);
    v1::Project answer;
    return Projects(from, &v1::ProjectService::Stub::RemoveMember, request, answer);
  }
  std::string Token(v1::Role role, const char* name, int64_t valid_seconds = 0) {
    return MakeToken(role, valid_seconds, name).secret();
  }
  v1::CreateTokenResponse WorkerToken(const std::vector<std::string>& projects, const char* names = "") {
    v1::CreateTokenRequest request;
    request.set_role(v1::WORKER);
    request.set_name("hosts");
    request.mutable_worker_projects()->Assign(projects.begin(), projects.end());
    request.set_worker_names(names);
    v1::CreateTokenResponse made;
    const grpc::Status status = Admin(OverSocket(), &v1::AdminService::Stub::CreateToken, request, made);
    INFO(status.error_message());
    REQUIRE(status.ok());
    return made;
  }
  void Revoke(const std::string& id) {
    v1::RevokeTokenRequest request;
    request.set_id(id);
    v1::Token token;
    REQUIRE(Admin(OverSocket(), &v1::AdminService::Stub::RevokeToken, request, token).ok());
  }
  grpc::Status TrySubmit(const std::string& secret, const char* project, v1::TuningJob& job,
                         const v1::TuningJobSpec& spec = RandomJob(3), const std::string& request_id = "") {
    v1::CreateTuningJobRequest request;
    *request.mutable_spec() = spec;
    request.set_project(project);
    request.set_request_id(request_id);
    return Tuning(secret, &v1::TuningService::Stub::CreateTuningJob, request, job);
  }
  std::string Submit(const std::string& secret, const char* project,
                     const v1::TuningJobSpec& spec = RandomJob(3), const std::string& request_id = "") {
    v1::TuningJob job;
    const grpc::Status status = TrySubmit(secret, project, job, spec, request_id);
    INFO(status.error_message());
    REQUIRE(status.ok());
    CHECK(job.project() == project);
    return job.id();
  }
  grpc::Status Stop(const std::string& secret, const std::string& id) {
    v1::StopTuningJobRequest stop;
    stop.set_id(id);
    v1::TuningJob job;
    return Tuning(secret, &v1::TuningService::Stub::StopTuningJob, stop, job);
  }
  grpc::Status Describe(const std::string& secret, const std::string& id,
                        v1::TuningJob* described = nullptr) {
    v1::DescribeTuningJobRequest request;
    request.set_id(id);
    v1::TuningJob job;
    const grpc::Status status = Tuning(secret, &v1::TuningService::Stub::DescribeTuningJob, request, job);
    if (described != nullptr) *described = job;
    return status;
  }
  std::vector<std::string> Listed(const std::string& secret, const v1::ListTuningJobsRequest& request = {}) {
    v1::ListTuningJobsResponse response;
    REQUIRE(Tuning(secret, &v1::TuningService::Stub::ListTuningJobs, request, response).ok());
    std::vector<std::string> ids;
    for (const v1::TuningJob& job : response.jobs()) ids.push_back(job.id());
    return ids;
  }
};

}  // namespace winnow

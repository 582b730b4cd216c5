#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/engine/answers/requester.h"
#include "server/engine/engine.h"
#include "store/tables/projects.h"
#include "winnow/v1/projects.pb.h"

// Projects and their members, as they are in the tables. All run on the coordinator's thread, in a batch.
namespace winnow {

// A change of a project, and what there is after it.
struct ChangedProject {
  v1::Project project;  // as it is now; empty: it is deleted
  bool any_project = false;
  std::vector<MemberRow> members;  // of all projects
};

// INVALID_ARGUMENT names the field if the name of a person or of workers cannot stand in a table or a line.
absl::Status CheckPrints(const char* field, const std::string& name);
// NOT_FOUND if there is no such project; OK for "".
absl::Status CheckProject(Engine& engine, const std::string& name);
// The projects that the caller may see, without the default project.
absl::StatusOr<v1::ListProjectsResponse> ListProjects(Engine& engine, const Requester& by);
// NOT_FOUND if there is no such project.
absl::StatusOr<v1::Project> GetProject(Engine& engine, const std::string& name);
// See ProjectService.SetProject.
absl::StatusOr<ChangedProject> SetProject(Engine& engine, const v1::SetProjectRequest& request,
                                          const Requester& by);
// What the request changes, for the audit log: "max_slots 8, weight 2".
std::string ChangesText(const v1::SetProjectRequest& request);
absl::StatusOr<ChangedProject> CreateProject(Engine& engine, const v1::CreateProjectRequest& request);
absl::StatusOr<ChangedProject> DeleteProject(Engine& engine, const std::string& name);
absl::StatusOr<ChangedProject> AddMember(Engine& engine, const v1::AddMemberRequest& request,
                                         const Requester& by);
absl::StatusOr<ChangedProject> RemoveMember(Engine& engine, const v1::RemoveMemberRequest& request,
                                            const Requester& by);

}  // namespace winnow

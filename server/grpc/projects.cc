#include "server/grpc/projects.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace winnow {
namespace {

using google::protobuf::util::TimeUtil;

constexpr size_t kLongestProject = 40;
constexpr size_t kLongestPerson = 128;

absl::Status CheckProjectName(const std::string& name) {
  const bool good = !name.empty() && name.size() <= kLongestProject && name != kDefaultProject &&
                    name[0] != '-' &&
                    name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "name: \"{}\" is no name of a project; expected 1 to {} lower-case letters, digits and '-', "
      "no '-' first, and not \"{}\", the project of all other jobs",
      name, kLongestProject, kDefaultProject));
}

absl::Status CheckPerson(const std::string& person) {
  if (!person.empty() && person.size() <= kLongestPerson) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("person: it has {} characters; expected 1 to {}, the name of their tokens", person.size(),
                  kLongestPerson));
}

// Absent: there is none.
absl::StatusOr<std::optional<ProjectRow>> FindProject(ProjectTable& table, const std::string& name) {
  absl::StatusOr<std::vector<ProjectRow>> rows = table.List();
  if (!rows.ok()) return rows.status();
  for (ProjectRow& row : *rows) {
    if (row.name == name) return std::move(row);
  }
  return std::nullopt;
}

absl::StatusOr<v1::Project> ToMessage(ProjectTable& table, const ProjectRow& row,
                                      const std::vector<MemberRow>& members) {
  v1::Project project;
  project.set_name(row.name);
  *project.mutable_create_time() = TimeUtil::MicrosecondsToTimestamp(row.create_us);
  for (const MemberRow& member : members) {
    if (member.project != row.name) continue;
    v1::Member& message = *project.add_members();
    message.set_person(member.person);
    message.set_leads(member.leads);
  }
  const absl::StatusOr<int64_t> jobs = table.CountJobs(row.name);
  if (!jobs.ok()) return jobs.status();
  project.set_jobs(*jobs);
  return project;
}

// What there is after a change of the project. An error rolls the batch back.
absl::StatusOr<ChangedProject> Changed(Engine& engine, ProjectTable& table, const std::string& name) {
  const auto read = [&]() -> absl::StatusOr<ChangedProject> {
    absl::StatusOr<std::vector<ProjectRow>> rows = table.List();
    if (!rows.ok()) return rows.status();
    absl::StatusOr<std::vector<MemberRow>> members = table.Members();
    if (!members.ok()) return members.status();
    ChangedProject changed{{}, !rows->empty(), *std::move(members)};
    for (const ProjectRow& row : *rows) {
      if (row.name != name) continue;
      absl::StatusOr<v1::Project> project = ToMessage(table, row, changed.members);
      if (!project.ok()) return project.status();
      changed.project = *std::move(project);
    }
    return changed;
  };
  absl::StatusOr<ChangedProject> changed = read();
  if (!changed.ok()) engine.context().Note(changed.status());
  return changed;
}

// Whether `by` may change the members of the project; its NOT_FOUND is that of one that they do not see.
absl::Status MayChangeMembers(Engine& engine, const Requester& by, const std::string& name) {
  if (name.empty() || !by.Sees(name)) return NoProject(name);
  if (absl::Status there = CheckProject(engine, name); !there.ok()) return there;
  if (by.Leads(name)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      fmt::format("{} does not lead project {}; only those who lead it, or an admin, may change its members",
                  by.name, name));
}

// FAILED_PRECONDITION if the project has jobs, or a valid token is bound to it.
absl::Status CheckUnused(Engine& engine, ProjectTable& table, const std::string& name) {
  const absl::StatusOr<int64_t> jobs = table.CountJobs(name);
  if (!jobs.ok()) return jobs.status();
  if (*jobs > 0) {
    return absl::FailedPreconditionError(fmt::format("project {} has {} job{}; delete {} first", name, *jobs,
                                                     *jobs == 1 ? "" : "s", *jobs == 1 ? "it" : "them"));
  }
  const absl::StatusOr<std::vector<TokenRow>> tokens = engine.context().store.tokens.List();
  if (!tokens.ok()) return tokens.status();
  for (const TokenRow& token : *tokens) {
    const bool valid =
        token.revoke_us == 0 && (token.expire_us == 0 || token.expire_us > engine.context().wall_us());
    const bool bound = std::count(token.worker_projects.begin(), token.worker_projects.end(), name) > 0;
    if (valid && bound) {
      return absl::FailedPreconditionError(fmt::format(
          "the workers' token {} ({}) is bound to project {}; revoke it first", token.id, token.name, name));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckProject(Engine& engine, const std::string& name) {
  if (name.empty()) return absl::OkStatus();
  ProjectTable table(engine.context().store.database());
  const absl::StatusOr<std::optional<ProjectRow>> row = FindProject(table, name);
  if (!row.ok()) return row.status();
  return row->has_value() ? absl::OkStatus() : NoProject(name);
}

absl::StatusOr<v1::ListProjectsResponse> ListProjects(Engine& engine, const Requester& by) {
  ProjectTable table(engine.context().store.database());
  const absl::StatusOr<std::vector<ProjectRow>> rows = table.List();
  if (!rows.ok()) return rows.status();
  const absl::StatusOr<std::vector<MemberRow>> members = table.Members();
  if (!members.ok()) return members.status();
  v1::ListProjectsResponse list;
  for (const ProjectRow& row : *rows) {
    if (!by.Sees(row.name)) continue;
    absl::StatusOr<v1::Project> project = ToMessage(table, row, *members);
    if (!project.ok()) return project.status();
    *list.add_projects() = *std::move(project);
  }
  return list;
}

absl::StatusOr<ChangedProject> CreateProject(Engine& engine, const v1::CreateProjectRequest& request) {
  if (absl::Status good = CheckProjectName(request.name()); !good.ok()) return good;
  ProjectTable table(engine.context().store.database());
  const absl::StatusOr<std::optional<ProjectRow>> known = FindProject(table, request.name());
  if (!known.ok()) return known.status();
  if (known->has_value())
    return absl::AlreadyExistsError(fmt::format("there is a project \"{}\" already", request.name()));
  if (absl::Status status = table.Insert({request.name(), engine.context().wall_us()}); !status.ok()) {
    engine.context().Note(status);
    return status;
  }
  return Changed(engine, table, request.name());
}

absl::StatusOr<ChangedProject> DeleteProject(Engine& engine, const std::string& name) {
  ProjectTable table(engine.context().store.database());
  if (absl::Status unused = CheckUnused(engine, table, name); !unused.ok()) return unused;
  const absl::StatusOr<bool> there = table.Delete(name);
  if (!there.ok()) {
    engine.context().Note(there.status());
    return there.status();
  }
  if (!*there) return NoProject(name);
  return Changed(engine, table, name);
}

absl::StatusOr<ChangedProject> AddMember(Engine& engine, const v1::AddMemberRequest& request,
                                         const Requester& by) {
  const std::string project = ProjectNamed(request.project());
  if (absl::Status may = MayChangeMembers(engine, by, project); !may.ok()) return may;
  if (absl::Status good = CheckPerson(request.person()); !good.ok()) return good;
  ProjectTable table(engine.context().store.database());
  if (absl::Status status = table.PutMember({project, request.person(), request.leads()}); !status.ok()) {
    engine.context().Note(status);
    return status;
  }
  return Changed(engine, table, project);
}

absl::StatusOr<ChangedProject> RemoveMember(Engine& engine, const v1::RemoveMemberRequest& request,
                                            const Requester& by) {
  const std::string project = ProjectNamed(request.project());
  if (absl::Status may = MayChangeMembers(engine, by, project); !may.ok()) return may;
  ProjectTable table(engine.context().store.database());
  const absl::StatusOr<bool> there = table.DeleteMember(project, request.person());
  if (!there.ok()) {
    engine.context().Note(there.status());
    return there.status();
  }
  if (!*there)
    return absl::NotFoundError(fmt::format("{} is no member of project {}", request.person(), project));
  return Changed(engine, table, project);
}

absl::Status LoadProjects(Engine& engine, Authority& authority) {
  ProjectTable table(engine.context().store.database());
  const absl::StatusOr<std::vector<ProjectRow>> rows = table.List();
  if (!rows.ok()) return rows.status();
  const absl::StatusOr<std::vector<MemberRow>> members = table.Members();
  if (!members.ok()) return members.status();
  authority.PutProjects(!rows->empty(), *members);
  return absl::OkStatus();
}

}  // namespace winnow

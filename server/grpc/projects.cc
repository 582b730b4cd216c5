#include "server/grpc/projects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/names.h"
#include "server/engine/answers/violations.h"

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
  if (!person.empty() && person.size() <= kLongestPerson) return CheckPrints("person", person);
  return absl::InvalidArgumentError(
      fmt::format("person: it has {} characters; expected 1 to {}, the name of their tokens", person.size(),
                  kLongestPerson));
}

void SetQuota(const Quota& quota, v1::Quota& message) {
  message.set_max_slots(quota.slots);
  message.set_max_gpus(quota.gpus);
  message.set_max_node_hours(quota.node_hours);
  message.set_max_running_jobs(quota.running_jobs);
  message.set_max_storage_gib(quota.storage_gib);
}

void SetUse(const QuotaUse& use, v1::ProjectUse& message) {
  message.set_slots(use.slots);
  message.set_gpus(use.gpus);
  message.set_node_hours(static_cast<double>(use.node_us) / kMicrosOfHour);
  message.set_running_jobs(use.running_jobs);
  message.set_storage_gib(static_cast<double>(use.stored_bytes) / (1 << 30));
}

// What all projects together have used lately, and the weights of those that have or want something.
struct AllProjects {
  explicit AllProjects(Engine& engine) : now_us(engine.context().wall_us()) {
    ProjectBook& book = engine.projects();
    book.Count(engine.jobs().Uses(), now_us);
    std::set<std::string> open;
    for (const auto& [key, job] : engine.jobs().all()) open.insert(job->row.project);
    for (const auto& [key, standing] : book.all()) {
      if (!key.second.empty()) continue;
      const double used = book.UseNow(standing, now_us).slot_seconds;
      slot_seconds += used;
      if (used == 0 && !open.contains(key.first)) continue;
      weights += standing.row.weight;
      sharing.insert(key.first);
    }
  }
  // Its part of the weights of those that share with it.
  double DueShare(const std::string& project, double weight) const {
    return weight / (sharing.contains(project) ? weights : weights + weight);
  }

  const int64_t now_us;
  double slot_seconds = 0;
  double weights = 0;
  std::set<std::string> sharing;
};

// Adds the quotas and the use of the project and of its members. The default project's members are added too.
void AddStandings(const AllProjects& all, const ProjectBook& book, const std::string& name,
                  v1::Project& project) {
  project.set_weight(book.RowOf(name, "").weight);
  project.set_job_class(book.rules().preemption ? book.RowOf(name, "").job_class : 0);
  if (!book.on()) return;
  project.set_due_share(all.DueShare(name, project.weight()));
  for (const auto& [key, standing] : book.all()) {
    if (key.first != name) continue;
    if (key.second.empty()) {
      if (standing.row.quota.limits()) SetQuota(standing.row.quota, *project.mutable_quota());
      SetUse(standing.use, *project.mutable_use());
      const double slot_seconds = book.UseNow(standing, all.now_us).slot_seconds;
      project.mutable_use()->set_decayed_slot_hours(slot_seconds / 3600);
      if (all.slot_seconds > 0) project.set_share(slot_seconds / all.slot_seconds);
      continue;
    }
    v1::Member* member = nullptr;
    for (v1::Member& known : *project.mutable_members()) {
      if (known.person() == key.second) member = &known;
    }
    if (member == nullptr && name.empty() && standing.row.quota.limits()) {
      member = project.add_members();
      member->set_person(key.second);
    }
    if (member == nullptr) continue;
    if (standing.row.quota.limits()) SetQuota(standing.row.quota, *member->mutable_quota());
    SetUse(standing.use, *member->mutable_use());
  }
}

absl::StatusOr<v1::Project> ToMessage(const AllProjects& all, const ProjectBook& book, ProjectTable& table,
                                      const ProjectRow& row, const std::vector<MemberRow>& members) {
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
  AddStandings(all, book, row.name, project);
  return project;
}

// The row of the project that is in no table.
ProjectRow DefaultProject() { return {}; }

std::string Shown(const std::string& name) { return name.empty() ? kDefaultProject : name; }

// Everything that is wrong with the request.
std::vector<Violation> CheckSet(const v1::SetProjectRequest& request, bool preemption) {
  std::vector<Violation> violations;
  const auto amount = [&violations](const char* field, bool given, double value) {
    constexpr double kMost = 1e12;
    if (!given || (value >= 0 && value <= kMost)) return;
    violations.push_back({field, fmt::format("is {:g}; expected 0 (no limit) to {:g}", value, kMost)});
  };
  amount("max_slots", request.has_max_slots(), static_cast<double>(request.max_slots()));
  amount("max_gpus", request.has_max_gpus(), request.max_gpus());
  amount("max_node_hours", request.has_max_node_hours(), request.max_node_hours());
  amount("max_storage_gib", request.has_max_storage_gib(), request.max_storage_gib());
  amount("max_running_jobs", request.has_max_running_jobs(), static_cast<double>(request.max_running_jobs()));
  constexpr double kMostWeight = 1e6;
  constexpr int32_t kMostClass = 9;
  const auto of_project = [&](const char* field, bool given) {
    if (!given || request.person().empty()) return false;
    violations.push_back({field, fmt::format("is of the whole project, and the request is about {}; expected "
                                             "none",
                                             request.person())});
    return true;
  };
  if (!of_project("weight", request.has_weight()) && request.has_weight() &&
      !(request.weight() > 0 && request.weight() <= kMostWeight))
    violations.push_back({"weight", fmt::format("is {:g}; expected more than 0 and at most {:g}",
                                                request.weight(), kMostWeight)});
  if (of_project("job_class", request.has_job_class()) || !request.has_job_class()) return violations;
  const int32_t job_class = request.job_class();
  if (job_class < 0 || job_class > kMostClass) {
    violations.push_back({"job_class", fmt::format("is {}; expected 0 to {}", job_class, kMostClass)});
  } else if (job_class > 0 && !preemption) {
    violations.push_back(
        {"job_class", fmt::format("is {}; expected 0, because the server was started without "
                                  "--preemption",
                                  job_class)});
  }
  return violations;
}

// What there is after a change of the project. An error rolls the batch back.
absl::StatusOr<ChangedProject> Changed(Engine& engine, ProjectTable& table, const std::string& name) {
  const auto read = [&]() -> absl::StatusOr<ChangedProject> {
    absl::StatusOr<std::vector<ProjectRow>> rows = table.List();
    if (!rows.ok()) return rows.status();
    absl::StatusOr<std::vector<MemberRow>> members = table.Members();
    if (!members.ok()) return members.status();
    ChangedProject changed{{}, !rows->empty(), *std::move(members)};
    if (name.empty()) rows->push_back(DefaultProject());
    for (const ProjectRow& row : *rows) {
      if (row.name != name) continue;
      absl::StatusOr<v1::Project> project =
          ToMessage(AllProjects(engine), engine.projects(), table, row, changed.members);
      if (!project.ok()) return project.status();
      changed.project = *std::move(project);
    }
    return changed;
  };
  if (absl::Status loaded = engine.ReloadProjects(); !loaded.ok()) {
    engine.context().Note(loaded);
    return loaded;
  }
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

absl::Status CheckPrints(const char* field, const std::string& name) {
  const bool prints =
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (prints) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: {} has a line break or another control character; expected a name of one line", field,
                  Quoted(absl::CHexEscape(name))));
}

absl::Status CheckProject(Engine& engine, const std::string& name) {
  if (name.empty()) return absl::OkStatus();
  ProjectTable table(engine.context().store.database());
  const absl::StatusOr<std::optional<ProjectRow>> row = table.Find(name);
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
  const AllProjects all(engine);
  for (const ProjectRow& row : *rows) {
    if (!by.Sees(row.name)) continue;
    absl::StatusOr<v1::Project> project = ToMessage(all, engine.projects(), table, row, *members);
    if (!project.ok()) return project.status();
    *list.add_projects() = *std::move(project);
  }
  return list;
}

absl::StatusOr<v1::Project> GetProject(Engine& engine, const std::string& name) {
  ProjectTable table(engine.context().store.database());
  std::optional<ProjectRow> row = DefaultProject();
  if (!name.empty()) {
    absl::StatusOr<std::optional<ProjectRow>> found = table.Find(name);
    if (!found.ok()) return found.status();
    row = *std::move(found);
  }
  if (!row) return NoProject(name);
  const absl::StatusOr<std::vector<MemberRow>> members = table.Members();
  if (!members.ok()) return members.status();
  absl::StatusOr<v1::Project> project =
      ToMessage(AllProjects(engine), engine.projects(), table, *row, *members);
  if (project.ok()) project->set_name(Shown(name));
  return project;
}

std::string ChangesText(const v1::SetProjectRequest& request) {
  std::vector<std::string> changes;
  if (!request.person().empty()) changes.push_back(request.person());
  const auto say = [&changes](const char* field, bool given, double value) {
    if (given) changes.push_back(fmt::format("{} {:g}", field, value));
  };
  say("max_slots", request.has_max_slots(), static_cast<double>(request.max_slots()));
  say("max_gpus", request.has_max_gpus(), request.max_gpus());
  say("max_node_hours", request.has_max_node_hours(), request.max_node_hours());
  say("max_running_jobs", request.has_max_running_jobs(), static_cast<double>(request.max_running_jobs()));
  say("max_storage_gib", request.has_max_storage_gib(), request.max_storage_gib());
  say("weight", request.has_weight(), request.weight());
  say("job_class", request.has_job_class(), request.job_class());
  return fmt::format("{}", fmt::join(changes, ", "));
}

absl::StatusOr<ChangedProject> SetProject(Engine& engine, const v1::SetProjectRequest& request,
                                          const Requester& by) {
  const std::string name = ProjectNamed(request.project());
  if (request.project().empty() || !by.Sees(name)) return NoProject(name);
  if (absl::Status there = CheckProject(engine, name); !there.ok()) return there;
  const bool may = by.any || (!request.person().empty() && !name.empty() && by.Leads(name));
  if (!may) {
    return absl::PermissionDeniedError(
        request.person().empty()
            ? fmt::format("only an admin may change the quota, weight and class of project {}", Shown(name))
            : fmt::format("{} does not lead project {}; only those who lead it, or an admin, may change the "
                          "quotas of its members",
                          by.name, Shown(name)));
  }
  if (!request.person().empty()) {
    if (absl::Status good = CheckPerson(request.person()); !good.ok()) return good;
  }
  ProjectBook& book = engine.projects();
  const std::vector<Violation> violations = CheckSet(request, book.rules().preemption);
  if (!violations.empty()) return ViolationsError(violations);
  QuotaRow row = book.RowOf(name, request.person());
  ProjectTable table(engine.context().store.database());
  if (!request.person().empty() && !name.empty() && !row.quota.limits()) {
    const absl::StatusOr<std::vector<MemberRow>> members = table.Members();
    if (!members.ok()) return members.status();
    const bool member = std::any_of(members->begin(), members->end(), [&](const MemberRow& known) {
      return known.project == name && known.person == request.person();
    });
    if (!member)
      return absl::NotFoundError(
          fmt::format("{} is no member of project {}; add them first", request.person(), name));
  }
  if (request.has_max_slots()) row.quota.slots = request.max_slots();
  if (request.has_max_gpus()) row.quota.gpus = request.max_gpus();
  if (request.has_max_node_hours()) {
    row.quota.node_hours = request.max_node_hours();
    row.told_month_us = 0;
  }
  if (request.has_max_running_jobs()) row.quota.running_jobs = request.max_running_jobs();
  if (request.has_max_storage_gib()) {
    row.quota.storage_gib = request.max_storage_gib();
    row.told_storage = false;
  }
  if (request.has_weight()) row.weight = request.weight();
  if (request.has_job_class()) row.job_class = request.job_class();
  if (absl::Status status = book.Put(row); !status.ok()) {
    engine.context().Note(status);
    return status;
  }
  absl::StatusOr<ChangedProject> changed = Changed(engine, table, name);
  if (changed.ok()) changed->project.set_name(Shown(name));
  return changed;
}

absl::StatusOr<ChangedProject> CreateProject(Engine& engine, const v1::CreateProjectRequest& request) {
  if (absl::Status good = CheckProjectName(request.name()); !good.ok()) return good;
  ProjectTable table(engine.context().store.database());
  const absl::StatusOr<std::optional<ProjectRow>> known = table.Find(request.name());
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
  if (name.empty()) return NoProject(name);
  if (absl::Status there = CheckProject(engine, name); !there.ok()) return there;
  ProjectTable table(engine.context().store.database());
  if (absl::Status unused = CheckUnused(engine, table, name); !unused.ok()) return unused;
  if (absl::Status status = engine.projects().Delete(name); !status.ok()) {
    engine.context().Note(status);
    return status;
  }
  if (const absl::StatusOr<bool> deleted = table.Delete(name); !deleted.ok()) {
    engine.context().Note(deleted.status());
    return deleted.status();
  }
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

}  // namespace winnow

#include "cli/commands/projects.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "base/status_text.h"
#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/table.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

std::string MembersText(const v1::Project& project) {
  std::string text;
  for (const v1::Member& member : project.members())
    text += (text.empty() ? "" : ", ") + member.person() + (member.leads() ? " (leads)" : "");
  return text;
}

Exit ShowChanged(Session& session, const absl::StatusOr<v1::Project>& project) {
  if (!project.ok()) return project.status();
  if (PrintsJson(session, *project)) return kSuccess;
  const std::string members = MembersText(*project);
  session.out.Print(fmt::format("Project {}: {}\n", Clean(project->name()),
                                members.empty() ? "no members yet" : Clean(members)));
  return kSuccess;
}

// "12.5"; "<0.001" rather than 1.7e-06
std::string Amount(double has) { return has > 0 && has < 0.001 ? "<0.001" : fmt::format("{:.4g}", has); }

// "8 of 16", "8" without a limit
std::string OfMost(double has, double most) {
  return most > 0 ? fmt::format("{} of {:.6g}", Amount(has), most) : Amount(has);
}

std::vector<Table::Cell> UseCells(const v1::ProjectUse& use, const v1::Quota& quota) {
  return {{OfMost(static_cast<double>(use.slots()), static_cast<double>(quota.max_slots()))},
          {OfMost(use.gpus(), quota.max_gpus())},
          {OfMost(static_cast<double>(use.running_jobs()), static_cast<double>(quota.max_running_jobs()))},
          {OfMost(use.node_hours(), quota.max_node_hours())},
          {OfMost(use.storage_gib(), quota.max_storage_gib())}};
}

Exit PrintProject(Session& session, const absl::StatusOr<v1::Project>& project) {
  if (!project.ok()) return project.status();
  if (PrintsJson(session, *project)) return kSuccess;
  std::string text = fmt::format("Project {}: weight {:g}", Clean(project->name()), project->weight());
  if (project->job_class() > 0) text += fmt::format(", class {}", project->job_class());
  if (project->share() > 0 || project->due_share() > 0) {
    text += fmt::format(
        "; it had {:.0f} % of what all have used lately ({} slot-hours), of {:.0f} % that "
        "its weight says",
        100 * project->share(), Amount(project->use().decayed_slot_hours()), 100 * project->due_share());
  }
  session.out.Print(text + "\n");
  Table table({{"WHO"}, {"SLOTS"}, {"GPUS"}, {"RUNNING JOBS"}, {"NODE-HOURS THIS MONTH"}, {"STORED GIB"}});
  const auto add = [&table](const Table::Cell& who, const v1::ProjectUse& use, const v1::Quota& quota) {
    std::vector<Table::Cell> cells = UseCells(use, quota);
    cells.insert(cells.begin(), who);
    table.Add(cells);
  };
  add({"all", Style::kBold}, project->use(), project->quota());
  for (const v1::Member& member : project->members())
    add({Clean(member.person()) + (member.leads() ? " (leads)" : "")}, member.use(), member.quota());
  session.out.Print(table.Text(session.out, 0, session.Hint("projects show NAME --output json")));
  return kSuccess;
}

// The server names its own fields; here they are flags.
absl::Status NamingFlags(const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  static constexpr std::pair<const char*, const char*> kFlags[] = {{"max_slots", "--max-slots"},
                                                                   {"max_gpus", "--max-gpus"},
                                                                   {"max_node_hours", "--max-node-hours"},
                                                                   {"max_running_jobs", "--max-running-jobs"},
                                                                   {"max_storage_gib", "--max-storage-gib"},
                                                                   {"weight", "--weight"},
                                                                   {"job_class", "--class"}};
  // A problem begins a line.
  std::string text = "\n" + MessageOf(status);
  for (const auto& [field, flag] : kFlags) {
    for (const char* indent : {"\n", "\n  "})
      text = absl::StrReplaceAll(
          text, {{fmt::format("{}{}: ", indent, field), fmt::format("{}{}: ", indent, flag)}});
  }
  return absl::InvalidArgumentError(text.substr(1));
}

}  // namespace

Exit ListProjects(Session& session) {
  const auto list = session.client().Projects();
  if (!list.ok()) return list.status();
  if (PrintsJson(session, *list, list->projects())) return kSuccess;
  if (list->projects().empty()) {
    session.out.Print(
        "There are no projects but the default one, which everyone is a member of. Create one with: " +
        session.Hint("projects create NAME") + "\n");
    return kSuccess;
  }
  Table table({{"PROJECT"},
               {"JOBS", Table::Align::kRight},
               {"SLOTS", Table::Align::kRight},
               {"SHARE", Table::Align::kRight},
               {"CREATED", Table::Align::kLeft, 1},
               {"MEMBERS"}});
  for (const v1::Project& project : list->projects()) {
    table.Add({{project.name(), Style::kBold},
               {std::to_string(project.jobs())},
               {OfMost(static_cast<double>(project.use().slots()),
                       static_cast<double>(project.quota().max_slots()))},
               {fmt::format("{:.0f} of {:.0f} %", 100 * project.share(), 100 * project.due_share())},
               {TimeText(project.create_time())},
               {MembersText(project)}});
  }
  session.out.Print(table.Text(session.out, 0, session.Hint("projects --output json")));
  return kSuccess;
}

Exit CreateProject(Session& session, const std::string& name) {
  return ShowChanged(session, session.client().CreateProject(name));
}

Exit DeleteProject(Session& session, const std::string& name) {
  const absl::Status deleted = session.client().DeleteProject(name);
  if (!deleted.ok()) return deleted;
  session.out.Print(session.output == Output::kJson ? "{}\n"
                                                    : fmt::format("Project {} is deleted.\n", Clean(name)));
  return kSuccess;
}

Exit ShowProject(Session& session, const std::string& name) {
  return PrintProject(session, session.client().GetProject(name));
}

Exit SetProject(Session& session, const std::string& name, const QuotaOptions& options) {
  v1::SetProjectRequest request;
  request.set_project(name);
  request.set_person(options.person);
  if (options.slots) request.set_max_slots(*options.slots);
  if (options.gpus) request.set_max_gpus(*options.gpus);
  if (options.node_hours) request.set_max_node_hours(*options.node_hours);
  if (options.running_jobs) request.set_max_running_jobs(*options.running_jobs);
  if (options.storage_gib) request.set_max_storage_gib(*options.storage_gib);
  if (options.weight) request.set_weight(*options.weight);
  if (options.job_class) request.set_job_class(*options.job_class);
  const absl::StatusOr<v1::Project> project = session.client().SetProject(request);
  if (!project.ok()) return NamingFlags(project.status());
  return PrintProject(session, project);
}

Exit AddMember(Session& session, const MemberOptions& options) {
  v1::AddMemberRequest request;
  request.set_project(options.project);
  request.set_person(options.person);
  request.set_leads(options.leads);
  return ShowChanged(session, session.client().AddMember(request));
}

Exit RemoveMember(Session& session, const MemberOptions& options) {
  v1::RemoveMemberRequest request;
  request.set_project(options.project);
  request.set_person(options.person);
  return ShowChanged(session, session.client().RemoveMember(request));
}

}  // namespace winnow::cli

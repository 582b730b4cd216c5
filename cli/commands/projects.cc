#include "cli/commands/projects.h"

#include <fmt/core.h>

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
  Table table(
      {{"PROJECT"}, {"JOBS", Table::Align::kRight}, {"CREATED", Table::Align::kLeft, 1}, {"MEMBERS"}});
  for (const v1::Project& project : list->projects()) {
    table.Add({{project.name(), Style::kBold},
               {std::to_string(project.jobs())},
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

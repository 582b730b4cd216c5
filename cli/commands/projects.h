#pragma once

#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

// Prints the projects that the caller is a member of, with their members.
Exit ListProjects(Session& session);
Exit CreateProject(Session& session, const std::string& name);
Exit DeleteProject(Session& session, const std::string& name);

struct MemberOptions {
  std::string project;
  std::string person;
  bool leads = false;
};
Exit AddMember(Session& session, const MemberOptions& options);
Exit RemoveMember(Session& session, const MemberOptions& options);

}  // namespace winnow::cli

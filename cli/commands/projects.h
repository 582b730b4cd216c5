#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

// Prints the projects that the caller is a member of, with their members.
Exit ListProjects(Session& session);
Exit CreateProject(Session& session, const std::string& name);
Exit DeleteProject(Session& session, const std::string& name);
// Prints what a project has, may have and has used.
Exit ShowProject(Session& session, const std::string& name);

// What to change; absent: it stays.
struct QuotaOptions {
  std::string person;  // "": the whole project
  std::optional<int64_t> slots, running_jobs;
  std::optional<double> gpus, node_hours, storage_gib, weight;
  std::optional<int32_t> job_class;
};
Exit SetProject(Session& session, const std::string& name, const QuotaOptions& options);

struct MemberOptions {
  std::string project;
  std::string person;
  bool leads = false;
};
Exit AddMember(Session& session, const MemberOptions& options);
Exit RemoveMember(Session& session, const MemberOptions& options);

}  // namespace winnow::cli

#include "server/engine/answers/requester.h"

#include <fmt/format.h>

#include "absl/strings/escaping.h"
#include "scheduler/placement.h"
#include "spec/hidden_value.h"
#include "store/jobs.h"

namespace winnow {

std::string ProjectNamed(const std::string& name) { return name == kDefaultProject ? "" : name; }

std::string_view ProjectOfJob(std::string_view id) {
  const size_t mark = id.find(kProjectMark);
  return mark == std::string_view::npos ? std::string_view() : id.substr(mark + 1);
}

absl::Status NoJob(std::string_view id) {
  return absl::NotFoundError(fmt::format("there is no job \"{}\"", id));
}

absl::Status NoTrial(std::string_view job, int64_t trial) {
  return absl::NotFoundError(fmt::format("job \"{}\" has no trial {}", job, trial));
}

absl::Status NoProject(std::string_view name) {
  return absl::NotFoundError(fmt::format("there is no project \"{}\"", name));
}

bool Requester::Sees(std::string_view project) const {
  if (any) return true;
  if (worker) return MayRun(worker_projects, project);
  return project.empty() || (memberships != nullptr && memberships->find(project) != memberships->end());
}

bool Requester::Leads(std::string_view project) const {
  if (any) return true;
  if (worker || memberships == nullptr) return false;
  const auto found = memberships->find(project);
  return found != memberships->end() && found->second;
}

std::optional<std::vector<std::string>> Requester::Visible() const {
  if (any || (worker && worker_projects.empty())) return std::nullopt;
  if (worker) return worker_projects;
  std::vector<std::string> projects = {""};
  if (memberships != nullptr) {
    for (const auto& [project, leads] : *memberships) projects.push_back(project);
  }
  return projects;
}

bool Requester::May(Deed deed, const JobPlace& job) const {
  if (any) return true;
  const std::string_view project = ProjectOfJob(job.id);
  if (!Sees(project)) return false;
  const bool owns = !worker && !job.owner.empty() && job.owner == name;
  switch (deed) {
    case Deed::kSee:
      return true;
    case Deed::kRun:
      return worker || owns;
    case Deed::kChange:
      return owns || Leads(project);
    case Deed::kReadOwners:
      return owns;
  }
  return false;
}

absl::Status Requester::CheckSees(std::string_view job) const {
  if (May(Deed::kSee, {job, ""})) return absl::OkStatus();
  return NoJob(job);
}

absl::Status Requester::MayChange(const std::string& job, const std::string& owner) const {
  if (absl::Status seen = CheckSees(job); !seen.ok()) return seen;
  if (May(Deed::kChange, {job, owner})) return absl::OkStatus();
  const std::string_view project = ProjectOfJob(job);
  const std::string who =
      project.empty() ? "an admin" : fmt::format("who leads project {}, or an admin", project);
  if (owner.empty()) {
    return absl::PermissionDeniedError(fmt::format(
        "job \"{}\" has no owner, because it was created without a token; only {} may do this", job, who));
  }
  return absl::PermissionDeniedError(fmt::format("job \"{}\" belongs to {}; only {}{} {} may do this", job,
                                                 owner, owner, project.empty() ? " or" : ",", who));
}

absl::Status Requester::MayReadSource(const std::string& job, const std::string& owner) const {
  if (absl::Status seen = CheckSees(job); !seen.ok()) return seen;
  if (May(Deed::kRun, {job, owner})) return absl::OkStatus();
  return owner.empty()
             ? absl::PermissionDeniedError(fmt::format("job \"{}\" has no owner, because it was created "
                                                       "without a token; only an admin may do this",
                                                       job))
             : absl::PermissionDeniedError(fmt::format(
                   "job \"{}\" belongs to {}; only {} or an admin may do this", job, owner, owner));
}

void Requester::Redact(v1::TuningJob& job) const {
  if (May(Deed::kReadOwners, {job.id(), job.owner()})) return;
  for (auto& [variable, value] : *job.mutable_spec()->mutable_trainer()->mutable_environment())
    value = kHiddenValue;
}

std::string Requester::ForLog() const {
  if (token_id.empty()) return "a caller without a token";
  return fmt::format("{} (token {})", absl::CHexEscape(name), token_id);
}

}  // namespace winnow

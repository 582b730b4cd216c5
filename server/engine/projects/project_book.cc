#include "server/engine/projects/project_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "absl/time/time.h"
#include "base/mutant.h"

namespace winnow {
namespace {

constexpr double kGib = 1 << 30;
constexpr double kHourUs = 3.6e9;
constexpr double kNear = 0.8;  // of a quota

// From where on most of a month's node-hours are used.
int64_t NearOf(int64_t most_us) {
  return static_cast<int64_t>(std::ceil(kNear * static_cast<double>(most_us)));
}

double GpusOf(const RankShape& shape) { return shape.gpu_share > 0 ? shape.gpu_share : shape.gpus; }

// "November 2026"
std::string MonthName(int64_t time_us) {
  return absl::FormatTime("%B %Y", absl::FromUnixMicros(time_us), absl::UTCTimeZone());
}

std::string Sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + '.';
}

// "has 6 of 8 slots, and a trial of this job takes 4"
std::string Amounts(const QuotaStop& stop, double has, double most, double more, const char* unit) {
  if (more > most)
    return fmt::format("{} may have {:g} {}, and a trial of this job takes {:g}", Whose(stop), most, unit,
                       more);
  const std::string text = fmt::format("{} has {:g} of {} {:g} {}", Whose(stop), has,
                                       stop.person.empty() ? "its" : "their", most, unit);
  return more <= 1 && has >= most ? text : fmt::format("{}, and a trial of this job takes {:g}", text, more);
}

}  // namespace

std::string ProjectInWords(const std::string& project) {
  return project.empty() ? "the default project" : "project " + project;
}

std::string Whose(const QuotaStop& stop) {
  const std::string project = ProjectInWords(stop.project);
  return stop.person.empty() ? project : fmt::format("{} in {}", stop.person, project);
}

std::string NearText(const QuotaStop& stop, int64_t now_us) {
  const char* its = stop.person.empty() ? "its" : "their";
  const std::string text =
      stop.part == QuotaPart::kStorage
          ? fmt::format("{} stores {:.3g} of {} {:g} GiB", Whose(stop),
                        static_cast<double>(stop.use.stored_bytes) / kGib, its, stop.quota.storage_gib)
          : fmt::format("{} has used {:.3g} of {} {:g} node-hours of {}", Whose(stop),
                        static_cast<double>(stop.use.node_us) / kHourUs, its, stop.quota.node_hours,
                        MonthName(now_us));
  return stop.person.empty() ? Sentence(text) : text + '.';
}

std::string TextOf(const QuotaStop& stop, int64_t now_us) {
  const char* its = stop.person.empty() ? "its" : "their";
  // A person's name stays as it is.
  const auto sentence = [&](const std::string& text) {
    return stop.person.empty() ? Sentence(text) : text + '.';
  };
  switch (stop.part) {
    case QuotaPart::kSlots:
      return sentence(Amounts(stop, static_cast<double>(stop.use.slots),
                              static_cast<double>(stop.quota.slots), static_cast<double>(stop.more.slots),
                              "slots"));
    case QuotaPart::kGpus:
      return sentence(Amounts(stop, stop.use.gpus, stop.quota.gpus, stop.more.gpus, "GPUs"));
    case QuotaPart::kRunningJobs:
      return sentence(fmt::format("{} has {} of {} {} running job{}", Whose(stop), stop.use.running_jobs, its,
                                  stop.quota.running_jobs, stop.quota.running_jobs == 1 ? "" : "s"));
    case QuotaPart::kNodeHours:
      return sentence(fmt::format("{} has used {} {:g} node-hours of {}; they count anew from 1 {} (UTC)",
                                  Whose(stop), its, stop.quota.node_hours, MonthName(now_us),
                                  MonthName(NextMonth(now_us))));
    case QuotaPart::kStorage:
      return sentence(fmt::format("{} stores {:.3g} GiB of {} {:g} GiB; trials start when jobs are deleted",
                                  Whose(stop), static_cast<double>(stop.use.stored_bytes) / kGib, its,
                                  stop.quota.storage_gib));
  }
  return "";
}

JobUse UseOf(std::string_view project, std::string_view owner, const RankShape& shape,
             const JobState& state) {
  const JobTotals& totals = state.totals();
  JobUse job{project, owner};
  job.nodes = totals.live_nodes;
  job.use.slots = totals.live_nodes * shape.slots;
  job.use.gpus = static_cast<double>(totals.live_nodes) * GpusOf(shape);
  job.use.running_jobs = totals.live_attempts > 0 ? 1 : 0;
  return job;
}

QuotaUse UseOfStart(const RankShape& shape, int32_t nodes, const JobState& state) {
  QuotaUse more;
  more.slots = int64_t{nodes} * shape.slots;
  more.gpus = nodes * GpusOf(shape);
  more.running_jobs = state.totals().live_attempts > 0 ? 0 : 1;
  return more;
}

ProjectStanding& ProjectBook::At(std::string_view project, std::string_view person) {
  const auto [at, fresh] = standings_.try_emplace({std::string(project), std::string(person)});
  if (fresh) {
    at->second.row.project = project;
    at->second.row.person = person;
  }
  return at->second;
}

const ProjectStanding* ProjectBook::Find(const std::string& project, const std::string& person) const {
  const auto found = standings_.find({project, person});
  return found == standings_.end() ? nullptr : &found->second;
}

absl::Status ProjectBook::Load(bool any_project, const std::vector<JobUse>& jobs, int64_t now_us) {
  standings_.clear();
  const absl::StatusOr<std::vector<QuotaRow>> rows = table_.List();
  if (!rows.ok()) return rows.status();
  on_ = any_project || !rows->empty();
  if (!on_) return absl::OkStatus();
  const absl::StatusOr<std::vector<ProjectUseRow>> uses = table_.Uses();
  if (!uses.ok()) return uses.status();
  for (const QuotaRow& row : *rows) At(row.project, row.person).row = row;
  for (const ProjectUseRow& row : *uses) At(row.project, row.person).used = row.use;
  Count(jobs, now_us);
  for (auto& [key, standing] : standings_) {
    standing.held = {standing.use.slots, standing.nodes};
    // It holds this since before anything was counted.
    if (standing.used.until_us == 0 && standing.nodes > 0) standing.held = {};
  }
  return absl::OkStatus();
}

void ProjectBook::Count(const std::vector<JobUse>& jobs, int64_t now_us) {
  if (!on_) return;
  for (auto& [key, standing] : standings_) {
    standing.use = {};
    standing.nodes = 0;
  }
  for (const JobUse& job : jobs) {
    const auto add = [&](ProjectStanding& standing) {
      standing.use.Add(job.use);
      standing.nodes += job.nodes;
    };
    add(At(job.project, ""));
    if (!job.owner.empty()) add(At(job.project, job.owner));
  }
  for (const auto& [key, bytes] : stored_.all()) At(key.first, key.second).use.stored_bytes = bytes;
  for (auto& [key, standing] : standings_) standing.use.node_us = UseNow(standing, now_us).node_us;
}

std::optional<QuotaStop> ProjectBook::FirstStop(const std::string& project, const std::string& owner,
                                                const QuotaUse& more, bool alone) const {
  const auto check = [&](const std::string& person) -> std::optional<QuotaStop> {
    const ProjectStanding* standing = Find(project, person);
    if (standing == nullptr || WINNOW_MUTANT("quotas are not looked at")) return std::nullopt;
    const QuotaUse use = alone ? QuotaUse() : standing->use;
    const std::optional<QuotaPart> part = Forbids(standing->row.quota, use, more);
    if (!part) return std::nullopt;
    return QuotaStop{project, person, *part, standing->row.quota, use, more};
  };
  std::optional<QuotaStop> stop;
  if (!owner.empty() && !WINNOW_MUTANT("quotas of persons are not looked at")) stop = check(owner);
  return stop ? stop : check("");
}

std::optional<QuotaStop> ProjectBook::StoringForbidden(const std::string& project, const std::string& owner,
                                                       int64_t bytes) const {
  for (const std::string& person : {owner, std::string()}) {
    const ProjectStanding* standing = Find(project, person);
    if (standing == nullptr || !ForbidsStoring(standing->row.quota, standing->use, bytes)) continue;
    return QuotaStop{project, person, QuotaPart::kStorage, standing->row.quota, standing->use, {}};
  }
  return std::nullopt;
}

void ProjectBook::Start(const std::string& project, const std::string& owner, const QuotaUse& more) {
  if (!on_) return;
  At(project, "").use.Add(more);
  if (!owner.empty()) At(project, owner).use.Add(more);
}

ProjectClaim ProjectBook::ClaimOf(const std::string& project, int64_t now_us) const {
  ProjectClaim claim;
  const ProjectStanding* standing = Find(project, "");
  if (standing == nullptr) return claim;
  claim.job_class = rules_.preemption ? standing->row.job_class : 0;
  claim.weight = standing->row.weight;
  claim.slot_seconds = UseNow(*standing, now_us).slot_seconds;
  claim.slots = standing->use.slots;
  return claim;
}

absl::Status ProjectBook::Settle(int64_t now_us) {
  if (!on_) return absl::OkStatus();
  for (auto& [key, standing] : standings_) {
    const Held held{standing.use.slots, standing.nodes};
    if (held == standing.held) continue;
    standing.used = UseNow(standing, now_us);
    standing.held = held;
    if (WINNOW_MUTANT("use is forgotten by a restart")) continue;
    const absl::Status status = table_.PutUse({key.first, key.second, standing.used});
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::optional<int64_t> ProjectBook::NextChange(int64_t now_us) const {
  std::optional<int64_t> next;
  for (const auto& [key, standing] : standings_) {
    const int64_t most_us = NodeTimeOf(standing.row.quota);
    if (most_us == 0) continue;
    const int64_t used_us = UseNow(standing, now_us).node_us;
    const bool told = standing.row.told_month_us == MonthOf(now_us) || used_us >= NearOf(most_us);
    const int64_t left_us = (told ? most_us : NearOf(most_us)) - used_us;
    int64_t at = NextMonth(now_us);
    if (left_us > 0 && standing.nodes == 0) continue;
    if (left_us > 0) at = std::min(at, now_us + (left_us + standing.nodes - 1) / standing.nodes);
    next = std::min(at, next.value_or(at));
  }
  return next;
}

absl::StatusOr<std::vector<QuotaStop>> ProjectBook::TakeNear(int64_t now_us) {
  std::vector<QuotaStop> stops;
  for (auto& [key, standing] : standings_) {
    QuotaRow& row = standing.row;
    const int64_t most_us = NodeTimeOf(row.quota), month_us = MonthOf(now_us);
    const bool near_time = most_us > 0 && standing.use.node_us >= NearOf(most_us);
    const bool near_storage = row.quota.storage_gib > 0 && static_cast<double>(standing.use.stored_bytes) >=
                                                               kNear * row.quota.storage_gib * kGib;
    const QuotaRow before = row;
    if (near_time && row.told_month_us != month_us) {
      row.told_month_us = month_us;
      stops.push_back({key.first, key.second, QuotaPart::kNodeHours, row.quota, standing.use, {}});
    }
    if (near_storage && !row.told_storage)
      stops.push_back({key.first, key.second, QuotaPart::kStorage, row.quota, standing.use, {}});
    row.told_storage = near_storage;
    if (row == before) continue;
    if (const absl::Status status = table_.Put(row); !status.ok()) return status;
  }
  return stops;
}

std::vector<QuotaStop> ProjectBook::UsedUp(int64_t now_us) const {
  std::vector<QuotaStop> stops;
  for (const auto& [key, standing] : standings_) {
    const int64_t most_us = NodeTimeOf(standing.row.quota);
    if (most_us == 0 || standing.nodes == 0 || WINNOW_MUTANT("node-hours stop nothing that runs")) continue;
    QuotaUse use = standing.use;
    use.node_us = UseNow(standing, now_us).node_us;
    if (use.node_us >= most_us)
      stops.push_back({key.first, key.second, QuotaPart::kNodeHours, standing.row.quota, use, {}});
  }
  return stops;
}

absl::Status ProjectBook::Put(const QuotaRow& row) {
  const absl::Status status = table_.Put(row);
  if (!status.ok()) return status;
  on_ = true;
  At(row.project, row.person).row = row;
  return absl::OkStatus();
}

QuotaRow ProjectBook::RowOf(const std::string& project, const std::string& person) const {
  const ProjectStanding* standing = Find(project, person);
  if (standing != nullptr) return standing->row;
  return {project, person};
}

}  // namespace winnow

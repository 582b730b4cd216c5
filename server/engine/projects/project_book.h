#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/fair_share.h"
#include "scheduler/placement.h"
#include "scheduler/project_use.h"
#include "scheduler/quota.h"
#include "scheduler/state/job_state.h"
#include "server/engine/projects/stored_bytes.h"
#include "store/database/database.h"
#include "store/tables/quotas.h"

namespace winnow {

// What the site's configuration says about projects.
struct ProjectRules {
  bool preemption = false;  // classes count; otherwise all jobs are of class 0
  double half_life_s = 7.0 * 86'400;
};

// What an open job holds.
struct JobUse {
  std::string_view project;  // "": the default one
  std::string_view owner;    // "": none
  QuotaUse use = {};
  int64_t nodes = 0;
};
// What a job holds that workers train.
JobUse UseOf(std::string_view project, std::string_view owner, const RankShape& shape, const JobState& state);

// What the start of a trial adds to what its job holds.
QuotaUse UseOfStart(const RankShape& shape, int32_t nodes, const JobState& state);

// A quota that does not let a trial start.
struct QuotaStop {
  std::string project;  // "": the default one
  std::string person;   // "": the quota is the whole project's
  QuotaPart part = QuotaPart::kSlots;
  Quota quota = {};
  QuotaUse use = {};
  QuotaUse more = {};
};

// What a project, or a person in one, may have, has and has used.
struct ProjectStanding {
  QuotaRow row = {};
  ProjectUse used = {};  // until the newest change of `held`
  Held held = {};        // since then
  QuotaUse use = {};     // of the jobs that were counted last
  int64_t nodes = 0;     // likewise
};

// The quotas and the use of all projects and persons. What decides placement follows from recorded facts:
// what is held from the open jobs, and what was used from rows that are written in the transaction in which
// what is held changes. Owner: the coordinator thread; or a reader's, which only counts.
class ProjectBook {
 public:
  using Key = std::pair<std::string, std::string>;  // project, person ("": the whole project)

  ProjectBook(Database& database, ProjectRules rules, const StoredBytes& stored)
      : table_(database), rules_(rules), stored_(stored) {}

  // Reads everything anew; `jobs` are the open ones.
  absl::Status Load(bool any_project, const std::vector<JobUse>& jobs, int64_t now_us);
  // Whether there is a project or a quota. Otherwise nothing is counted, and no other method does anything.
  bool on() const { return on_; }
  const ProjectRules& rules() const { return rules_; }

  // Takes what the open jobs hold now.
  void Count(const std::vector<JobUse>& jobs, int64_t now_us);
  // The quota that forbids to start what takes `more`: the person's, or the project's.
  std::optional<QuotaStop> Forbidden(const std::string& project, const std::string& owner,
                                     const QuotaUse& more) const {
    return FirstStop(project, owner, more, false);
  }
  // The same if nothing else ran: it can never start.
  std::optional<QuotaStop> NeverAllowed(const std::string& project, const std::string& owner,
                                        const QuotaUse& more) const {
    return FirstStop(project, owner, more, true);
  }
  // The quota that forbids to store that many bytes more.
  std::optional<QuotaStop> StoringForbidden(const std::string& project, const std::string& owner,
                                            int64_t bytes) const;
  // A trial starts that takes `more`.
  void Start(const std::string& project, const std::string& owner, const QuotaUse& more);
  ProjectClaim ClaimOf(const std::string& project, int64_t now_us) const;

  // Writes the use of those that hold something else than before. REQUIRES Count, inside the transaction.
  absl::Status Settle(int64_t now_us);
  // When most or all of a month's node-hours will be used up, or begin anew for those that have used them up.
  std::optional<int64_t> NextChange(int64_t now_us) const;
  // Those who have used up their node-hours and hold something.
  std::vector<QuotaStop> UsedUp(int64_t now_us) const;

  // Those who have used most of their node-hours of this month, or of their storage, since that was told
  // last. It is recorded as told. REQUIRES Count, inside the transaction.
  absl::StatusOr<std::vector<QuotaStop>> TakeNear(int64_t now_us);

  // Writes a quota. REQUIRES the transaction.
  absl::Status Put(const QuotaRow& row);
  absl::Status Delete(const std::string& project) { return table_.Delete(project); }
  // The row of a project or person; without limits if none was written.
  QuotaRow RowOf(const std::string& project, const std::string& person) const;
  const std::map<Key, ProjectStanding>& all() const { return standings_; }
  ProjectUse UseNow(const ProjectStanding& standing, int64_t now_us) const {
    return UsedUntil(standing.used, standing.held, now_us, rules_.half_life_s);
  }

 private:
  // `alone`: as if nothing else ran.
  std::optional<QuotaStop> FirstStop(const std::string& project, const std::string& owner,
                                     const QuotaUse& more, bool alone) const;
  ProjectStanding& At(std::string_view project, std::string_view person);
  const ProjectStanding* Find(const std::string& project, const std::string& person) const;

  QuotaTable table_;
  const ProjectRules rules_;
  const StoredBytes& stored_;
  bool on_ = false;
  std::map<Key, ProjectStanding> standings_;
};

// "project vision", "the default project": in a sentence.
std::string ProjectInWords(const std::string& project);
// Whose quota it is: "project vision", "ana in project vision".
std::string Whose(const QuotaStop& stop);
// Why a trial waits: "Project vision has 8 of its 8 slots." A sentence.
std::string TextOf(const QuotaStop& stop, int64_t now_us);
// That most is used: "Project vision has used 402 of its 500 node-hours of November 2026." REQUIRES a part
// that TakeNear gives.
std::string NearText(const QuotaStop& stop, int64_t now_us);

}  // namespace winnow

#pragma once

#include <cstdint>

namespace winnow {

// A project whose jobs may want slots.
struct ProjectClaim {
  int64_t project = 0;  // ties go to lower numbers
  int32_t job_class = 0;
  double weight = 1;        // more than 0
  double slot_seconds = 0;  // that it has used until now (ProjectUse)
  int64_t slots = 0;        // that it holds

  // Which project's jobs are served first: a higher class; then least use per weight. What it holds counts as
  // if it were held for kAheadSeconds more, so that projects share what is free at one time too. Half of the
  // slot in question counts with it, so that neither large weights nor small ones gain (Sainte-Laguë's
  // method). The longer kAheadSeconds, the more what is held at one time counts against what was used.
  friend bool operator<(const ProjectClaim& a, const ProjectClaim& b);
};
inline constexpr double kAheadSeconds = 60;

// A job that may want slots, among those of its project.
struct Claim {
  int64_t job = 0;  // older ones have lower keys
  int32_t priority = 0;
  double weight = 1;      // more than 0
  int64_t slots = 0;      // that it holds
  bool reserves = false;  // workers are kept for its gang
  int64_t project = 0;    // equal for the jobs of one project
  int32_t job_class = 0;  // of its project

  // Who is served first: higher priority; then the one for which workers are kept, or its gang would wait
  // again; then fewest slots per weight; then the older. A total order of claims of distinct jobs.
  friend bool operator<(const Claim& a, const Claim& b);
};

// Whether a reservation of `holder` keeps `other` away from its workers: unless `other` is of a higher class,
// or has the higher priority within the project.
bool Binds(const Claim& holder, const Claim& other);

}  // namespace winnow

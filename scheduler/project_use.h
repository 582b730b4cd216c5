#pragma once

#include <cstdint>

namespace winnow {

// What a project, or a person in one, has used until a time: pure sums, which follow from when which slots
// were held.
struct ProjectUse {
  int64_t until_us = 0;     // since the Unix epoch; 0: nothing was counted yet
  double slot_seconds = 0;  // decayed: what was used a half-life before counts half
  int64_t month_us = 0;     // start of the calendar month (UTC) that node_us is of
  int64_t node_us = 0;      // time of ranks in that month

  bool operator==(const ProjectUse&) const = default;
};

// The slots and ranks that are held since ProjectUse::until_us.
struct Held {
  int64_t slots = 0;
  int64_t nodes = 0;  // ranks

  bool operator==(const Held&) const = default;
};

// The use until `now_us`, if `held` was held since. A clock that was set back adds nothing.
ProjectUse UsedUntil(const ProjectUse& use, const Held& held, int64_t now_us, double half_life_s);

// The start of the calendar month (UTC) of a time, and of the next one.
int64_t MonthOf(int64_t time_us);
int64_t NextMonth(int64_t time_us);

}  // namespace winnow

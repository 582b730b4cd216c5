#include "scheduler/project_use.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/mutant.h"

namespace winnow {
namespace {

constexpr double kMicros = 1e6;

constexpr int64_t kDayUs = 86'400'000'000;

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

struct YearMonth {
  int64_t year;
  int64_t month;  // 1 to 12
};

// The month in the proleptic Gregorian calendar. Years are counted from March, so that the leap day is the
// last of its year; an era is 400 years, 146,097 days.
YearMonth MonthAt(int64_t time_us) {
  const int64_t day = FloorDiv(time_us, kDayUs) + 719'468;  // since 1 March of the year 0
  const int64_t era = FloorDiv(day, 146'097);
  const int64_t of_era = day - era * 146'097;
  const int64_t year = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const int64_t march_month = (5 * of_year + 2) / 153;  // 0: March
  const int64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
  return {year + era * 400 + (month <= 2 ? 1 : 0), month};
}

int64_t StartOf(YearMonth at) {
  const int64_t from_march = at.year - (at.month <= 2 ? 1 : 0);
  const int64_t era = FloorDiv(from_march, 400);
  const int64_t year = from_march - era * 400;
  const int64_t of_year = (153 * (at.month > 2 ? at.month - 3 : at.month + 9) + 2) / 5;
  const int64_t day = era * 146'097 + year * 365 + year / 4 - year / 100 + of_year - 719'468;
  return day * kDayUs;
}

}  // namespace

int64_t MonthOf(int64_t time_us) { return StartOf(MonthAt(time_us)); }

int64_t NextMonth(int64_t time_us) {
  const YearMonth at = MonthAt(time_us);
  return StartOf(at.month == 12 ? YearMonth{at.year + 1, 1} : YearMonth{at.year, at.month + 1});
}

ProjectUse UsedUntil(const ProjectUse& use, const Held& held, int64_t now_us, double half_life_s) {
  ProjectUse now = use;
  now.until_us = now_us;
  now.month_us = MonthOf(now_us);
  // A month that the clock was set back into counts as the one that was begun.
  if (now.month_us < use.month_us) now.month_us = use.month_us;
  if (now.month_us != use.month_us) now.node_us = 0;
  if (now_us <= use.until_us || use.until_us == 0) return now;
  const int64_t since_us = std::max(use.until_us, now.month_us);
  now.node_us += held.nodes * std::max<int64_t>(0, now_us - since_us);
  const double took_s = static_cast<double>(now_us - use.until_us) / kMicros;
  const double left = std::exp2(-took_s / half_life_s);
  // The integral of what is held, each moment decayed until now.
  const double added = static_cast<double>(held.slots) * half_life_s / std::numbers::ln2 * (1 - left);
  now.slot_seconds = (WINNOW_MUTANT("use never decays") ? 1 : left) * use.slot_seconds + added;
  return now;
}

}  // namespace winnow

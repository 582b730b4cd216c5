#include "scheduler/quota.h"

#include <cmath>

#include "scheduler/project_use.h"
#include "tests/catch.h"

namespace winnow {
namespace {

constexpr int64_t kSecond = 1'000'000, kDay = 86'400 * kSecond;
constexpr int64_t kNewYear2026 = 1'767'225'600 * kSecond;

TEST_CASE("Quota: each part forbids what would exceed it, and 0 forbids nothing", "[scheduler]") {
  const QuotaUse use{6, 1.5, 0, 2}, gang{3, 0.6, 0, 1};
  CHECK_FALSE(Forbids({}, use, gang));
  CHECK(Forbids({.slots = 8}, use, gang) == QuotaPart::kSlots);
  CHECK_FALSE(Forbids({.slots = 9}, use, gang));
  CHECK(Forbids({.gpus = 2}, use, gang) == QuotaPart::kGpus);
  CHECK_FALSE(Forbids({.gpus = 2.1}, use, gang));
  CHECK_FALSE(Forbids({.gpus = 1}, use, {1, 0, 0, 0}));  // it needs none
  CHECK(Forbids({.running_jobs = 2}, use, gang) == QuotaPart::kRunningJobs);
  CHECK_FALSE(Forbids({.running_jobs = 2}, use, {1, 0, 0, 0}));  // its job runs already
  CHECK_FALSE(Forbids({.node_hours = 1}, {0, 0, 3'600 * kSecond - 1, 0}, gang));
  CHECK(Forbids({.node_hours = 1}, {0, 0, 3'600 * kSecond, 0}, gang) == QuotaPart::kNodeHours);
}

TEST_CASE("Quota: nothing starts once the storage is used up, and nothing is stored beyond it",
          "[scheduler]") {
  constexpr int64_t kGib = 1 << 30;
  QuotaUse use;
  use.stored_bytes = kGib - 1;
  CHECK_FALSE(Forbids({.storage_gib = 1}, use, {}));
  CHECK_FALSE(ForbidsStoring({.storage_gib = 1}, use, 1));
  CHECK(ForbidsStoring({.storage_gib = 1}, use, 2));
  use.stored_bytes = kGib;
  CHECK(Forbids({.storage_gib = 1}, use, {}) == QuotaPart::kStorage);
  CHECK_FALSE(Forbids({}, use, {}));
}

TEST_CASE("Quota: ten tenths of a GPU are one", "[scheduler]") {
  QuotaUse use;
  for (int i = 0; i < 9; ++i) use.Add({1, 0.1, 0, 0});
  CHECK_FALSE(Forbids({.gpus = 1}, use, {1, 0.1, 0, 0}));
  use.Add({1, 0.1, 0, 0});
  CHECK(Forbids({.gpus = 1}, use, {1, 0.1, 0, 0}) == QuotaPart::kGpus);
}

TEST_CASE("Project use: months are those of the calendar, in UTC", "[scheduler]") {
  CHECK(MonthOf(0) == 0);
  CHECK(NextMonth(0) == 31 * kDay);
  CHECK(MonthOf(kNewYear2026 - 1) == kNewYear2026 - 31 * kDay);
  CHECK(MonthOf(kNewYear2026) == kNewYear2026);
  CHECK(NextMonth(kNewYear2026 - 1) == kNewYear2026);
  const int64_t february_2024 = 1'706'745'600 * kSecond;  // of a leap year
  CHECK(NextMonth(february_2024) - february_2024 == 29 * kDay);
  const int64_t february_2100 = 4'105'123'200 * kSecond;  // of none
  CHECK(MonthOf(february_2100 + 5) == february_2100);
  CHECK(NextMonth(february_2100) - february_2100 == 28 * kDay);
  int64_t month = 0;
  for (int i = 0; i < 12 * 400; ++i) month = NextMonth(month);
  CHECK(month == 146'097 * kDay);
}

TEST_CASE("Project use: node time counts in the month in which it was held", "[scheduler]") {
  const ProjectUse before{kNewYear2026 - 10 * kSecond, 0, kNewYear2026 - 31 * kDay, 5 * kSecond};
  const ProjectUse still = UsedUntil(before, {1, 3}, kNewYear2026 - 1, 1e6);
  CHECK(still.node_us == 5 * kSecond + 3 * (10 * kSecond - 1));
  const ProjectUse after = UsedUntil(before, {1, 3}, kNewYear2026 + 7 * kSecond, 1e6);
  CHECK(after.month_us == kNewYear2026);
  CHECK(after.node_us == 3 * 7 * kSecond);
}

TEST_CASE("Project use: it counts half after a half-life, and slots held for ever approach a limit",
          "[scheduler]") {
  constexpr double kHalfLife = 3600;
  const ProjectUse used{kNewYear2026, 1000, kNewYear2026, 0};
  const ProjectUse later = UsedUntil(used, {}, kNewYear2026 + 3600 * kSecond, kHalfLife);
  CHECK(later.slot_seconds == Approx(500));
  CHECK(UsedUntil({kNewYear2026, 0}, {2, 2}, kNewYear2026 + kSecond, kHalfLife).slot_seconds ==
        Approx(2).epsilon(1e-3));
  const ProjectUse full = UsedUntil({kNewYear2026, 0}, {1, 1}, kNewYear2026 + 30 * kDay, kHalfLife);
  CHECK(full.slot_seconds == Approx(3600 / std::log(2.0)));
}

TEST_CASE(
    "Project use: it is the same whether it is looked at once or often, and a clock set back adds nothing",
    "[scheduler]") {
  ProjectUse often{kNewYear2026, 17, kNewYear2026, 3};
  const ProjectUse once = UsedUntil(often, {4, 2}, kNewYear2026 + 1000 * kSecond, 5000);
  for (int i = 1; i <= 1000; ++i) often = UsedUntil(often, {4, 2}, kNewYear2026 + i * kSecond, 5000);
  CHECK(often.node_us == once.node_us);
  CHECK(often.slot_seconds == Approx(once.slot_seconds).epsilon(1e-9));
  const ProjectUse back = UsedUntil(often, {4, 2}, kNewYear2026 - 5 * kDay, 5000);
  CHECK(back.slot_seconds == often.slot_seconds);
  CHECK(back.node_us == often.node_us);
  CHECK(back.month_us == often.month_us);
}

}  // namespace
}  // namespace winnow

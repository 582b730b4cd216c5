#include "store/audit.h"

#include "tests/catch.h"
#include "tests/store/get.h"
#include "tests/store/stores.h"

namespace winnow {
namespace {

AuditRow Entry(int64_t time_us, const char* person, const char* method, const char* job) {
  return {0, time_us, person, "3f2a91c4", "192.0.2.7", method, job, 0, "subject", "detail", "OK"};
}

std::vector<int64_t> Times(const std::vector<AuditRow>& rows) {
  std::vector<int64_t> times;
  for (const AuditRow& row : rows) times.push_back(row.time_us);
  return times;
}

TEST_CASE("Audit: entries are found by person, job, method and time, the newest first", "[store][stores]") {
  OneStore one;
  AuditTable& audit = one.store->audit;
  REQUIRE(audit.Add(Entry(10, "ana", "CreateTuningJob", "a")).ok());
  REQUIRE(audit.Add(Entry(20, "ben", "StopTuningJob", "a")).ok());
  REQUIRE(audit.Add(Entry(30, "ana", "StopTuningJob", "b")).ok());
  AuditRow last = Entry(40, "", "Annotate", "");
  last.trial = 7;
  REQUIRE(audit.Add(last).ok());
  const auto found = [&](const AuditFilter& filter, int64_t before = 1000, int64_t limit = 100) {
    return Times(Get(audit.List(filter, before, limit)));
  };
  using Found = std::vector<int64_t>;
  CHECK(found({}) == Found{40, 30, 20, 10});
  CHECK(found({"ana", "", "", 0}) == Found{30, 10});
  CHECK(found({"", "a", "", 0}) == Found{20, 10});
  CHECK(found({"", "", "StopTuningJob", 0}) == Found{30, 20});
  CHECK(found({"", "", "", 30}) == Found{40, 30});
  CHECK(found({"ana", "a", "StopTuningJob", 0}).empty());
  CHECK(found({}, 1000, 2) == Found{40, 30});
  const AuditRow newest = Get(audit.List({}, 1000, 1)).front();
  CHECK(found({}, newest.sequence) == Found{30, 20, 10});
  last.sequence = newest.sequence;
  CHECK(newest == last);
}

TEST_CASE("Audit: the database refuses to change an entry, and entries leave by age", "[store][stores]") {
  OneStore one;
  AuditTable& audit = one.store->audit;
  for (int64_t time_us = 1; time_us <= 5; ++time_us)
    REQUIRE(audit.Add(Entry(time_us, "ana", "StopTuningJob", "a")).ok());
  const absl::Status changed = one.store->database().Execute("UPDATE audit SET person = 'ben'");
  CHECK_THAT(changed.ToString(), Catch::Contains("an entry of the audit log cannot be changed"));
  CHECK(*audit.RemoveBefore(4, 2) == 2);
  CHECK(Times(Get(audit.List({}, 1000, 100))) == std::vector<int64_t>{5, 4, 3});
  CHECK(*audit.RemoveBefore(4, 100) == 1);
  CHECK(*audit.RemoveBefore(4, 100) == 0);
  for (const AuditRow& row : Get(audit.List({}, 1000, 100))) CHECK(row.person == "ana");
}

}  // namespace
}  // namespace winnow

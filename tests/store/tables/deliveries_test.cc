#include "store/tables/deliveries.h"

#include "tests/catch.h"
#include "tests/store/get.h"
#include "tests/store/stores.h"

namespace winnow {
namespace {

DeliveryRow Waiting(const char* webhook, const char* job, bool replaceable = false) {
  DeliveryRow row;
  row.webhook = webhook;
  row.job = job;
  row.event = "{}";
  row.replaceable = replaceable;
  row.create_us = row.next_us = 5;
  return row;
}

std::vector<int64_t> Numbers(const std::vector<DeliveryRow>& rows) {
  std::vector<int64_t> numbers;
  for (const DeliveryRow& row : rows) numbers.push_back(row.number);
  return numbers;
}

using Found = std::vector<int64_t>;

TEST_CASE("Deliveries: what waits is given in the order of the events, until it has ended",
          "[store][stores]") {
  OneStore one;
  DeliveryTable table(one.store->database());
  DeliveryRow a = Waiting("chat", "job"), b = Waiting("chat", ""), c = Waiting("mail", "job");
  for (DeliveryRow* row : {&a, &b, &c}) REQUIRE(table.Insert(*row).ok());
  CHECK(Numbers(Get(table.Waiting("chat", 10))) == Found{a.number, b.number});
  CHECK(Numbers(Get(table.Waiting("chat", 1))) == Found{a.number});
  CHECK(Get(table.Awaited()) == std::vector<std::string>{"chat", "mail"});
  CHECK(Get(table.BacklogOf("chat")).waiting == 2);
  CHECK(Get(table.BacklogOf("none")).oldest_us == 0);
  a.state = DeliveryState::kDelivered;
  a.attempts = 2;
  a.end_us = 9;
  a.answer = "status 204";
  REQUIRE(table.Update(a).ok());
  CHECK(Numbers(Get(table.Waiting("chat", 10))) == Found{b.number});
  CHECK(Get(table.List({.webhook = "chat", .job = "job"}, 1000, 10)) == std::vector<DeliveryRow>{a});
  CHECK(Numbers(Get(table.List({.state = DeliveryState::kWaiting}, 1000, 10))) == Found{c.number, b.number});
  CHECK(Numbers(Get(table.List({}, c.number, 10))) == Found{b.number, a.number});
  REQUIRE(table.GiveUp("mail", 20, "gone").ok());
  const DeliveryRow gone = Get(table.List({.webhook = "mail"}, 1000, 10)).front();
  CHECK(gone.state == DeliveryState::kGivenUp);
  CHECK(gone.answer == "gone");
  REQUIRE(table.RemoveEndedBefore(20, 10).ok());
  CHECK(Numbers(Get(table.List({}, 1000, 10))) == Found{c.number, b.number});
}

TEST_CASE("Deliveries: a newer one takes the place of one that was not tried yet, at the end of the queue",
          "[store][stores]") {
  OneStore one;
  DeliveryTable table(one.store->database());
  DeliveryRow tried = Waiting("chat", "job", true), old = Waiting("chat", "job", true),
              ended = Waiting("chat", "job"), other = Waiting("chat", "other", true),
              newest = Waiting("chat", "job", true);
  REQUIRE(table.Insert(tried).ok());
  tried.attempts = 1;
  REQUIRE(table.Update(tried).ok());
  for (DeliveryRow* row : {&old, &ended, &other, &newest}) REQUIRE(table.Insert(*row).ok());
  CHECK(Numbers(Get(table.Waiting("chat", 10))) ==
        Found{tried.number, ended.number, other.number, newest.number});
}

}  // namespace
}  // namespace winnow

#include "server/engine/context.h"
#include "server/engine/hub.h"
#include "tests/catch.h"

namespace winnow {
namespace {

using Kind = Deadlines::Kind;

TEST_CASE("Deadlines: the earliest is next, a new one replaces the old", "[server]") {
  Deadlines deadlines;
  CHECK_FALSE(deadlines.next());
  deadlines.Set(Kind::kLease, "a", 30);
  deadlines.Set(Kind::kHold, "a", 20);
  deadlines.Set(Kind::kLease, "b", 10);
  CHECK(deadlines.next() == 10);
  deadlines.Set(Kind::kLease, "b", 40);
  CHECK(deadlines.next() == 20);
  CHECK(deadlines.TakeDue(30) == std::vector<Deadlines::Key>{{Kind::kHold, "a"}, {Kind::kLease, "a"}});
  deadlines.Clear(Kind::kLease, "b");
  CHECK_FALSE(deadlines.next());
}

TEST_CASE("Hub: tells those who listen to the topic", "[server]") {
  Hub hub;
  int a = 0, b = 0;
  int64_t first = hub.Subscribe("a", [&] { ++a; });
  hub.Subscribe("b", [&] { ++b; });
  hub.Publish("a");
  hub.Unsubscribe(first);
  hub.Publish("a");
  hub.Publish("b");
  CHECK(a == 1);
  CHECK(b == 1);
}

}  // namespace
}  // namespace winnow

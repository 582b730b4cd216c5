#include "scheduler/placement.h"

#include "tests/catch.h"

namespace winnow {
namespace {

using Workers = std::vector<std::string>;

TEST_CASE("Placement: all ranks or none", "[scheduler]") {
  CHECK_FALSE(Place({{"a", 2, ""}, {"b", 1, ""}}, {4, "", ""}));
  CHECK(Place({{"a", 2, ""}, {"b", 1, ""}}, {3, "", ""}) == Workers{"a", "b", "a"});
  CHECK_FALSE(Place({}, {1, "", ""}));
  CHECK_FALSE(Place({{"a", 0, ""}}, {1, "", ""}));
}

TEST_CASE("Placement: most free slots first, ties by id, whatever the order", "[scheduler]") {
  CHECK(Place({{"c", 1, ""}, {"b", 2, ""}, {"a", 2, ""}}, {1, "", ""}) == Workers{"a"});
  CHECK(Place({{"a", 2, ""}, {"c", 1, ""}, {"b", 2, ""}}, {3, "", ""}) == Workers{"a", "b", "c"});
}

TEST_CASE("Placement: near the checkpoint, then where it ran before", "[scheduler]") {
  const std::vector<WorkerRoom> workers = {{"a", 9, "s1"}, {"b", 1, "s2"}, {"c", 2, "s2"}, {"d", 1, "s1"}};
  CHECK(Place(workers, {1, "s2", ""}) == Workers{"c"});
  CHECK(Place(workers, {1, "s2", "b"}) == Workers{"b"});
  CHECK(Place(workers, {1, "", "d"}) == Workers{"d"});
  CHECK(Place(workers, {1, "gone", "gone"}) == Workers{"a"});
}

TEST_CASE("Placement: ranks are spread over distinct workers first", "[scheduler]") {
  CHECK(Place({{"a", 4, ""}, {"b", 1, ""}}, {4, "", ""}) == Workers{"a", "b", "a", "a"});
}

}  // namespace
}  // namespace winnow

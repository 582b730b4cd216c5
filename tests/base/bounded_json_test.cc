#include "base/bounded_json.h"

#include <string>

#include "tests/catch.h"

namespace winnow {

TEST_CASE("ParseBoundedJson: what is nested too deep is none", "[base]") {
  CHECK(ParseBoundedJson(R"({"a": [[1]]})", 3) == nlohmann::json({{"a", {{1}}}}));
  CHECK(ParseBoundedJson(R"({"a": [[1]]})", 2).is_discarded());
  CHECK(ParseBoundedJson("[", 2).is_discarded());
  CHECK(ParseBoundedJson("", 2).is_discarded());
  constexpr size_t kDeep = 1'000'000;
  CHECK(ParseBoundedJson(std::string(kDeep, '[') + std::string(kDeep, ']'), 60).is_discarded());
}

}  // namespace winnow

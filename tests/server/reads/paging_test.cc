#include "server/reads/paging.h"

#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("Paging: a token gives back its parts, dots in the last one included", "[server]") {
  std::string token = MakePageToken("metrics job", {"12", "3", "a.b.c"});
  auto parts = ReadPageToken(token, "metrics job", 3);
  REQUIRE(parts.ok());
  CHECK(*parts == std::vector<std::string>{"12", "3", "a.b.c"});
  CHECK(*PageNumber(*parts, 0, 7) == 12);
  CHECK(ReadPageToken("", "metrics job", 3)->empty());
  CHECK(*PageNumber({}, 0, 7) == 7);
}

TEST_CASE("Paging: what is not a token of this query is refused", "[server]") {
  std::string token = MakePageToken("jobs", {"12"});
  CHECK_FALSE(ReadPageToken(token, "trials", 1).ok());
  CHECK_FALSE(ReadPageToken(token, "jobs", 2).ok());
  CHECK_FALSE(ReadPageToken(token.substr(1), "jobs", 1).ok());
  for (const char* number : {"", "x", "1x", "-1", "99999999999999999999"}) {
    INFO(number);
    CHECK_FALSE(PageNumber({number}, 0, 0).ok());
  }
}

TEST_CASE("Paging: sizes within the limits, 0 for the default", "[server]") {
  CHECK(*PageSize(0, 50, 1000) == 50);
  CHECK(*PageSize(1000, 50, 1000) == 1000);
  for (int64_t size : {-1, 1001}) {
    auto refused = PageSize(size, 50, 1000);
    CHECK(refused.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(refused.status().message()),
               Catch::Contains("page_size: " + std::to_string(size)) && Catch::Contains("1 to 1000"));
  }
}

}  // namespace
}  // namespace winnow

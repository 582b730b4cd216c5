#include "insight/filter.h"

#include "tests/catch.h"
#include "tests/insight/sample.h"

namespace winnow {
namespace {

// Trials 1 to 4.
Table Sample() {
  Table table;
  table.Add(0.5), table.configuration[0] = 0.1, table.entry.resource = 9, table.entry.nodes = 2, table.Put();
  table.Add(0.2, TrialPhase::kRunning), table.entry.bracket = 1, table.Put();
  table.Add(kNone, TrialPhase::kPending), table.configuration[2] = std::string("b|c"),
                                          table.configuration[4] = 0.25;
  table.Put();
  table.Add(0.9, TrialPhase::kFailed), table.entry.training_us = 3'000'000, table.configuration[3] = 8.0,
                                       table.Put();
  return table;
}

std::vector<uint32_t> Numbers(const Table& table, const std::vector<std::string>& texts) {
  const auto filters = ParseFilters(texts, table.columns);
  INFO(filters.status().ToString());
  REQUIRE(filters.ok());
  std::vector<uint32_t> numbers = Select(table.columns, *filters);
  for (uint32_t& number : numbers) ++number;
  return numbers;
}

TEST_CASE("Filter: ranges, open at either end, and lists of texts", "[insight]") {
  using N = std::vector<uint32_t>;
  const Table table = Sample();
  CHECK(Numbers(table, {}) == N{1, 2, 3, 4});
  CHECK(Numbers(table, {"rate:0.05..0.2"}) == N{1});
  CHECK(Numbers(table, {"rate:..0.05"}) == N{2, 3, 4});
  CHECK(Numbers(table, {"#objective:0.3.."}) == N{1, 4});
  CHECK(Numbers(table, {"#objective:.."}) == N{1, 2, 4});
  CHECK(Numbers(table, {"booster:b\\|c"}) == N{3});
  CHECK(Numbers(table, {"booster:a|b\\|c"}) == N{1, 2, 3, 4});
  CHECK(Numbers(table, {"step:8|0.5"}) == N{4});
  CHECK(Numbers(table, {"decay:0..1"}) == N{3});
  CHECK(Numbers(table, {"#state:running|pending"}) == N{2, 3});
  CHECK(Numbers(table, {"#nodes:2"}) == N{1});
  CHECK(Numbers(table, {"#bracket:1"}) == N{2});
  CHECK(Numbers(table, {"#resource:1.."}) == N{1});
  CHECK(Numbers(table, {"#training_seconds:3..3"}) == N{4});
  CHECK(Numbers(table, {"#number:2..3", "#state:running"}) == N{2});
}

TEST_CASE("Filter: distinguishes pruned from cancelled trials", "[insight]") {
  using N = std::vector<uint32_t>;
  Table table;
  for (const TrialPhase phase : {TrialPhase::kPruned, TrialPhase::kCompleted, TrialPhase::kCancelled})
    table.Add(0.5, phase), table.Put();
  CHECK(Numbers(table, {"#state:pruned"}) == N{1});
  CHECK(Numbers(table, {"#state:cancelled"}) == N{3});
  CHECK(Numbers(table, {"#state:pruned|cancelled"}) == N{1, 3});
}

TEST_CASE("Filter: what is none is named, and why", "[insight]") {
  const Table table = Sample();
  const auto refuse = [&](const std::string& text) {
    const auto filters = ParseFilters({"#number:1..2", text}, table.columns);
    CHECK(absl::IsInvalidArgument(filters.status()));
    return std::string(filters.status().message());
  };
  CHECK(refuse("rate") == "filters[1]: \"rate\" is not a filter: expected FIELD:MIN..MAX or FIELD:A|B");
  CHECK(refuse("speed:1..2").find("there is no \"speed\"; expected one of rate, depth") != std::string::npos);
  CHECK(refuse("rate:x..2").find("expected numbers") != std::string::npos);
  CHECK(refuse("rate:nan..2").find("expected numbers") != std::string::npos);
  CHECK(refuse("rate:fast").find("is not a number") != std::string::npos);
  CHECK(refuse("booster:c").find("\"c\" is unknown; expected one of a, b|c") != std::string::npos);
  CHECK(refuse("#state:1..2").find("is unknown") != std::string::npos);
  CHECK(refuse("").find("is not a filter") != std::string::npos);
  CHECK(!ParseFilters(std::vector<std::string>(101, "#number:1..2"), table.columns).ok());
}

}  // namespace
}  // namespace winnow

#include "insight/sieve.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/insight/sample.h"

namespace winnow {
namespace {

std::vector<int64_t> Levels(int32_t bracket) {
  return bracket == 0 ? std::vector<int64_t>{1, 3, 9} : std::vector<int64_t>{3, 9};
}

TEST_CASE("Sieve: cells are all trials once, and who is above has passed", "[insight]") {
  Table table;
  for (int i = 0; i < 20; ++i) {
    table.Add(i, i % 5 == 0 ? TrialPhase::kFailed : TrialPhase::kPruned);
    table.entry.bracket = i < 12 ? 0 : 1;
    table.entry.rung = i == 1 ? 2 : i < 4 ? 1 : 0;
    table.Put();
  }
  const auto cells = MakeSieve(table.columns, table.All(), Levels, 1000);
  REQUIRE(cells.size() == 5);
  CHECK(cells[0].resource == 1);
  CHECK(cells[0].marks.size() == 8);
  CHECK(cells[0].passed == 4);
  CHECK(cells[1].marks.size() == 3);
  CHECK(cells[1].passed == 1);
  CHECK(cells[2].marks == std::vector<uint32_t>{1});
  CHECK(cells[3].bracket == 1);
  CHECK(cells[4].marks.empty());
  int64_t trials = 0;
  for (const SieveCellData& cell : cells) {
    for (const int64_t count : cell.counts) trials += count;
  }
  CHECK(trials == 20);
}

TEST_CASE("Sieve: of many trials the best and those that run are drawn, in order of their values",
          "[insight]") {
  Table table;
  for (int i = 0; i < 5000; ++i) {
    table.Add((i * 37) % 5000, i % 1000 == 999 ? TrialPhase::kRunning : TrialPhase::kPruned);
    table.entry.bracket = 0;
    table.Put();
  }
  const auto cells = MakeSieve(table.columns, table.All(), Levels, 100);
  size_t marks = 0;
  for (const SieveCellData& cell : cells) marks += cell.marks.size();
  CHECK(marks == 100);
  const std::vector<uint32_t>& drawn = cells[0].marks;
  CHECK(table.columns.best[drawn.front()] == 0);
  CHECK(std::is_sorted(drawn.begin(), drawn.end(), [&](uint32_t a, uint32_t b) {
    return table.columns.best[a] < table.columns.best[b];
  }));
  CHECK(std::count_if(drawn.begin(), drawn.end(),
                      [&](uint32_t row) { return table.columns.phase[row] == TrialPhase::kRunning; }) == 5);
  CHECK(table.columns.best[drawn.back()] > 4900);
}

TEST_CASE("Sieve: without brackets there are at most 12 levels, each where trials are", "[insight]") {
  Table table;
  for (int i = 0; i < 500; ++i) table.Add(i), table.entry.resource = i, table.Put();
  const auto cells = MakeSieve(table.columns, table.All(), nullptr, 1000);
  CHECK(cells.size() <= 12);
  CHECK(cells.size() >= 8);
  CHECK(cells.front().resource == 0);
  int64_t below = 500;
  for (const SieveCellData& cell : cells) {
    CHECK(cell.bracket == -1);
    for (const uint32_t row : cell.marks) CHECK(table.columns.resource[row] >= cell.resource);
    for (const int64_t count : cell.counts) below -= count;
    CHECK(cell.passed == below);
  }
  CHECK(below == 0);
  CHECK(MakeSieve(table.columns, std::vector<uint8_t>(500), nullptr, 10).empty());
}

}  // namespace
}  // namespace winnow

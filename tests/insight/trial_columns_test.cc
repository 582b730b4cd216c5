#include "insight/trial_columns.h"

#include "insight/neighbours.h"
#include "insight/ordering.h"
#include "insight/parallel_lines.h"
#include "insight/pareto.h"
#include "tests/catch.h"
#include "tests/insight/sample.h"

namespace winnow {
namespace {

using Rows = std::vector<uint32_t>;

TEST_CASE("TrialColumns: ranks by the goal, and failed trials and those without a value come last",
          "[insight]") {
  for (const Goal goal : {Goal::kMinimize, Goal::kMaximize}) {
    Table table(goal);
    for (const double best : {0.5, 0.2, kNone, 0.9}) table.Add(best), table.Put();
    table.Add(0.1, TrialPhase::kFailed), table.Put();
    CHECK(table.columns.Ranking() == (goal == Goal::kMinimize ? Rows{1, 0, 3, 2, 4} : Rows{3, 0, 1, 2, 4}));
    CHECK(table.columns.ranked() == 3);
  }
}

TEST_CASE("TrialColumns: where the last value or the mean counts, completed trials come first", "[insight]") {
  for (const ObjectiveValue counts : {ObjectiveValue::kBest, ObjectiveValue::kLast, ObjectiveValue::kMean}) {
    Table table(Goal::kMinimize, counts);
    table.Add(0.1, TrialPhase::kPruned), table.Put();
    table.Add(0.5, TrialPhase::kRunning), table.Put();
    table.Add(0.3), table.Put();
    const bool best = counts == ObjectiveValue::kBest;
    CHECK(table.columns.Ranking() == (best ? Rows{0, 2, 1} : Rows{2, 0, 1}));
    CHECK(*OrderedRows(table.columns, table.All(), "objective", 0, 9) == table.columns.Ranking());
    CHECK(*OrderedRows(table.columns, table.All(), "objective desc", 0, 9) ==
          (best ? Rows{1, 2, 0} : Rows{1, 0, 2}));
    CHECK(table.columns.ObjectiveAxis().min() == 0.1);
    CHECK(table.columns.ObjectiveAxis().max() == 0.5);
    table.Add(0.5), table.entry.number = 2, table.Put();  // it has completed
    CHECK(table.columns.Ranking() == (best ? Rows{0, 2, 1} : Rows{2, 1, 0}));
  }
}

TEST_CASE("TrialColumns: the ranking follows what changes", "[insight]") {
  Table table;
  for (const double best : {0.5, 0.2}) table.Add(best), table.Put();
  CHECK(table.columns.Ranking() == Rows{1, 0});
  table.Add(0.1), table.entry.number = 1, table.Put();
  CHECK(table.columns.Ranking() == Rows{0, 1});
  table.Add(0.1, TrialPhase::kFailed), table.entry.number = 1, table.Put();
  CHECK(table.columns.Ranking() == Rows{1, 0});
}

TEST_CASE("TrialColumns: values that are very far off do not flatten the objective's axis", "[insight]") {
  Table table;
  for (int i = 0; i < 100; ++i) table.Add(1 + i * 0.01), table.Put();
  CHECK(table.columns.ObjectiveAxis().max() == Approx(1.99));
  table.Add(1e9), table.Put();
  CHECK(table.columns.ObjectiveAxis().min() == 1);
  CHECK(table.columns.ObjectiveAxis().max() < 2);
}

TEST_CASE("OrderedRows: any page of any order is that of all rows sorted", "[insight]") {
  Table table;
  for (int i = 0; i < 50; ++i) {
    table.Add(i % 7 == 0 ? kNone : i % 5);
    table.configuration[1] = int64_t{1 + i % 4};
    table.configuration[2] = std::string(i % 3 == 0 ? "b|c" : "a");
    table.entry.end_us = i % 4 == 0 ? 0 : 1000 - i;
    table.Put();
  }
  for (const char* order :
       {"", "number desc", "objective", "objective desc", "depth", "booster desc", "end_time",
        "end_time desc", "state", "resource", "nodes asc", "bracket", "training_seconds"}) {
    INFO(order);
    const Rows all = *OrderedRows(table.columns, table.All(), order, 0, 1000);
    REQUIRE(all.size() == 50);
    for (const size_t offset : {0u, 7u, 45u, 50u, 90u}) {
      const Rows page = *OrderedRows(table.columns, table.All(), order, offset, 10);
      const size_t begin = std::min<size_t>(offset, 50), end = std::min<size_t>(offset + 10, 50);
      CHECK(page == Rows(all.begin() + begin, all.begin() + end));
    }
  }
  const Rows best = *OrderedRows(table.columns, table.All(), "objective", 0, 1000);
  CHECK(best.front() == 5);
  CHECK(std::isnan(table.columns.best[best.back()]));
  const Rows worst = *OrderedRows(table.columns, table.All(), "objective desc", 0, 1000);
  CHECK(table.columns.best[worst.front()] == 4);
  CHECK(std::isnan(table.columns.best[worst.back()]));
  CHECK(absl::IsInvalidArgument(OrderedRows(table.columns, table.All(), "speed", 0, 1).status()));
}

TEST_CASE("CountBins: every marked row with both positions is counted once", "[insight]") {
  Table table;
  for (int i = 0; i < 20; ++i) {
    table.Add(i == 3 ? kNone : i);
    table.configuration[1] = int64_t{1 + i % 4};
    table.Put();
  }
  std::vector<uint8_t> marked = table.All();
  marked[0] = 0;
  const auto bins = [&](size_t axis) { return BinsOf(table.columns.position[axis], 4); };
  const auto y = BinsOf(ScorePositions(table.columns.Scores(), table.columns.ObjectiveAxis()), 4);
  int count = 0;
  for (const BinCount& cell : CountBins(table.columns, marked, bins(1), y, 4)) {
    count += cell.count;
    CHECK(cell.best >= 1);
  }
  CHECK(count == 18);
  CHECK(CountBins(table.columns, marked, bins(4), y, 4).empty());
}

TEST_CASE("Nearest: by the mean distance on the axes, and categories differ or do not", "[insight]") {
  Table table;
  table.Add(1), table.Put();
  table.Add(1), table.configuration[0] = 0.1, table.Put();  // a quarter of one axis
  table.Add(1), table.configuration[2] = std::string("b|c"),
                table.Put();  // another category, and decay missing
  table.Add(1), table.Put();
  const auto nearest = Nearest(table.columns, 0, 2);
  REQUIRE(nearest.size() == 2);
  CHECK(nearest[0] == std::pair<double, uint32_t>(0, 3));
  CHECK(nearest[1].second == 1);
  CHECK(nearest[1].first == Approx(0.25 / 5));
  CHECK(Distance(table.columns, 0, 2) == Approx(0.2));
}

TEST_CASE("ParetoFront: those that no other betters, and without a value never", "[insight]") {
  const std::vector<Outcome> jobs = {{0.8, 100, 100}, {0.7, 40, 120}, {0.7, 50, 120}, {std::nullopt, 1, 1}};
  CHECK(ParetoFront(jobs, Goal::kMaximize) == std::vector<bool>{true, true, false, false});
  CHECK(ParetoFront(jobs, Goal::kMinimize) == std::vector<bool>{true, true, false, false});
  const std::vector<Outcome> equal = {{0.5, 1, 1}, {0.5, 1, 1}};
  CHECK(ParetoFront(equal, Goal::kMaximize) == std::vector<bool>{true, true});
}

}  // namespace
}  // namespace winnow

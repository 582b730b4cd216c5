#include "insight/objective_points.h"

#include <algorithm>
#include <set>

#include "scheduler/space/random.h"
#include "tests/catch.h"
#include "tests/insight/sample.h"

namespace winnow {
namespace {

SearchSpec TwoObjectives() {
  SearchSpec spec = SampleSpec();
  spec.objectives = {{"auc", Goal::kMaximize, {}}, {"latency", Goal::kMinimize, {}}};
  spec.objective_value = ObjectiveValue::kLast;
  spec.metric_constraints = {{"size", {}, 10.0}};
  return spec;
}

struct Drawn {
  Drawn() : spec(TwoObjectives()), columns(spec) {}
  void Add(double auc, double latency, double violation = 0, TrialPhase phase = TrialPhase::kCompleted) {
    TrialEntry entry;
    entry.number = static_cast<TrialNumber>(columns.size()) + 1;
    entry.phase = phase;
    entry.configuration = &configuration;
    entry.best = auc;
    entry.metrics = {auc, latency, 5};
    entry.violation = violation;
    columns.Put(entry);
  }
  SearchSpec spec;
  TrialColumns columns;
  Configuration configuration = {0.01, int64_t{2}, std::string("a"), 2.0, Inactive{}};
};

TEST_CASE("Objective points: the front is the feasible trials that none dominates", "[insight]") {
  Drawn table;
  table.Add(0.7, 5);
  table.Add(0.8, 9);
  table.Add(0.69, 6);      // dominated by the first
  table.Add(0.9, 1, 0.5);  // infeasible
  table.Add(0.95, 1, 0, TrialPhase::kFailed);
  table.Add(kNone, 1);
  table.Add(0.71, 7, 0, TrialPhase::kRunning);  // runs, with its newest values
  CHECK(FrontMarks(table.columns, table.spec.objectives) == std::vector<uint8_t>{1, 1, 0, 0, 0, 0, 1});
}

TEST_CASE("Objective points: of many trials the front and an even choice of the others are drawn",
          "[insight]") {
  Drawn table;
  constexpr uint64_t kTrials = 3000;
  for (uint64_t i = 0; i < kTrials; ++i) {
    const double x = RandomUnit(1, static_cast<TrialNumber>(i), Purpose::kSimulation, 0);
    const double y = RandomUnit(1, static_cast<TrialNumber>(i), Purpose::kSimulation, 1);
    table.Add(x, y + 0.2 * x);
  }
  table.Add(0.5, kNone);
  const std::vector<uint8_t> front = FrontMarks(table.columns, table.spec.objectives);
  const auto members = std::count(front.begin(), front.end(), 1);
  REQUIRE(members > 3);
  const std::vector<uint8_t> all(table.columns.size(), 1);
  const ObjectiveRows drawn = RowsToDraw(table.columns, all, front, 1, 0, 200);
  CHECK(drawn.count == kTrials);
  CHECK(drawn.rows.size() == 200);
  CHECK(std::set<uint32_t>(drawn.rows.begin(), drawn.rows.end()).size() == 200);
  for (int64_t i = 0; i < members; ++i) CHECK(front[drawn.rows[i]] == 1);
  for (size_t i = static_cast<size_t>(members); i < drawn.rows.size(); ++i) CHECK(front[drawn.rows[i]] == 0);
  // Filters choose what is drawn, not what the front is.
  std::vector<uint8_t> marked(table.columns.size(), 0);
  marked[7] = marked[12] = 1;
  CHECK(RowsToDraw(table.columns, marked, front, 1, 0, 200).rows.size() == 2);
  CHECK(RowsToDraw(table.columns, all, front, 1, 0, 2).rows.size() == 2);
}

}  // namespace
}  // namespace winnow

#include "insight/importance.h"

#include "scheduler/space/random.h"
#include "tests/catch.h"
#include "tests/insight/sample.h"

namespace winnow {
namespace {

double Draw(int64_t trial, uint64_t what) { return RandomUnit(17, trial, Purpose::kSimulation, what); }

// Trials whose value is that of `objective` of booster is b|c, decay and rate (on its axis).
Table Sample(int trials, const std::function<double(bool, double, double)>& objective) {
  Table table;
  for (int i = 0; i < trials; ++i) {
    const bool other = Draw(i, 0) < 0.5;
    const double rate = Draw(i, 1), decay = Draw(i, 2);
    table.Add(objective(other, decay, rate));
    table.configuration[0] = std::pow(10, -4 + 4 * rate);
    table.configuration[1] = int64_t{1 + static_cast<int64_t>(Draw(i, 3) * 4)};
    table.configuration[2] = std::string(other ? "b|c" : "a");
    if (other) table.configuration[4] = decay;
    table.Put();
  }
  return table;
}

ForestTask OwnTask(const Table& table) {
  LevelScores own;
  own.level = kOwnLevels;
  return MakeForestTask(table.columns, table.All(), own, 1);
}

constexpr size_t kRate = 0, kBooster = 2, kDecay = 4;

TEST_CASE("Importance: a conditional hyperparameter counts only where it is active", "[insight]") {
  // Over the cube the value is on average 0 under one booster and 1/2 under the other; decay moves it by 1/4
  // on average over both, and its interaction with the booster has as much of the variance.
  const Table table =
      Sample(2000, [](bool other, double decay, double) { return other ? 0.25 + decay / 2 : 0; });
  const ForestTask task = OwnTask(table);
  const ForestAnswer answer = Solve(task, [] { return false; });
  const double booster = 0.5 * 0.5 / 4, decay = 0.25 * 0.25 / 12, both = decay, all = booster + decay + both;
  CHECK(answer.fanova.singles[kBooster].mean == Approx(booster / all).margin(0.06));
  CHECK(answer.fanova.singles[kDecay].mean == Approx(decay / all).margin(0.04));
  CHECK(answer.fanova.singles[kRate].mean < 0.02);
  CHECK(answer.note == "Not active in every trial, and counted as without effect there: decay.");
}

TEST_CASE("Importance: of many trials some are taken, which is said", "[insight]") {
  const Table table = Sample(5000, [](bool, double, double rate) { return rate; });
  const ForestTask task = OwnTask(table);
  CHECK(task.scored == 5000);
  CHECK(task.data.y.size() == 2048);
  CHECK(task.note.find("Of 5000 trials 2048 were taken") != std::string::npos);
  const ForestAnswer answer = Solve(task, [] { return false; });
  CHECK(answer.fanova.singles[kRate].mean > 0.95);
  const MarginalCurve curve = MarginalAlong(task, answer.forest, kRate, 48);
  REQUIRE(curve.position.size() == 48);
  for (size_t i = 4; i < 44; ++i) CHECK(curve.objective[i].mean == Approx(curve.position[i]).margin(0.05));
}

TEST_CASE("Importance: trials that diverged do not count by how far", "[insight]") {
  const Table table =
      Sample(1000, [](bool, double decay, double rate) { return decay > 0.99 ? 1e12 : rate; });
  const ForestTask task = OwnTask(table);
  CHECK(task.note.find("are far worse than the others") != std::string::npos);
  const ForestAnswer answer = Solve(task, [] { return false; });
  CHECK(answer.fanova.singles[kRate].mean > 0.1);
}

TEST_CASE("Importance: says why it says nothing", "[insight]") {
  const auto note = [](const Table& table) {
    const ForestAnswer answer = Solve(OwnTask(table), [] { return false; });
    CHECK(answer.fanova.varied == 0);
    return answer.note;
  };
  CHECK(note(Sample(9, [](bool, double decay, double) { return decay; })) ==
        "Too few trials have a value: 9, at least 10 are needed.");
  CHECK(note(Sample(100, [](bool, double, double) { return 2; })) == "All trials have the same value.");
  CHECK(note(Sample(0, {})).find("Too few") == 0);
}

TEST_CASE("Importance: trials are compared at one level, or it says what is mixed", "[insight]") {
  // The rate decides at level 9, which half of the trials reach; those that do not are worse by far, by their
  // decay.
  Table table;
  std::vector<Curve> curves;
  for (int i = 0; i < 400; ++i) {
    const double rate = Draw(i, 1), decay = Draw(i, 2);
    const bool far = i % 2 == 0;
    curves.push_back({{1, 10 + 5 * decay}});
    if (far) curves.back().push_back({9, rate});
    table.Add(curves.back().back().value);
    table.entry.resource = far ? 9 : 1;
    table.configuration[0] = std::pow(10, -4 + 4 * rate);
    table.configuration[2] = std::string("b|c");
    table.configuration[4] = decay;
    table.Put();
  }
  const std::vector<uint8_t> settled = table.All();
  const LevelScores at_nine = CompareAtLevel(curves, table.All(), settled, false, 0);
  const ForestTask task = MakeForestTask(table.columns, table.All(), at_nine, 1);
  CHECK(task.level == 9);
  CHECK(task.scored == 200);
  CHECK(task.levels == std::vector<int64_t>{1, 9});
  CHECK(Solve(task, [] { return false; }).fanova.singles[kRate].mean > 0.9);
  const ForestTask mixed = OwnTask(table);
  CHECK(mixed.scored == 400);
  CHECK(mixed.note.find("trained to 1 to 9 units") != std::string::npos);
  CHECK(Solve(mixed, [] { return false; }).fanova.singles[kRate].mean < 0.3);
  // A level that too few have reached is named.
  const LevelScores at_ten = CompareAtLevel(curves, table.All(), settled, false, 10);
  CHECK(MakeForestTask(table.columns, table.All(), at_ten, 1).note ==
        "Too few trials have a value at level 10: 0, at least 10 are needed.");
}

TEST_CASE("Importance: marginals of categories, integers and discrete values lie at these", "[insight]") {
  const Table table = Sample(500, [](bool other, double, double) { return other ? 1 : 3; });
  const ForestTask task = OwnTask(table);
  const ForestAnswer answer = Solve(task, [] { return false; });
  const MarginalCurve booster = MarginalAlong(task, answer.forest, kBooster, 48);
  REQUIRE(booster.position == std::vector<double>{0.25, 0.75});
  CHECK(booster.objective[0].mean == Approx(3).margin(0.1));
  CHECK(booster.objective[1].mean == Approx(1).margin(0.1));
  CHECK(MarginalAlong(task, answer.forest, 1, 48).position.size() == 4);
  CHECK(MarginalAlong(task, answer.forest, 3, 48).position.size() == 3);
}

}  // namespace
}  // namespace winnow

#include "insight/importance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "insight/even_choice.h"
#include "scheduler/space/random.h"

namespace winnow {
namespace {

// A fit of this many points takes a few tenths of a second; more points change the shares by less than the
// trees differ.
constexpr size_t kMostPoints = 2048;
constexpr size_t kFewestPoints = 10;
constexpr size_t kFew = 50;
// A score this many interquartile ranges beyond the upper quartile is of a diverged trial; its size is
// meaningless and would dominate the variance.
constexpr double kDiverged = 10;
// Separates these draws from those of the job's own models, which use the job's seed.
constexpr uint64_t kSeed = 0x696e7369676874;

// Clips diverged scores to the edge of the others; returns their number.
size_t Cap(std::vector<double>& y, Goal goal) {
  std::vector<double> cost = y;
  if (goal == Goal::kMaximize) {
    for (double& value : cost) value = -value;
  }
  std::vector<double> sorted = cost;
  std::sort(sorted.begin(), sorted.end());
  const double lower = sorted[sorted.size() / 4], upper = sorted[sorted.size() * 3 / 4];
  const double edge = upper + kDiverged * (upper - lower);
  if (!(edge > upper)) return 0;
  size_t capped = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    if (cost[i] <= edge) continue;
    y[i] = goal == Goal::kMaximize ? -edge : edge;
    ++capped;
  }
  return capped;
}

// Returns each category's position: by the mean score of its points; those without points are last.
std::vector<double> CategoryPlaces(const std::vector<double>& category, const std::vector<double>& y,
                                   size_t count) {
  std::vector<double> sums(count), counts(count);
  for (size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(category[i])) continue;
    sums[static_cast<size_t>(category[i])] += y[i];
    ++counts[static_cast<size_t>(category[i])];
  }
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (counts[a] == 0 || counts[b] == 0) return counts[a] > 0 && counts[b] == 0;
    return sums[a] / counts[a] < sums[b] / counts[b];
  });
  std::vector<double> places(count);
  for (size_t i = 0; i < count; ++i)
    places[order[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
  return places;
}

// Returns the greatest integer of the axis not above `unit` of the search space, or the least integer.
double IntegerAt(const AxisScale& axis, double unit) {
  double low = axis.min(), high = axis.max();
  while (high - low > 1) {
    const double middle = std::floor(low + (high - low) / 2);
    if (middle <= low || middle >= high) break;  // too large to be distinguished
    (axis.UnitOf(middle) <= unit ? low : high) = middle;
  }
  return low;
}

// Places along a hyperparameter's axis: rising positions as drawn, and the same in the forest's cube.
struct Places {
  std::vector<double> positions, units;
};

Places PlacesOf(const ForestTask& task, size_t dimension, size_t most) {
  const AxisScale& axis = task.axes[dimension];
  Places places;
  const auto add = [&](double number, double unit) {
    places.positions.push_back(axis.PositionOf(number));
    places.units.push_back(unit);
  };
  if (axis.categorical()) {
    for (size_t i = 0; i < axis.values().size(); ++i)
      add(static_cast<double>(i), task.category_places[dimension][i]);
  } else if (axis.discrete()) {
    for (const double number : axis.numbers()) add(number, axis.UnitOf(number));
  } else if (axis.integer() && axis.max() - axis.min() < static_cast<double>(most)) {
    for (double number = axis.min(); number <= axis.max(); ++number) add(number, axis.UnitOf(number));
  } else {
    double last = axis.min() - 1;
    for (size_t i = 0; i < most; ++i) {
      const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(most);
      if (!axis.integer()) {
        places.positions.push_back(place);
        places.units.push_back(place);
      } else if (const double number = IntegerAt(axis, place); number > last) {
        add(number, axis.UnitOf(number));
        last = number;
      }
    }
  }
  return places;
}

void Say(std::string& note, const std::string& sentence) { note += (note.empty() ? "" : " ") + sentence; }

}  // namespace

std::vector<double> ScoresAt(const TrialColumns& columns, const LevelScores& compared) {
  std::vector<double> scores = columns.Scores();
  if (compared.level == kOwnLevels) return scores;
  // A failed trial has no score, whatever it reported. A trial newer than the levels has no known score
  // there.
  for (size_t row = 0; row < scores.size(); ++row) {
    const bool known = !std::isnan(scores[row]) && row < compared.scores.size();
    scores[row] = known ? compared.scores[row] : std::numeric_limits<double>::quiet_NaN();
  }
  return scores;
}

ForestTask MakeForestTask(const TrialColumns& columns, const std::vector<uint8_t>& marked,
                          const LevelScores& compared, uint64_t seed) {
  ForestTask task;
  task.level = compared.level;
  task.levels = compared.levels;
  task.level_trials = compared.level_trials;
  const std::vector<double> scores = ScoresAt(columns, compared);
  task.axes = columns.axes();
  task.seed = seed ^ kSeed;
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < marked.size(); ++row) {
    if (marked[row] != 0 && std::isfinite(scores[row])) rows.push_back(row);
  }
  task.scored = rows.size();
  if (rows.size() < kFewestPoints) {
    const std::string where = compared.level > 0 ? " at level " + std::to_string(compared.level) : "";
    task.note = "Too few trials have a value" + where + ": " + std::to_string(rows.size()) + ", at least " +
                std::to_string(kFewestPoints) + " are needed.";
    return task;
  }
  if (rows.size() > kMostPoints) {
    Say(task.note, "Of " + std::to_string(rows.size()) + " trials " + std::to_string(kMostPoints) +
                       " were taken, evenly by their number.");
    rows = ChooseEvenly(rows, kMostPoints);
  }
  for (const uint32_t row : rows) task.data.y.push_back(scores[row]);
  const auto [least, greatest] = std::minmax_element(task.data.y.begin(), task.data.y.end());
  if (*least == *greatest) {
    task.note = "All trials have the same value.";
    return task;
  }
  if (compared.level == kOwnLevels) {
    const auto at = [&](uint32_t a, uint32_t b) { return columns.resource[a] < columns.resource[b]; };
    const auto [low, high] = std::minmax_element(rows.begin(), rows.end(), at);
    if (columns.resource[*low] != columns.resource[*high]) {
      Say(task.note, "Values at different levels are compared: the trials were trained to " +
                         std::to_string(columns.resource[*low]) + " to " +
                         std::to_string(columns.resource[*high]) + " units.");
    }
  }
  if (rows.size() < kFew) Say(task.note, "Few trials: the result is uncertain.");
  if (const size_t capped = Cap(task.data.y, columns.goal()); capped > 0) {
    Say(task.note, std::to_string(capped) + " trials are far worse than the others and were clipped.");
  }
  std::string conditional;
  for (size_t i = 0; i < task.axes.size(); ++i) {
    const AxisScale& axis = task.axes[i];
    std::vector<double> numbers;
    for (const uint32_t row : rows) numbers.push_back(columns.number[i][row]);
    task.category_places.push_back(axis.categorical()
                                       ? CategoryPlaces(numbers, task.data.y, axis.values().size())
                                       : std::vector<double>());
    bool is_conditional = false;
    std::vector<double>& x = task.data.x.emplace_back();
    for (size_t point = 0; point < rows.size(); ++point) {
      const double number = numbers[point];
      if (std::isnan(number)) {
        is_conditional = true;
        x.push_back(RandomUnit(task.seed, rows[point] + 1, Purpose::kModel, (uint64_t{1} << 32) + i));
      } else {
        x.push_back(axis.categorical() ? task.category_places[i][static_cast<size_t>(number)]
                                       : axis.UnitOf(number));
      }
    }
    if (is_conditional) conditional += (conditional.empty() ? "" : ", ") + axis.name();
  }
  if (!conditional.empty()) {
    Say(task.note, "Not active in every trial, and counted as without effect there: " + conditional + ".");
  }
  task.enough = true;
  return task;
}

ForestAnswer Solve(const ForestTask& task, const std::function<bool()>& gone) {
  ForestAnswer answer;
  answer.note = task.note;
  if (!task.enough) return answer;
  ForestOptions options;
  options.seed = task.seed;
  answer.forest = Forest::Fit(task.data, options, gone);
  answer.fanova = Analyse(answer.forest, gone);
  if (answer.fanova.varied == 0) Say(answer.note, "The forest finds no difference between the trials.");
  return answer;
}

MarginalCurve MarginalAlong(const ForestTask& task, const Forest& forest, size_t dimension, size_t most) {
  if (forest.trees().empty()) return {};
  Places places = PlacesOf(task, dimension, most);
  return {std::move(places.positions), Marginal(forest, dimension, places.units)};
}

MarginalSurface MarginalOver(const ForestTask& task, const Forest& forest, size_t x, size_t y, size_t most) {
  if (forest.trees().empty()) return {};
  Places of_x = PlacesOf(task, x, most), of_y = PlacesOf(task, y, most);
  return {std::move(of_x.positions), std::move(of_y.positions),
          JointMarginal(forest, y, of_y.units, x, of_x.units)};
}

}  // namespace winnow

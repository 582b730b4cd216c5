#include "insight/levels.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "insight/even_choice.h"

namespace winnow {
namespace {

constexpr size_t kMostOffered = 12;
constexpr int64_t kWantedTrials = 20;
constexpr int64_t kWantedPart = 3;

// Returns the last levels of the curves of the set rows, rising. If there are too many, selects some with
// about equal numbers of trials between neighbours.
std::vector<int64_t> TopLevels(const std::vector<Curve>& curves, const std::vector<uint8_t>& rows) {
  std::vector<int64_t> tops;
  for (size_t row = 0; row < curves.size() && row < rows.size(); ++row) {
    if (rows[row] != 0 && !curves[row].empty()) tops.push_back(curves[row].back().resource);
  }
  std::sort(tops.begin(), tops.end());
  std::vector<int64_t> levels;
  std::unique_copy(tops.begin(), tops.end(), std::back_inserter(levels));
  if (levels.size() <= kMostOffered) return levels;
  levels = ChooseEvenly(tops, kMostOffered);
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  return levels;
}

}  // namespace

double ValueAtLevel(const Curve& curve, int64_t level, bool mean) {
  constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
  if (curve.empty() || curve.back().resource < level || curve.front().resource > level) return kNoValue;
  const auto end = std::upper_bound(curve.begin(), curve.end(), level,
                                    [](int64_t at, const CurvePoint& point) { return at < point.resource; });
  if (!mean) return std::prev(end)->value;
  double sum = 0;
  for (auto point = curve.begin(); point != end; ++point) sum += point->value;
  return sum / static_cast<double>(end - curve.begin());
}

LevelScores CompareAtLevel(const std::vector<Curve>& curves, const std::vector<uint8_t>& marked,
                           const std::vector<uint8_t>& settled, bool mean, int64_t asked) {
  LevelScores answer;
  std::vector<uint8_t> both(marked.size());
  for (size_t row = 0; row < both.size(); ++row) both[row] = marked[row] & settled[row];
  answer.levels = TopLevels(curves, both);
  if (answer.levels.empty()) answer.levels = TopLevels(curves, marked);

  const size_t known = std::min(curves.size(), marked.size());
  answer.level_trials.resize(answer.levels.size());
  for (size_t row = 0; row < known; ++row) {
    for (size_t i = 0; marked[row] != 0 && i < answer.levels.size(); ++i) {
      if (std::isfinite(ValueAtLevel(curves[row], answer.levels[i], mean))) ++answer.level_trials[i];
    }
  }
  answer.level = asked;
  if (asked == kOwnLevels || (asked == 0 && answer.levels.empty())) return answer;
  if (asked == 0) {
    const int64_t all = *std::max_element(answer.level_trials.begin(), answer.level_trials.end());
    const int64_t wanted = std::min(all, std::max(kWantedTrials, (all + kWantedPart - 1) / kWantedPart));
    for (size_t i = 0; i < answer.levels.size(); ++i) {
      if (answer.level_trials[i] >= wanted) answer.level = answer.levels[i];
    }
  }
  answer.scores.resize(known);
  for (size_t row = 0; row < known; ++row) answer.scores[row] = ValueAtLevel(curves[row], answer.level, mean);
  return answer;
}

}  // namespace winnow

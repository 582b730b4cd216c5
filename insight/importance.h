#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "insight/fanova.h"
#include "insight/levels.h"
#include "insight/trial_columns.h"

namespace winnow {

// The data for a forest of a job's trials: their scores over the unit cube of the search space. An inactive
// hyperparameter gets a random position, so that it explains nothing there: the analysed function of all
// hyperparameters does not depend on inactive ones. Categories are ordered by mean score, so that one cut can
// separate better from worse.
struct ForestTask {
  ForestData data;
  std::vector<AxisScale> axes;
  std::vector<std::vector<double>>
      category_places;                // by dimension, then category: its position on the forest's axis
  size_t scored = 0;                  // trials available
  int64_t level = kOwnLevels;         // the level of the comparison
  std::vector<int64_t> levels;        // as in LevelScores
  std::vector<int64_t> level_trials;  // as in LevelScores
  uint64_t seed = 0;
  std::string note;     // a remark on the above; "": none
  bool enough = false;  // for a meaningful forest; otherwise `note` gives the reason
};

// Returns each row's value in the comparison; NaN: none.
std::vector<double> ScoresAt(const TrialColumns& columns, const LevelScores& compared);

// Uses the marked rows with a finite score at the level, or their own. If there are more than a forest needs,
// chooses evenly by number.
ForestTask MakeForestTask(const TrialColumns& columns, const std::vector<uint8_t>& marked,
                          const LevelScores& compared, uint64_t seed);

// A forest and its results.
struct ForestAnswer {
  Forest forest{0, {}};
  Fanova fanova;
  std::string note;
};
ForestAnswer Solve(const ForestTask& task, const std::function<bool()>& gone);

// The forest's prediction along a hyperparameter's axis, at rising positions of the drawn axis
// (AxisScale::PositionOf): each value if there are at most `most`, otherwise equally spaced positions. Empty
// without trees.
struct MarginalCurve {
  std::vector<double> position;
  std::vector<Share> objective;
};
MarginalCurve MarginalAlong(const ForestTask& task, const Forest& forest, size_t dimension, size_t most);

// The forest's prediction over the axes of two different hyperparameters, at places as of MarginalAlong.
struct MarginalSurface {
  std::vector<double> x, y;      // positions
  std::vector<Share> objective;  // y.size() rows of x.size()
};
MarginalSurface MarginalOver(const ForestTask& task, const Forest& forest, size_t x, size_t y, size_t most);

}  // namespace winnow

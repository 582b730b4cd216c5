#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "insight/fanova.h"
#include "insight/levels.h"
#include "insight/trial_columns.h"

namespace winnow {

// What a forest of a job's trials is fitted to: their scores over the unit cube of its search space. A
// hyperparameter that is not active takes a place of its axis at random, so that it explains nothing there:
// what is analysed is a function of all hyperparameters that does not depend on those that are not active.
// Categories stand in the order of their mean score, so that one cut can part the better from the worse.
struct ForestTask {
  ForestData data;
  std::vector<AxisScale> axes;
  std::vector<std::vector<double>>
      category_places;                // by dimension, then category: its place on the forest's axis
  size_t scored = 0;                  // trials that could have been taken
  int64_t level = kOwnLevels;         // at which they are compared
  std::vector<int64_t> levels;        // as in LevelScores
  std::vector<int64_t> level_trials;  // as in LevelScores
  uint64_t seed = 0;
  std::string note;     // what is to be known of the above; "": nothing
  bool enough = false;  // for a forest that says anything; else `note` says why
};

// By row, what the trial counts in the comparison; NaN: nothing.
std::vector<double> ScoresAt(const TrialColumns& columns, const LevelScores& compared);

// Of the marked rows that have a finite score, which is theirs at a level, or their own. Evenly chosen by
// number where there are more than a forest needs.
ForestTask MakeForestTask(const TrialColumns& columns, const std::vector<uint8_t>& marked,
                          const LevelScores& compared, uint64_t seed);

// A forest and what it says.
struct ForestAnswer {
  Forest forest{0, {}};
  Fanova fanova;
  std::string note;
};
ForestAnswer Solve(const ForestTask& task, const std::function<bool()>& gone);

// What the forest predicts along the axis of a hyperparameter: places of the axis as it is drawn
// (AxisScale::PositionOf), rising: each value if there are no more than `most`, else even places. Empty
// without trees.
struct MarginalCurve {
  std::vector<double> position;
  std::vector<Share> objective;
};
MarginalCurve MarginalAlong(const ForestTask& task, const Forest& forest, size_t dimension, size_t most);

}  // namespace winnow

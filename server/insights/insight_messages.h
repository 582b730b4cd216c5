#pragma once

#include <cstddef>

#include "insight/axis_scale.h"
#include "scheduler/state/job_state.h"
#include "server/insights/forests.h"
#include "winnow/v1/insight.pb.h"

namespace winnow {

// Rounds a position on an axis to six digits: finer than any screen, and several times faster to write than
// seventeen.
double Rounded(double position);

void Fill(const AxisScale& axis, v1::Axis& message);
v1::Importance ToProto(const SolvedForest& forest);
// Adds the forest's prediction along the hyperparameter.
void FillMarginal(const SolvedForest& forest, size_t dimension, v1::Slice& slice);
// Adds the forest's prediction over hyperparameters `x` and `y`, at most `cells` places along each, and its
// note.
void FillSurface(const SolvedForest& forest, size_t x, size_t y, size_t cells, v1::Contour& contour);

}  // namespace winnow

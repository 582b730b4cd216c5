#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler/models/gaussian_process.h"

namespace winnow {

// What a new point adds to the hypervolume of a front, where more is better in every objective. The part of
// space that is better than a reference point in every objective and that no point of the front covers is
// divided into boxes, so that what independent normal values add is a sum over boxes of products over
// objectives (Emmerich et al. 2006; Daulton et al. 2020, equation 7, for one point): exact, without sampling.
// The number of boxes grows with the front's size to the power of the number of objectives less one.
class HypervolumeImprovement {
 public:
  // Points that are not better than the reference in every objective take no part. REQUIRES finite numbers,
  // at least one objective, and points as long as `reference`.
  HypervolumeImprovement(const std::vector<std::vector<double>>& front, std::vector<double> reference);

  // The logarithm of the expected improvement of independent normal values, one for each objective, stable
  // where the improvement underflows. With one objective it is LogExpectedImprovement over the best.
  double LogExpected(const std::vector<Prediction>& values) const;
  // The same with its derivatives by the means and the variances.
  double LogExpected(const std::vector<Prediction>& values, Eigen::VectorXd& by_mean,
                     Eigen::VectorXd& by_variance) const;
  // The chance that the values lie in one of the boxes: that they add anything.
  double Chance(const std::vector<Prediction>& values) const;

  size_t boxes() const { return boxes_.size(); }

 private:
  static constexpr size_t kMostObjectives = 4;
  // Indices of edges_, by objective.
  struct Box {
    int32_t low[kMostObjectives] = {};
    int32_t high[kMostObjectives] = {};
  };
  // The sum over the boxes of the products, over objectives, of `above` at the box's low edge less `above` at
  // its high edge. It may underflow.
  template <typename Above>
  double SumOverBoxes(const std::vector<Prediction>& values, const Above& above) const;
  // LogExpected as a sum of logarithms, which does not.
  double LogExpectedOfTails(const std::vector<Prediction>& values) const;
  // Divides what the points leave free in the first `objectives` coordinates; the others are those of `box`.
  void Divide(const std::vector<std::vector<double>>& points, size_t objectives, Box box);
  int32_t EdgeAt(size_t objective, double value) const;

  std::vector<std::vector<double>> edges_;  // by objective, rising: the reference, coordinates, infinity
  std::vector<Box> boxes_;
};

}  // namespace winnow

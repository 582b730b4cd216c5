#include "scheduler/samplers/indifference.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "scheduler/models/quantile.h"
#include "scheduler/space/identical.h"

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

// The largest difference of a coordinate, if it is below `bound`; otherwise any value that is not below it.
double LargestDifference(const VectorXd& a, const VectorXd& b, const std::vector<Column>& columns,
                         double bound) {
  double most = 0;
  for (Index j = 0; j < a.size() && most < bound; ++j) {
    if (std::isnan(a[j]) != std::isnan(b[j])) return 1;
    if (std::isnan(a[j]) || a[j] == b[j]) continue;
    most = std::max(most, columns[static_cast<size_t>(j)].categories > 0 ? 1 : std::abs(a[j] - b[j]));
  }
  return most;
}

// Whether the two curves are the same as far as both go.
bool SameStart(const Curve& a, const Curve& b) {
  const size_t both = std::min(a.size(), b.size());
  return std::equal(a.begin(), a.begin() + static_cast<int64_t>(both), b.begin(),
                    [](const auto& x, const auto& y) { return Identical(x, y); });
}

}  // namespace

Indifference::Indifference(const JobState& state, const UnitPoints& points) : points_(points) {
  // One of several objectives may well be the same for neighbours.
  if (state.spec().has_several_objectives()) return;
  std::vector<const TrialState*> trials;
  for (auto trial = state.trials().rbegin(); trial != state.trials().rend(); ++trial) {
    if (trials.size() == kMostTrials) break;
    const bool unplaced = state.ranges_changed() && !points.known().Holds(trial->configuration);
    if (!trial->curve.empty() && !unplaced) trials.push_back(&*trial);
  }
  std::reverse(trials.begin(), trials.end());
  // Where all fails alike, being the same says nothing of where it matters: the better half counts.
  const double sign = state.spec().goal == Goal::kMaximize ? 1 : -1;
  std::vector<double> firsts;
  for (const TrialState* trial : trials) {
    if (std::isfinite(trial->curve[0].second)) firsts.push_back(sign * trial->curve[0].second);
  }
  const double middle = firsts.empty() ? 0 : Quantile(std::move(firsts), 0.5);
  std::vector<std::pair<double, bool>> nearest;  // distance of the nearest earlier trial; is it the same?
  for (const TrialState* trial : trials) {
    const VectorXd point = points.PointOf(trial->configuration);
    double least = 2;
    bool same = false;
    for (size_t i = 0; i < known_.size(); ++i) {
      const double distance = LargestDifference(point, known_[i], points.columns(), least);
      if (distance >= least) continue;
      least = distance;
      same = SameStart(trial->curve, trials[i]->curve);
    }
    if (!known_.empty() && sign * trial->curve[0].second > middle) nearest.emplace_back(least, same);
    known_.push_back(point);
  }
  std::sort(nearest.begin(), nearest.end());
  int pairs = 0;
  for (size_t i = 0; i < nearest.size(); ++i) {
    pairs += nearest[i].second ? 1 : 0;
    if (nearest[i].second && pairs >= kLeastPairs && 3 * static_cast<size_t>(pairs) >= i + 1)
      radius_ = nearest[i].first;
  }
}

bool Indifference::IsNearKnown(const VectorXd& point) const {
  return radius_ > 0 && std::any_of(known_.begin(), known_.end(), [&](const VectorXd& known) {
           return LargestDifference(point, known, points_.columns(), radius_) < radius_;
         });
}

}  // namespace winnow

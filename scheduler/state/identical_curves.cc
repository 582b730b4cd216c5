#include "scheduler/state/identical_curves.h"

#include <algorithm>
#include <cmath>

namespace winnow {

void IdenticalCurves::OnPart(const SearchSpec& spec, TrialNumber trial, const Configuration& configuration,
                             const Curve& curve) {
  if (differs_ || trials_.size() == kTrials || curve.empty()) return;
  const size_t common = std::min(curve.size(), longest_.size());
  const bool finite =
      std::all_of(curve.begin(), curve.end(), [](const auto& point) { return std::isfinite(point.second); });
  if (!finite ||
      !std::equal(curve.begin(), curve.begin() + common, longest_.begin(), Identical<Curve::Point>)) {
    differs_ = true;
    longest_ = {};
    configurations_.clear();
    return;
  }
  if (curve.size() > longest_.size()) longest_ = curve;
  // The number of nodes need not change what comes out.
  Configuration arguments = configuration;
  if (spec.nodes_parameter >= 0) arguments[spec.nodes_parameter] = Inactive{};
  const bool known = std::any_of(configurations_.begin(), configurations_.end(),
                                 [&arguments](const auto& other) { return Identical(other, arguments); });
  if (known) return;
  trials_.push_back(trial);
  configurations_.push_back(std::move(arguments));
}

}  // namespace winnow

#include "worker/gbdt/quantile_cuts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "worker/gbdt/fixed_point.h"

namespace winnow {
namespace {

// The sorted distinct values, or false once there are more than `most`. Quick for columns of few values.
bool FewDistinct(const std::vector<float>& column, std::size_t most, std::vector<float>* distinct) {
  float last = std::nanf("");
  for (const float value : column) {
    if (value == last || std::isnan(value)) continue;
    last = value;
    const auto at = std::lower_bound(distinct->begin(), distinct->end(), value);
    if (at != distinct->end() && *at == value) continue;
    if (distinct->size() == most) return false;
    distinct->insert(at, value + 0.0f);  // never -0
  }
  return true;
}

std::vector<std::pair<float, int64_t>> SortedWeights(const std::vector<float>& column,
                                                     const std::vector<float>& weight) {
  float heaviest = 1;
  if (!weight.empty()) heaviest = *std::max_element(weight.begin(), weight.end());
  const double scale = std::ldexp(1.0, ScaleExponent(heaviest, 31));
  std::vector<std::pair<float, int64_t>> sorted;
  sorted.reserve(column.size());
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (std::isnan(column[i])) continue;
    sorted.emplace_back(column[i] + 0.0f, weight.empty() ? 1 : static_cast<int64_t>(weight[i] * scale));
  }
  std::sort(sorted.begin(), sorted.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (kept > 0 && sorted[kept - 1].first == sorted[i].first)
      sorted[kept - 1].second += sorted[i].second;
    else
      sorted[kept++] = sorted[i];
  }
  sorted.resize(kept);
  return sorted;
}

}  // namespace

int FeatureCuts::BinOf(float value) const {
  return static_cast<int>(std::upper_bound(thresholds.begin(), thresholds.end(), value) - thresholds.begin());
}

FeatureCuts MakeCuts(const std::vector<float>& column, const std::vector<float>& weight, int max_bin) {
  FeatureCuts cuts;
  cuts.has_missing = std::any_of(column.begin(), column.end(), [](float v) { return std::isnan(v); });
  if (cuts.has_missing && max_bin == 256) --max_bin;
  std::vector<float> distinct;
  if (FewDistinct(column, static_cast<std::size_t>(max_bin), &distinct)) {
    if (!distinct.empty()) cuts.thresholds.assign(distinct.begin() + 1, distinct.end());
    return cuts;
  }
  const auto sorted = SortedWeights(column, weight);
  double remaining = 0;
  for (const auto& [value, w] : sorted) remaining += static_cast<double>(w);
  double in_bin = 0;
  int bins_left = max_bin;
  for (std::size_t i = 0; i + 1 < sorted.size() && bins_left > 1; ++i) {
    in_bin += static_cast<double>(sorted[i].second);
    // Close the bin where it is full, counting what is left anew so that heavy values do not starve the rest.
    if (in_bin * bins_left < remaining) continue;
    cuts.thresholds.push_back(sorted[i + 1].first);
    remaining -= in_bin;
    in_bin = 0;
    --bins_left;
  }
  return cuts;
}

std::vector<FeatureCuts> MakeCuts(const DataSet& data, int max_bin, ThreadPool* pool) {
  std::vector<FeatureCuts> cuts(data.columns.size());
  pool->Run(static_cast<int>(cuts.size()),
            [&](int f, int) { cuts[f] = MakeCuts(data.columns[f], data.weight, max_bin); });
  return cuts;
}

}  // namespace winnow

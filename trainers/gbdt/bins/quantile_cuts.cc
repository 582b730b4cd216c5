#include "trainers/gbdt/bins/quantile_cuts.h"

#include <algorithm>

#include "base/hash.h"
#include "trainers/gbdt/bins/cut_column.h"

namespace winnow::gbdt {

int FeatureCuts::bins() const {
  return categorical ? std::max(1, static_cast<int>(categories.size()))
                     : static_cast<int>(thresholds.size()) + 1;
}

int FeatureCuts::BinOf(float value) const {
  if (!categorical)
    return static_cast<int>(std::upper_bound(thresholds.begin(), thresholds.end(), value) -
                            thresholds.begin());
  const auto at =
      std::lower_bound(categories.begin(), categories.end(), value,
                       [](int32_t category, float v) { return static_cast<float>(category) < v; });
  const bool found = at != categories.end() && static_cast<float>(*at) == value;
  return found ? static_cast<int>(at - categories.begin()) : bins();
}

bool IsCutRow(int64_t row, int64_t all_rows) {
  constexpr uint64_t kPurpose = 0x637574726f7773;  // separates these draws from all others
  if (all_rows <= kCutRows) return true;
  const auto below = static_cast<uint64_t>((static_cast<unsigned __int128>(kCutRows) << 64) /
                                           static_cast<unsigned __int128>(all_rows));
  return HashOf(kPurpose, static_cast<uint64_t>(row)) < below;
}

FeatureCuts MakeCuts(const std::vector<float>& column, const std::vector<float>& weight, int max_bin) {
  const ColumnScan scan = ScanColumn(column, max_bin);
  if (scan.few && static_cast<int>(scan.keys.size()) <= MostBins(max_bin, scan.has_missing))
    return CutsOfEach(scan.keys, scan.has_missing);
  const float heaviest = weight.empty() ? 1 : *std::max_element(weight.begin(), weight.end());
  ColumnSample sample = SampleColumn(column, {}, WholeWeights(weight, {}, heaviest));
  return CutsOfSample(&sample, max_bin, scan.has_missing);
}

std::vector<FeatureCuts> MakeCuts(const DataSet& data, int max_bin, ThreadPool* pool) {
  const std::unique_ptr<Communicator> sole = MakeSoleRank();
  return MakeCuts(data, 0, data.rows, max_bin, pool, sole.get()).value();
}

}  // namespace winnow::gbdt

#include "worker/gbdt/sampling.h"

#include <algorithm>
#include <utility>

#include "worker/gbdt/hash.h"

namespace winnow {

std::vector<int> SampleColumns(const std::vector<int>& columns, double fraction, uint64_t seed,
                               ColumnDraw draw, uint64_t tree, uint64_t index) {
  if (fraction >= 1 || columns.size() <= 1) return columns;
  const std::size_t wanted =
      std::max<std::size_t>(1, static_cast<std::size_t>(fraction * static_cast<double>(columns.size())));
  const uint64_t key = HashOf(seed, static_cast<uint64_t>(draw), tree, index);
  std::vector<std::pair<uint64_t, int>> drawn;
  drawn.reserve(columns.size());
  for (int column : columns) drawn.emplace_back(HashOf(key, static_cast<uint64_t>(column)), column);
  std::nth_element(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(wanted) - 1, drawn.end());
  std::vector<int> chosen;
  for (std::size_t i = 0; i < wanted; ++i) chosen.push_back(drawn[i].second);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

bool RowIsDrawn(double fraction, uint64_t seed, uint64_t round, uint64_t row) {
  constexpr uint64_t kRowDraw = 4;
  const uint64_t bits = HashOf(HashOf(seed, kRowDraw, round), row) >> 11;
  return static_cast<double>(bits) * 0x1p-53 < fraction;
}

}  // namespace winnow

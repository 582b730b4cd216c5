#include "trainers/gbdt/tree/sampling.h"

#include <algorithm>
#include <utility>


namespace winnow::gbdt {
namespace {

constexpr uint64_t kRowDraw = 4;  // beside those of ColumnDraw

}  // namespace

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

RowDraw::RowDraw(double fraction, uint64_t seed, uint64_t draw)
    : mixed_key_(MixBits(HashOf(seed, kRowDraw, draw))),
      threshold_(static_cast<uint64_t>(fraction * 0x1p53)) {}

}  // namespace winnow::gbdt

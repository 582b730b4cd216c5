#include "trainers/data/sparse_column.h"

#include <algorithm>

namespace winnow {

float SparseColumn::ValueAt(int64_t row) const {
  const auto at = std::lower_bound(rows.begin(), rows.end(), row,
                                   [](uint32_t one, int64_t other) { return int64_t{one} < other; });
  return at == rows.end() || *at != row ? rest : values[static_cast<std::size_t>(at - rows.begin())];
}

std::pair<std::size_t, std::size_t> SparseColumn::EntriesOf(int64_t begin, int64_t end) const {
  const auto below = [](uint32_t one, int64_t other) { return int64_t{one} < other; };
  const auto first = std::lower_bound(rows.begin(), rows.end(), begin, below);
  const auto last = std::lower_bound(first, rows.end(), end, below);
  return {static_cast<std::size_t>(first - rows.begin()), static_cast<std::size_t>(last - rows.begin())};
}

}  // namespace winnow

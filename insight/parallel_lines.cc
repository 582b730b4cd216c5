#include "insight/parallel_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace winnow {
namespace {

constexpr int32_t kNoBin = -1;

}  // namespace

std::vector<int32_t> BinsOf(const std::vector<double>& positions, int bins) {
  std::vector<int32_t> found(positions.size(), kNoBin);
  for (size_t row = 0; row < positions.size(); ++row) {
    if (std::isnan(positions[row])) continue;
    found[row] = std::clamp(static_cast<int32_t>(positions[row] * bins), 0, bins - 1);
  }
  return found;
}

std::vector<BinCount> CountBins(const TrialColumns& columns, const std::vector<uint8_t>& marked,
                                const std::vector<int32_t>& left, const std::vector<int32_t>& right,
                                int bins) {
  struct Cell {
    int32_t count = 0;
    double best = std::numeric_limits<double>::quiet_NaN();
  };
  std::vector<Cell> grid(static_cast<size_t>(bins) * static_cast<size_t>(bins));
  for (size_t row = 0; row < marked.size(); ++row) {
    if (marked[row] == 0 || left[row] == kNoBin || right[row] == kNoBin) continue;
    Cell& cell = grid[static_cast<size_t>(left[row] * bins + right[row])];
    ++cell.count;
    const double score = columns.score(row);
    if (columns.Better(score, cell.best)) cell.best = score;
  }
  std::vector<BinCount> cells;
  for (int32_t i = 0; i < bins * bins; ++i) {
    const Cell& cell = grid[static_cast<size_t>(i)];
    if (cell.count > 0) cells.push_back({i / bins, i % bins, cell.count, cell.best});
  }
  return cells;
}

std::vector<double> ScorePositions(const std::vector<double>& scores, const AxisScale& axis) {
  std::vector<double> positions(scores.size());
  for (size_t row = 0; row < positions.size(); ++row) positions[row] = axis.PositionOf(scores[row]);
  return positions;
}

std::vector<uint32_t> BestRows(const TrialColumns& columns, const std::vector<uint8_t>& marked, size_t most) {
  std::vector<uint32_t> rows;
  const std::vector<uint32_t>& ranking = columns.Ranking();
  for (size_t i = 0; i < columns.ranked() && rows.size() < most; ++i) {
    if (marked[ranking[i]] != 0) rows.push_back(ranking[i]);
  }
  return rows;
}

}  // namespace winnow

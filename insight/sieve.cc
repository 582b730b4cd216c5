#include "insight/sieve.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "insight/even_choice.h"

namespace winnow {
namespace {

constexpr size_t kMostLevels = 12;

using CellKey = std::pair<int32_t, int32_t>;  // bracket, rung
struct Cell {
  SieveCellData data;
  std::vector<uint32_t> rows;  // by score
};

// Returns at most kMostLevels of the current levels of the marked rows, equally spaced on a logarithmic
// scale; includes the lowest.
std::vector<int64_t> LevelsOf(const TrialColumns& columns, const std::vector<uint8_t>& marked) {
  std::set<int64_t> all;
  for (size_t row = 0; row < marked.size(); ++row) {
    if (marked[row] != 0) all.insert(columns.resource[row]);
  }
  const std::vector<int64_t> levels(all.begin(), all.end());
  if (levels.size() <= kMostLevels) return levels;
  const auto at = [](int64_t level) { return std::log1p(static_cast<double>(std::max<int64_t>(level, 0))); };
  const double low = at(levels.front()), high = at(levels.back());
  std::vector<int64_t> chosen;
  for (size_t i = 0; i < kMostLevels; ++i) {
    const double wanted = low + (high - low) * static_cast<double>(i) / (kMostLevels - 1);
    auto found = std::lower_bound(levels.begin(), levels.end(), wanted - 1e-9,
                                  [&](int64_t level, double x) { return at(level) < x; });
    if (found == levels.end()) --found;
    if (chosen.empty() || *found > chosen.back()) chosen.push_back(*found);
  }
  return chosen;
}

// `rows` are sorted by score.
std::vector<uint32_t> Draw(const TrialColumns& columns, const std::vector<uint32_t>& rows, size_t count) {
  if (rows.size() <= count) return rows;
  if (count == 0) return {};
  const size_t top = (count + 3) / 4;
  std::vector<uint32_t> running, others;
  for (size_t i = top; i < rows.size(); ++i) {
    (columns.phase[rows[i]] == TrialPhase::kRunning ? running : others).push_back(rows[i]);
  }
  const std::vector<uint32_t> ran =
      ChooseEvenly(running, others.empty() ? count - top : (count - top + 1) / 2);
  const std::vector<uint32_t> rest = ChooseEvenly(others, count - top - ran.size());
  std::vector<uint8_t> is_drawn(columns.size());
  for (size_t i = 0; i < top; ++i) is_drawn[rows[i]] = 1;
  for (const uint32_t row : ran) is_drawn[row] = 1;
  for (const uint32_t row : rest) is_drawn[row] = 1;
  std::vector<uint32_t> drawn;
  for (const uint32_t row : rows) {
    if (is_drawn[row] != 0) drawn.push_back(row);
  }
  return drawn;
}

// Returns each cell's number of marks: half in equal parts, half in proportion to its remaining rows.
std::vector<size_t> Shares(const std::vector<const Cell*>& cells, size_t most) {
  std::vector<size_t> shares;
  size_t used = 0, left = 0;
  const size_t equal = std::max<size_t>(1, cells.empty() ? 1 : most / (2 * cells.size()));
  for (const Cell* cell : cells) {
    shares.push_back(std::min({equal, cell->rows.size(), most - used}));
    used += shares.back();
    left += cell->rows.size() - shares.back();
  }
  const size_t more = most - used;
  for (size_t i = 0; i < cells.size() && left > 0; ++i) {
    const size_t rest = cells[i]->rows.size() - shares[i];
    shares[i] += left <= more ? rest : rest * more / left;
  }
  return shares;
}

}  // namespace

std::vector<SieveCellData> MakeSieve(const TrialColumns& columns, const std::vector<uint8_t>& marked,
                                     const std::function<std::vector<int64_t>(int32_t)>& levels,
                                     size_t most_marks) {
  const std::vector<int64_t> own_levels = levels ? std::vector<int64_t>() : LevelsOf(columns, marked);
  std::map<CellKey, Cell> cells;
  const auto cell_at = [&](int32_t bracket, int32_t rung, int64_t resource) -> Cell& {
    Cell& cell = cells[{bracket, rung}];
    cell.data.bracket = bracket;
    cell.data.rung = rung;
    cell.data.resource = resource;
    return cell;
  };
  std::set<int32_t> brackets;
  for (size_t row = 0; row < marked.size(); ++row) {
    if (marked[row] != 0) brackets.insert(levels ? columns.bracket[row] : -1);
  }
  // Rungs without trials are cells too if trials have passed them.
  for (const int32_t bracket : brackets) {
    const std::vector<int64_t> of_bracket = levels ? levels(bracket) : own_levels;
    for (size_t r = 0; r < of_bracket.size(); ++r) cell_at(bracket, static_cast<int32_t>(r), of_bracket[r]);
  }
  for (const uint32_t row : columns.Ranking()) {
    if (marked[row] == 0) continue;
    int32_t bracket = -1, rung = 0;
    if (levels) {
      bracket = columns.bracket[row];
      rung = columns.rung[row];
    } else {
      const auto above = std::upper_bound(own_levels.begin(), own_levels.end(), columns.resource[row]);
      rung = static_cast<int32_t>(above - own_levels.begin()) - 1;
    }
    Cell& cell = cells[{bracket, rung}];
    cell.data.bracket = bracket;
    cell.data.rung = rung;
    ++cell.data.counts[static_cast<size_t>(columns.phase[row])];
    cell.rows.push_back(row);
  }
  // Highest rung first: the trials above a rung have passed it.
  int64_t above = 0;
  for (auto entry = cells.rbegin(); entry != cells.rend(); ++entry) {
    if (entry == cells.rbegin() || std::prev(entry)->first.first != entry->first.first) above = 0;
    entry->second.data.passed = above;
    above += static_cast<int64_t>(entry->second.rows.size());
  }
  std::vector<const Cell*> in_order;
  for (const auto& [key, cell] : cells) in_order.push_back(&cell);
  const std::vector<size_t> shares = Shares(in_order, most_marks);
  std::vector<SieveCellData> sieve;
  for (size_t i = 0; i < in_order.size(); ++i) {
    sieve.push_back(in_order[i]->data);
    sieve.back().marks = Draw(columns, in_order[i]->rows, shares[i]);
  }
  return sieve;
}

}  // namespace winnow

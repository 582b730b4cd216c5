#include "trainers/gbdt/tree/row_partition.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "trainers/gbdt/tree/kernels.h"

namespace winnow::gbdt {
namespace {

constexpr double kDivideTime = 0.8;  // ns per row
constexpr int64_t kBlock = 1 << 15;  // rows per task

}  // namespace

uint32_t* RowPartition::Room(int64_t most) {
  if (static_cast<int64_t>(rows_.size()) < most) {
    rows_.resize(most);
    spare_.resize(most);
  }
  return rows_.data();
}

void RowPartition::Start(int64_t count) { ranges_.assign(1, {0, count}); }

void RowPartition::Reset(std::span<const uint32_t> rows) {
  std::copy(rows.begin(), rows.end(), Room(static_cast<int64_t>(rows.size())));
  Start(static_cast<int64_t>(rows.size()));
}

void RowPartition::ResetToAll(int64_t count) {
  uint32_t* rows = Room(count);
  std::iota(rows, rows + count, 0u);
  Start(count);
}

int64_t RowPartition::Divide(const Cut& cut, const std::vector<uint8_t>& left, Range range) {
  const BinLayout& layout = matrix_.layout();
  const FeaturePlace& at = layout.features[cut.feature];
  uint32_t* rows = rows_.data() + range.begin;
  uint32_t* spare = spare_.data() + range.begin;
  if (at.sparse >= 0)
    return matrix_.sparse().Divide(at.sparse, left, at.default_bin, rows, spare, range.size());
  const int slot = layout.groups[at.group].slot;
  const Kernels& kernels = ChosenKernels();
  return matrix_.narrow()
             ? kernels.divide8(matrix_.Column<uint8_t>(slot), left.data(), rows, spare, range.size())
             : kernels.divide16(matrix_.Column<uint16_t>(slot), left.data(), rows, spare, range.size());
}

void RowPartition::Apply(const std::vector<Cut>& cuts, ThreadPool* pool) {
  struct Piece {
    std::size_t cut;
    Range range;
    int64_t left = 0;
  };
  std::vector<Piece> pieces;
  std::vector<std::vector<uint8_t>> tables;
  int64_t rows = 0;
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    const Range range = ranges_[cuts[c].node];
    rows += range.size();
    const bool sparse = matrix_.layout().features[cuts[c].feature].sparse >= 0;
    tables.push_back(sparse ? cuts[c].left_bins
                            : matrix_.layout().LeftTable(cuts[c].feature, cuts[c].left_bins));
    const int64_t block = pool->threads() == 1 ? std::max<int64_t>(range.size(), 1) : kBlock;
    for (int64_t at = range.begin; at < range.end; at += block)
      pieces.push_back({c, {at, std::min(range.end, at + block)}});
  }
  pool->Run(
      static_cast<int>(pieces.size()),
      [&](int p, int) {
        pieces[p].left = Divide(cuts[pieces[p].cut], tables[pieces[p].cut], pieces[p].range);
      },
      kDivideTime * static_cast<double>(rows));
  std::size_t p = 0;
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    const Range range = ranges_[cuts[c].node];
    // Joins the pieces: all right rows are in the spare memory while the left rows are moved together.
    uint32_t* to = rows_.data() + range.begin;
    uint32_t* aside = spare_.data() + range.begin;
    const bool whole = p < pieces.size() && pieces[p].cut == c && pieces[p].range.size() == range.size();
    for (; p < pieces.size() && pieces[p].cut == c; ++p) {
      if (whole) {
        to += pieces[p].left;
        continue;
      }
      const uint32_t* from = rows_.data() + pieces[p].range.begin;
      aside = std::copy(from + pieces[p].left, from + pieces[p].range.size(), aside);
      to = std::copy(from, from + pieces[p].left, to);
    }
    if (!whole) std::copy(spare_.data() + range.begin, aside, to);
    const int64_t middle = to - rows_.data();
    ranges_.resize(std::max<std::size_t>(ranges_.size(), cuts[c].left_node + 2));
    ranges_[cuts[c].left_node] = {range.begin, middle};
    ranges_[cuts[c].left_node + 1] = {middle, range.end};
  }
}

}  // namespace winnow::gbdt

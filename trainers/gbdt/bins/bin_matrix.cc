#include "trainers/gbdt/bins/bin_matrix.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace winnow::gbdt {
namespace {

constexpr int64_t kRowsPlacedAtOnce = 4096;  // rows per task

template <typename Bin>
struct OwnedBins {
  std::vector<Bin> by_row, by_column;
};

// Writes the numbers of rows [begin, end).
template <typename Bin>
void FillRows(const FeatureBins& bins, const BinLayout& layout, int64_t begin, int64_t end, int64_t rows,
              OwnedBins<Bin>* out) {
  std::vector<uint32_t> number(end - begin);
  const int64_t slots = static_cast<int64_t>(layout.slots.size());
  for (int64_t s = 0; s < slots; ++s) {
    std::fill(number.begin(), number.end(), 0u);
    for (int g : layout.slots[s].groups) {
      const uint32_t stride = static_cast<uint32_t>(layout.groups[g].stride);
      for (int f : layout.groups[g].features) {
        const FeaturePlace& at = layout.features[f];
        for (int64_t i = begin; i < end; ++i) {
          const int bin = bins[f][i];
          if (bin != at.default_bin) number[i - begin] += stride * static_cast<uint32_t>(at.GroupBin(bin));
        }
      }
    }
    for (int64_t i = begin; i < end; ++i) out->by_column[s * rows + i] = static_cast<Bin>(number[i - begin]);
    if (out->by_row.empty()) continue;
    for (int64_t i = begin; i < end; ++i) out->by_row[i * slots + s] = static_cast<Bin>(number[i - begin]);
  }
}

template <typename Bin>
BinMatrix::Storage Fill(const FeatureBins& bins, const BinLayout& layout, bool with_rows, int64_t rows,
                        ThreadPool* pool) {
  auto owned = std::make_shared<OwnedBins<Bin>>();
  owned->by_column.resize(layout.slots.size() * rows);
  if (with_rows) owned->by_row.resize(layout.slots.size() * rows);
  pool->Run(static_cast<int>((rows + kRowsPlacedAtOnce - 1) / kRowsPlacedAtOnce), [&](int block, int) {
    const int64_t begin = block * kRowsPlacedAtOnce;
    FillRows(bins, layout, begin, std::min(rows, begin + kRowsPlacedAtOnce), rows, owned.get());
  });
  const void* by_row = with_rows ? owned->by_row.data() : nullptr;
  const void* by_column = owned->by_column.data();
  return {by_row, by_column, rows, std::move(owned)};
}

std::vector<uint16_t> BinsOfFeature(const DataSet& data, int feature, const FeatureCuts& cuts) {
  const auto bin_of = [&cuts](float value) {
    return static_cast<uint16_t>(std::isnan(value) ? ValueBins(cuts) : cuts.BinOf(value));
  };
  const auto f = static_cast<std::size_t>(feature);
  if (data.StaysSparse(f)) return {};
  if (data.IsSparse(f)) {
    const SparseColumn& column = data.sparse[f];
    std::vector<uint16_t> bins(data.rows, bin_of(column.rest));
    for (std::size_t i = 0; i < column.rows.size(); ++i) bins[column.rows[i]] = bin_of(column.values[i]);
    return bins;
  }
  std::vector<uint16_t> bins(data.rows);
  for (int64_t i = 0; i < data.rows; ++i) bins[i] = bin_of(data.columns[f][i]);
  return bins;
}

BinMatrix Matrix(const DataSet& data, const FeatureBins& bins, const std::vector<FeatureCuts>& cuts,
                 BinLayout layout, bool with_rows, ThreadPool* pool) {
  const int64_t rows = data.rows;
  BinMatrix::Storage storage = layout.narrow() ? Fill<uint8_t>(bins, layout, with_rows, rows, pool)
                                               : Fill<uint16_t>(bins, layout, with_rows, rows, pool);
  SparseMatrix sparse;
  if (layout.has_sparse()) sparse = SparseMatrix::Of(data, cuts, layout, with_rows, pool);
  return BinMatrix(std::move(layout), rows, std::move(storage), std::move(sparse));
}

}  // namespace

FeatureBins BinsOf(const DataSet& data, const std::vector<FeatureCuts>& cuts, ThreadPool* pool) {
  FeatureBins bins(data.columns.size());
  pool->Run(static_cast<int>(bins.size()), [&](int f, int) { bins[f] = BinsOfFeature(data, f, cuts[f]); });
  return bins;
}

FeatureBins TakeBins(const std::vector<FeatureCuts>& cuts, ThreadPool* pool, DataSet* data) {
  FeatureBins bins(data->columns.size());
  pool->Run(static_cast<int>(bins.size()), [&](int f, int) {
    bins[f] = BinsOfFeature(*data, f, cuts[f]);
    std::vector<float>().swap(data->columns[f]);
  });
  return bins;
}

absl::StatusOr<BinMatrix> BinMatrix::OfTraining(const DataSet& data, const FeatureBins& bins,
                                                const std::vector<FeatureCuts>& cuts, Communicator* ranks,
                                                ThreadPool* pool) {
  absl::StatusOr<BinLayout> layout = SharedLayout(bins, cuts, data, ranks, pool);
  if (!layout.ok()) return layout.status();
  return Matrix(data, bins, cuts, *std::move(layout), true, pool);
}

BinMatrix BinMatrix::OfOther(const DataSet& data, const FeatureBins& bins,
                             const std::vector<FeatureCuts>& cuts, ThreadPool* pool) {
  return Matrix(data, bins, cuts, LoneLayout(cuts, data), false, pool);
}

BinMatrix BinMatrix::Part(int64_t begin, int64_t end) const {
  const int64_t size = narrow_ ? 1 : 2;
  Storage part = storage_;
  if (part.by_row != nullptr) part.by_row = static_cast<const char*>(part.by_row) + begin * slots() * size;
  part.by_column = static_cast<const char*>(part.by_column) + begin * size;
  return BinMatrix(layout_, end - begin, std::move(part), sparse_.From(begin));
}

int BinMatrix::BinOf(int64_t row, int feature) const {
  const FeaturePlace& at = layout_.features[feature];
  if (at.sparse >= 0) return sparse_.BinOf(at.sparse, row, at.default_bin);
  const FeatureGroup& group = layout_.groups[at.group];
  const int number = narrow_ ? Column<uint8_t>(group.slot)[row] : Column<uint16_t>(group.slot)[row];
  const int bin = number / group.stride % group.bins;
  if (at.default_bin < 0) return bin;
  const int marked = bin - at.first;  // of the feature's bins without the default one
  if (marked < 0 || marked >= at.bins() - 1) return at.default_bin;
  return marked + (marked >= at.default_bin ? 1 : 0);
}

}  // namespace winnow::gbdt

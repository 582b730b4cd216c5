#include "trainers/gbdt/bins/bin_matrix.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/trainers/gbdt/feature_histograms.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "trainers/gbdt/tree/row_partition.h"

namespace winnow::gbdt {
namespace {

int BinIn(const FeatureCuts& cuts, float value) {
  return std::isnan(value) ? cuts.bins() : cuts.BinOf(value);
}

// How many of a matrix's bins are not those of the values.
int WrongBins(const BinMatrix& matrix, const DataSet& data, const std::vector<FeatureCuts>& cuts,
              int64_t first = 0) {
  int wrong = 0;
  for (std::size_t f = 0; f < data.columns.size(); ++f) {
    for (int64_t i = 0; i < matrix.rows(); ++i)
      wrong += matrix.BinOf(i, static_cast<int>(f)) != BinIn(cuts[f], data.columns[f][first + i]);
  }
  return wrong;
}

// Each feature's histogram of a node must equal the plain count, for all shared slots.
void CheckHistograms(const DataSet& data, int max_bin) {
  const auto [cuts, matrix] = InBins(data, max_bin);
  CHECK(WrongBins(matrix, data, cuts) == 0);
  const HistogramShape shape(matrix.layout(), FirstNumbers(static_cast<int>(cuts.size())));
  std::vector<uint32_t> rows;
  for (int64_t i = 0; i < data.rows; ++i) {
    if (i % 3 != 0 || data.rows == 1) rows.push_back(static_cast<uint32_t>(i));
  }
  for (const bool narrow : {true, false}) {
    const FixedGradients gradients = NumberedGradients(data.rows, narrow);
    const BinSums expected = CountedSums(data, cuts, gradients, rows);
    const GradientSum total = TotalOf(gradients, rows);
    for (const bool packed : {true, false}) {
      if (packed && !narrow) continue;
      const Histogram histogram = CountedHistogram(matrix, shape, gradients, rows, packed);
      CHECK(SumsOfFeatures(matrix.layout(), shape, histogram, total) == expected);
    }
  }
}

TEST_CASE("Bins: a one-hot group shares one number a row", "[gbdt]") {
  const DataSet data = SampleData(500);
  const BinMatrix matrix = InBins(data, 256).matrix;
  const BinLayout& layout = matrix.layout();
  CHECK(matrix.narrow());
  CHECK(layout.features[3].group == layout.features[4].group);
  CHECK(layout.features[4].group == layout.features[5].group);
  CHECK(layout.groups[layout.features[3].group].bins == 4);
  // Nine whole numbers and the colours are one number too: 9 * 4 bins.
  CHECK(matrix.slots() == 3);
}

TEST_CASE("Bins: histograms lose nothing to shared slots", "[gbdt]") {
  CheckHistograms(SampleData(500), 256);
  CheckHistograms(SampleData(500), 16);
  CheckHistograms(SampleData(1000), 1000);  // two bytes a slot
}

TEST_CASE("Bins: features that meet in a row keep groups of their own", "[gbdt]") {
  DataSet data = SampleData(100);
  data.columns[3].assign(100, 0);
  data.columns[4].assign(100, 0);
  data.columns[3][50] = data.columns[4][50] = 1;
  const BinMatrix matrix = InBins(data, 256).matrix;
  CHECK(matrix.layout().features[3].group != matrix.layout().features[4].group);
  CheckHistograms(data, 256);
}

TEST_CASE("Bins: constant and all-missing columns, and one row", "[gbdt]") {
  DataSet data = SampleData(60);
  data.columns[0].assign(60, 5);
  data.columns[1].assign(60, std::nanf(""));
  CheckHistograms(data, 256);
  CheckHistograms(SampleData(1), 256);
}

TEST_CASE("Bins: other data, and parts of a matrix, have the bins of their values", "[gbdt]") {
  const DataSet train = SampleData(9000);
  DataSet other = SampleData(5000, 2, 7);
  for (int64_t i = 0; i < other.rows; i += 5) other.columns[0][i] = std::nanf("");  // as training never was
  other.columns[3].assign(5000, 1);
  other.columns[4].assign(5000, 1);
  ThreadPool pool(2);
  for (const int max_bin : {256, 1000}) {
    const auto [cuts, whole] = InBins(train, max_bin, &pool);
    CHECK(WrongBins(BinMatrix::OfOther(other, BinsOf(other, cuts, &pool), cuts, &pool), other, cuts) == 0);
    const BinMatrix part = whole.Part(4100, 8200);
    CHECK(part.rows() == 4100);
    CHECK(WrongBins(part, train, cuts, 4100) == 0);
    const int slot = part.slots() - 1;
    if (part.narrow())
      CHECK(part.Rows<uint8_t>()[slot] == part.Column<uint8_t>(slot)[0]);
    else
      CHECK(part.Rows<uint16_t>()[slot] == part.Column<uint16_t>(slot)[0]);
  }
}

TEST_CASE("Bins: a table says which side every row goes to", "[gbdt]") {
  const DataSet data = SampleData(300);
  ThreadPool pool(1);
  const auto [cuts, shared] = InBins(data, 256);
  for (const BinMatrix& matrix : {shared, BinMatrix::OfOther(data, BinsOf(data, cuts, &pool), cuts, &pool)}) {
    for (int f = 0; f < 6; ++f) {
      std::vector<uint8_t> left_bins(cuts[f].bins() + 1);
      for (std::size_t bin = 0; bin < left_bins.size(); ++bin) left_bins[bin] = HashOf(3, bin) % 2;
      const std::vector<uint8_t> left = matrix.layout().LeftTable(f, left_bins);
      const int slot = matrix.layout().groups[matrix.layout().features[f].group].slot;
      int wrong = 0;
      for (int64_t i = 0; i < data.rows; ++i) {
        const int number =
            matrix.narrow() ? matrix.Column<uint8_t>(slot)[i] : matrix.Column<uint16_t>(slot)[i];
        wrong += left[number] != left_bins[BinIn(cuts[f], data.columns[f][i])];
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("Bins: rows of a node stay together and ascending, with any number of threads", "[gbdt]") {
  const DataSet data = SampleData(100'000);
  ThreadPool one(1), three(3);
  const BinnedTable table = InBins(data, 256);
  const std::vector<FeatureCuts>& cuts = table.cuts;
  const BinMatrix& matrix = table.matrix;
  std::vector<uint32_t> rows(data.rows);
  for (int64_t i = 0; i < data.rows; ++i) rows[i] = static_cast<uint32_t>(i);
  const auto up_to = [&](int feature, int last_left, bool missing_left) {
    std::vector<uint8_t> left(cuts[feature].bins() + 1);
    std::fill(left.begin(), left.begin() + last_left + 1, uint8_t{1});
    left.back() = missing_left;
    return left;
  };
  for (ThreadPool* pool : {&one, &three}) {
    RowPartition partition(matrix);
    partition.Reset(rows);
    partition.Apply({{0, 1, 0, up_to(0, 100, false)}}, pool);
    partition.Apply({{1, 3, 2, up_to(2, 3, false)}, {2, 5, 1, up_to(1, 50, true)}}, pool);
    int64_t seen = 0;
    for (int node = 3; node <= 6; ++node) {
      seen += partition.count(node);
      const uint32_t* row = partition.rows(node);
      int wrong = 0;
      for (int64_t i = 0; i < partition.count(node); ++i) {
        const bool first_left = cuts[0].BinOf(data.columns[0][row[i]]) <= 100;
        const float gappy = data.columns[1][row[i]];
        const bool second_left = node <= 4 ? cuts[2].BinOf(data.columns[2][row[i]]) <= 3
                                           : std::isnan(gappy) || cuts[1].BinOf(gappy) <= 50;
        wrong +=
            first_left != (node <= 4) || second_left != (node % 2 == 1) || (i > 0 && row[i - 1] >= row[i]);
      }
      CHECK(wrong == 0);
    }
    CHECK(seen == data.rows);
  }
}

}  // namespace
}  // namespace winnow::gbdt

#include "worker/gbdt/bin_matrix.h"

#include <cmath>
#include <set>

#include "tests/catch.h"
#include "tests/worker/gbdt/sample_data.h"
#include "worker/gbdt/histogram.h"
#include "worker/gbdt/row_partition.h"

namespace winnow {
namespace {

int SlotBinOf(const BinMatrix& matrix, int64_t row, int slot) {
  const int64_t at = row * matrix.slots() + slot;
  return matrix.narrow() ? matrix.bytes()[at] : matrix.words()[at];
}

// Each feature's histogram of each node total must equal the plain count, whatever slots are shared.
void CheckHistograms(const DataSet& data, int max_bin, bool bundle) {
  ThreadPool pool(1);
  const std::vector<FeatureCuts> cuts = MakeCuts(data, max_bin, &pool);
  const BinMatrix matrix(data, cuts, bundle, &pool);
  FixedGradients gradients;
  std::vector<uint32_t> rows;
  GradientSum total;
  for (int64_t i = 0; i < data.rows; ++i) {
    gradients.rows.push_back({static_cast<int32_t>(i * 7 - 100), static_cast<int32_t>(i + 1)});
    if (i % 3 == 0) continue;
    rows.push_back(static_cast<uint32_t>(i));
    total += {gradients.rows[i].gradient, gradients.rows[i].hessian};
  }
  std::vector<int> all;
  for (std::size_t f = 0; f < data.columns.size(); ++f) all.push_back(static_cast<int>(f));
  const HistogramLayout layout(matrix, all);
  std::vector<GradientSum> histogram(layout.size()), scratch;
  AddToHistogram(matrix, layout, gradients, rows.data(), static_cast<int64_t>(rows.size()), histogram.data());
  for (int f : all) {
    const FeatureSlot& feature = matrix.features()[f];
    std::vector<GradientSum> expected(feature.bins());
    for (uint32_t row : rows) {
      const float value = data.columns[f][row];
      expected[std::isnan(value) ? feature.values : cuts[f].BinOf(value)] +=
          {gradients.rows[row].gradient, gradients.rows[row].hessian};
    }
    const GradientSum* bins = FeatureHistogram(feature, layout, histogram.data(), total, &scratch);
    CHECK(std::vector<GradientSum>(bins, bins + feature.bins()) == expected);
  }
}

TEST_CASE("Bins: a one-hot group shares one byte a row", "[gbdt]") {
  const DataSet data = SampleData(500);
  ThreadPool pool(1);
  const BinMatrix matrix(data, MakeCuts(data, 256, &pool), true, &pool);
  CHECK(matrix.slots() == 4);
  CHECK(matrix.narrow());
  CHECK(matrix.features()[3].slot == matrix.features()[4].slot);
  CHECK(matrix.features()[4].slot == matrix.features()[5].slot);
}

TEST_CASE("Bins: histograms lose nothing to shared slots", "[gbdt]") {
  CheckHistograms(SampleData(500), 256, true);
  CheckHistograms(SampleData(500), 256, false);
  CheckHistograms(SampleData(500), 16, true);
  CheckHistograms(SampleData(1000), 1000, true);  // two bytes a slot
}

TEST_CASE("Bins: features that meet in a row keep slots of their own", "[gbdt]") {
  DataSet data = SampleData(100);
  data.columns[3].assign(100, 0);
  data.columns[4].assign(100, 0);
  data.columns[3][50] = data.columns[4][50] = 1;
  ThreadPool pool(1);
  const BinMatrix matrix(data, MakeCuts(data, 256, &pool), true, &pool);
  CHECK(matrix.features()[3].slot != matrix.features()[4].slot);
  CheckHistograms(data, 256, true);
}

TEST_CASE("Bins: constant and all-missing columns, and one row", "[gbdt]") {
  DataSet data = SampleData(60);
  data.columns[0].assign(60, 5);
  data.columns[1].assign(60, std::nanf(""));
  CheckHistograms(data, 256, true);
  CheckHistograms(SampleData(1), 256, true);
}

TEST_CASE("Bins: a table says which side every row goes to", "[gbdt]") {
  const DataSet data = SampleData(300);
  ThreadPool pool(1);
  const std::vector<FeatureCuts> cuts = MakeCuts(data, 256, &pool);
  for (const bool bundle : {true, false}) {
    const BinMatrix matrix(data, cuts, bundle, &pool);
    for (const bool missing_left : {true, false}) {
      for (int f = 0; f < 6; ++f) {
        const int last_left = cuts[f].bins() / 2 - 1;
        const std::vector<uint8_t> left = matrix.LeftTable(f, last_left, missing_left);
        int wrong = 0;
        for (int64_t i = 0; i < data.rows; ++i) {
          const float value = data.columns[f][i];
          const bool expected = std::isnan(value) ? missing_left : cuts[f].BinOf(value) <= last_left;
          wrong += left[SlotBinOf(matrix, i, matrix.features()[f].slot)] != expected;
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("Bins: rows of a node stay together and ascending, with any number of threads", "[gbdt]") {
  const DataSet data = SampleData(100'000);
  ThreadPool one(1), three(3);
  const std::vector<FeatureCuts> cuts = MakeCuts(data, 256, &one);
  const BinMatrix matrix(data, cuts, true, &one);
  std::vector<uint32_t> rows(data.rows);
  for (int64_t i = 0; i < data.rows; ++i) rows[i] = static_cast<uint32_t>(i);
  for (ThreadPool* pool : {&one, &three}) {
    RowPartition partition(matrix);
    partition.Reset(rows);
    partition.Apply({{0, 1, 0, 100, false}}, pool);
    partition.Apply({{1, 3, 2, 3, false}, {2, 5, 1, 50, true}}, pool);
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
}  // namespace winnow

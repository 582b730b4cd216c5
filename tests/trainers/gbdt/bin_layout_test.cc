#include "trainers/gbdt/bins/bin_layout.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/hash.h"
#include "tests/catch.h"
#include "tests/trainers/gbdt/feature_histograms.h"

namespace winnow::gbdt {
namespace {

// Columns of random kinds: real, whole, rare, one-hot groups, constant, with and without missing values.
DataSet MixedTable(uint64_t seed, int64_t rows) {
  DataSet data;
  data.rows = rows;
  const auto draw = [&](uint64_t a, uint64_t b) { return HashOf(seed, a, b); };
  const auto column = [&](auto value) {
    const uint64_t f = data.columns.size();
    std::vector<float> values;
    const uint64_t gaps = draw(f, 1u << 30) % 3;  // none, a few, half
    for (int64_t i = 0; i < rows; ++i) {
      const uint64_t bits = draw(f, static_cast<uint64_t>(i));
      values.push_back(gaps > 0 && (bits >> 40) % (gaps == 1 ? 50 : 2) == 0
                           ? std::nanf("")
                           : static_cast<float>(value(bits)));
    }
    data.columns.push_back(std::move(values));
  };
  for (uint64_t i = 0; i < 12; ++i) {
    const uint64_t kind = draw(77, i) % 6;
    if (kind == 0) column([](uint64_t bits) { return static_cast<double>(bits % 100'003) - 5e4; });
    if (kind == 1) column([&](uint64_t bits) { return static_cast<double>(bits % (2 + i)); });
    if (kind == 2) column([](uint64_t bits) { return bits % 40 == 0 ? static_cast<double>(bits % 7) : 0.0; });
    if (kind == 3) column([](uint64_t) { return 4.0; });
    if (kind == 4) column([](uint64_t bits) { return bits % 3 == 0 ? -1.0 : static_cast<double>(bits % 5); });
    if (kind != 5) continue;
    const std::size_t first = data.columns.size(), levels = 2 + draw(78, i) % 9;
    data.columns.resize(first + levels, std::vector<float>(rows));
    for (int64_t row = 0; row < rows; ++row) data.columns[first + draw(79 + i, row) % levels][row] = 1;
  }
  for (std::size_t f = 0; f < data.columns.size(); ++f) data.feature_names.push_back("f" + std::to_string(f));
  return data;
}

void CheckShape(const BinLayout& layout) {
  std::set<int> seen;
  for (const BinSlot& slot : layout.slots) {
    int product = 1;
    for (int g : slot.groups) {
      CHECK(layout.groups[g].stride == product);
      product *= layout.groups[g].bins;
      for (int f : layout.groups[g].features) seen.insert(f);
      if (layout.groups[g].features.size() > 1) CHECK(layout.groups[g].bins <= 256);
    }
    CHECK(slot.bins == product);
    if (slot.groups.size() > 1) CHECK(slot.bins <= 256);
  }
  CHECK(seen.size() == layout.features.size());
}

TEST_CASE("Layout: any feature's histogram comes back from the slots', packed and wide", "[gbdt]") {
  ThreadPool pool(2);
  int joint = 0, shared = 0;
  for (uint64_t seed = 0; seed < 25; ++seed) {
    const DataSet data = MixedTable(seed, 50 + static_cast<int64_t>(HashOf(seed, 1) % 600));
    for (const int max_bin : {2, 16, 256, 1000}) {
      const auto [cuts, matrix] = InBins(data, max_bin, &pool);
      CheckShape(matrix.layout());
      for (const BinSlot& slot : matrix.layout().slots) joint += slot.groups.size() > 1;
      for (const FeatureGroup& group : matrix.layout().groups) shared += group.features.size() > 1;
      std::vector<uint32_t> rows;
      for (int64_t i = 0; i < data.rows; ++i) {
        if (HashOf(seed, 2, static_cast<uint64_t>(i)) % 4 != 0) rows.push_back(static_cast<uint32_t>(i));
      }
      const FixedGradients gradients = NumberedGradients(data.rows, true);
      const BinSums expected = CountedSums(data, cuts, gradients, rows);
      const HistogramShape shape(matrix.layout(), FirstNumbers(static_cast<int>(cuts.size())));
      for (const bool packed : {true, false}) {
        const Histogram histogram = CountedHistogram(matrix, shape, gradients, rows, packed);
        INFO("seed " << seed << ", max_bin " << max_bin << ", packed " << packed);
        CHECK(SumsOfFeatures(matrix.layout(), shape, histogram, TotalOf(gradients, rows)) == expected);
      }
    }
  }
  CHECK(joint > 50);
  CHECK(shared > 50);
}

TEST_CASE("Layout: features of few bins are digits of one number", "[gbdt]") {
  DataSet data;
  data.rows = 2000;
  for (uint64_t f = 0; f < 9; ++f) {
    data.columns.emplace_back();
    for (uint64_t i = 0; i < 2000; ++i) data.columns[f].push_back(static_cast<float>(HashOf(f, i) % 2));
  }
  const BinMatrix matrix = InBins(data, 256).matrix;
  REQUIRE(matrix.slots() == 2);  // 2^8 bins, and 2
  CHECK(matrix.layout().slots[0].bins == 256);
  CHECK(matrix.layout().slots[0].groups.size() == 8);
}

TEST_CASE("Layout: constant features take no room", "[gbdt]") {
  DataSet data;
  data.rows = 300;
  for (int f = 0; f < 5; ++f) data.columns.emplace_back(300, 1.5f);
  for (int i = 0; i < 300; ++i) data.columns[2][i] = static_cast<float>(i % 250);
  const BinMatrix matrix = InBins(data, 256).matrix;
  CHECK(matrix.slots() == 1);
  CHECK(matrix.layout().slots[0].bins == 250);
}

TEST_CASE("Layout: one feature of more than 256 bins makes all slots of two bytes", "[gbdt]") {
  DataSet data;
  data.rows = 3000;
  data.columns.resize(2);
  for (int i = 0; i < 3000; ++i) {
    data.columns[0].push_back(static_cast<float>(i));
    data.columns[1].push_back(static_cast<float>(i % 200));
  }
  const BinMatrix matrix = InBins(data, 3000).matrix;
  CHECK_FALSE(matrix.narrow());
  CHECK(matrix.layout().most_bins() == 3000);
  const HistogramShape shape(matrix.layout(), {0, 1});
  CHECK(shape.pad() >= 3000);
  CHECK(HistogramShape(matrix.layout(), {1}).slots() == 1);
}

TEST_CASE("Layout: tables with lone slots have a missing bin for every feature", "[gbdt]") {
  const DataSet data = MixedTable(3, 200);
  const std::vector<FeatureCuts> cuts = InBins(data, 256).cuts;
  const BinLayout layout = LoneLayout(cuts, data);
  CheckShape(layout);
  CHECK(layout.slots.size() == cuts.size());
  for (const FeaturePlace& feature : layout.features) CHECK(feature.bins() == feature.values + 1);
}

}  // namespace
}  // namespace winnow::gbdt

// Cuts are independent of the rows' distribution over ranks.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/hash.h"
#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/trainers/collective/run_ranks.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "trainers/gbdt/bins/quantile_cuts.h"

namespace winnow::gbdt {
namespace {

using AllCuts = std::vector<FeatureCuts>;

float Uniform(uint64_t purpose, int64_t row) {
  return static_cast<float>(HashOf(purpose, static_cast<uint64_t>(row)) >> 40) / 16777216.0f;
}

// Every kind of column there is; `weighted` gives weights, of which every fifth is 0.
DataSet ManyKinds(int64_t rows, bool weighted) {
  const auto value = [](int column, int64_t i) -> float {
    const float u = Uniform(column, i), nan = std::nanf("");
    switch (column) {
      case 0:
        return u * 8 - 4;
      case 1:
        return u < 0.3f ? nan : std::exp(u * 20 - 10);
      case 2:
        return std::floor(u * 40);  // few
      case 3:
        return i % 1000 == 7 ? std::floor(u * 50000) : 0;  // nearly constant
      case 4:
        return nan;
      case 5:
        return 3;
      case 6:
        return std::floor(u * 30) * 2;  // categories
      case 7:
        return i % 2 == 0 ? -0.0f : 0.0f;
      case 8:
        return (u - 0.5f) * (i % 2 == 0 ? std::numeric_limits<float>::denorm_min() * 100000 : 3e38f);
      default:
        return static_cast<float>(i % 7) * (i == 3 ? nan : 1);
    }
  };
  DataSet data;
  data.rows = rows;
  data.columns.assign(10, std::vector<float>(rows));
  data.categorical.assign(10, false);
  data.categorical[6] = true;
  for (int c = 0; c < 10; ++c) {
    data.feature_names.push_back("f" + std::to_string(c));
    for (int64_t i = 0; i < rows; ++i) data.columns[c][i] = value(c, i);
  }
  for (int64_t i = 0; weighted && i < rows; ++i) data.weight.push_back(i % 5 == 0 ? 0 : Uniform(20, i) * 3);
  return data;
}

// The cuts that each of `ranks` gets; the second one has no rows, the others unequal parts.
std::vector<AllCuts> CutsOfRanks(const DataSet& all, int ranks, int max_bin) {
  std::vector<int64_t> begins = {0};
  for (int r = 0; r < ranks; ++r)
    begins.push_back(r == 1 ? begins.back() : begins.back() + (all.rows - begins.back()) / (r % 3 + 2));
  begins.back() = all.rows;
  return RunRanks(ranks, [&](Communicator* communicator) {
    const int64_t begin = begins[communicator->rank()], end = begins[communicator->rank() + 1];
    const DataSet mine = RowsOf(all, begin, end);
    ThreadPool pool(communicator->rank() % 2 + 1);
    auto cuts = MakeCuts(mine, begin, all.rows, max_bin, &pool, communicator);
    return cuts.ok() ? *cuts : AllCuts();
  });
}

TEST_CASE("Cuts: the same on any number of ranks", "[gbdt]") {
  const int64_t rows = GENERATE(1, 20, 5000);
  const bool weighted = GENERATE(false, true);
  const int max_bin = GENERATE(2, 16, 256, 65536);
  CAPTURE(rows, weighted, max_bin);
  const DataSet data = ManyKinds(rows, weighted);
  ThreadPool pool(2);
  const AllCuts one = MakeCuts(data, max_bin, &pool);
  for (const int ranks : {2, 3, 4, 8}) {
    for (const AllCuts& cuts : CutsOfRanks(data, ranks, max_bin)) CHECK(cuts == one);
  }
}

TEST_CASE("Cuts: of many rows some are drawn, the same on any number of ranks", "[gbdt]") {
  const bool weighted = GENERATE(false, true);
  DataSet data = ManyKinds(700000, weighted);
  ThreadPool pool(1);
  const AllCuts one = MakeCuts(data, 64, &pool);
  for (const int ranks : {2, 3}) {
    for (const AllCuts& cuts : CutsOfRanks(data, ranks, 64)) CHECK(cuts == one);
  }
  // Bins of the first column, which is uniform, hold about equally many rows; few values are all seen.
  REQUIRE(one[0].bins() == 64);
  if (!weighted) {
    for (int b = 0; b < 63; ++b) CHECK(one[0].thresholds[b] == Approx(-4 + (b + 1) / 8.0).margin(0.01));
  }
  CHECK(one[2].bins() == 40);
}

TEST_CASE("Cuts: of up to 2^19 rows all count, as for a column alone", "[gbdt]") {
  const bool weighted = GENERATE(false, true);
  const DataSet data = ManyKinds(6000, weighted);
  ThreadPool pool(1);
  const AllCuts cuts = MakeCuts(data, 256, &pool);
  for (const int column : {0, 1, 2, 3, 4, 5, 7, 8, 9})
    CHECK(cuts[column] == MakeCuts(data.columns[column], data.weight, 256));
}

TEST_CASE("Cuts: the draw of rows depends on nothing but their numbers", "[gbdt]") {
  int64_t drawn = 0;
  for (int64_t row = 0; row < 4 * kCutRows; ++row) drawn += IsCutRow(row, 4 * kCutRows);
  CHECK(std::abs(drawn - kCutRows) < 4 * 700);  // four standard deviations
  CHECK(IsCutRow(kCutRows - 1, kCutRows));
}

TEST_CASE("Cuts: bins of a categorical feature are its categories", "[gbdt]") {
  DataSet data;
  data.rows = 6;
  data.feature_names = {"colour"};
  data.columns = {{5, 2, std::nanf(""), 2, 9, 5}};
  data.categorical = {true};
  ThreadPool pool(1);
  const FeatureCuts cuts = MakeCuts(data, 2, &pool)[0];
  CHECK(cuts.categorical);
  CHECK(cuts.has_missing);
  CHECK(cuts.categories == std::vector<int32_t>{2, 5, 9});
  CHECK(cuts.bins() == 3);
  CHECK(cuts.BinOf(2) == 0);
  CHECK(cuts.BinOf(9) == 2);
  CHECK(cuts.BinOf(4) == 3);
  CHECK(cuts.BinOf(10) == 3);
}

TEST_CASE("Cuts: what is no category is refused at all ranks", "[gbdt]") {
  DataSet data = ManyKinds(30, false);
  data.columns[6][29] = 1.5f;  // a row of rank 1
  const auto messages = RunRanks(2, [&](Communicator* communicator) {
    const int64_t begin = communicator->rank() * 15;
    const DataSet mine = RowsOf(data, begin, begin + 15);
    ThreadPool pool(1);
    return MessageOf(MakeCuts(mine, begin, 30, 256, &pool, communicator).status());
  });
  const std::string mistake = "feature f6: 1.5 is no category: expected a whole number from 0";
  CHECK(messages == std::vector<std::string>{"rank 1: " + mistake, mistake});
}

TEST_CASE("Cuts: weights of groups count for their rows", "[gbdt]") {
  DataSet grouped = ManyKinds(1000, false);
  grouped.group_begin = {0, 300, 1000};
  grouped.weight = {1, 4};
  DataSet plain = grouped;
  plain.group_begin = {};
  plain.weight.assign(1000, 4);
  std::fill(plain.weight.begin(), plain.weight.begin() + 300, 1.0f);
  ThreadPool pool(1);
  CHECK(MakeCuts(grouped, 32, &pool) == MakeCuts(plain, 32, &pool));
}

}  // namespace
}  // namespace winnow::gbdt

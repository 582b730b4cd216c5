#include "trainers/gbdt/tree/sampling.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/catch.h"

namespace winnow::gbdt {
namespace {

std::vector<int> Columns(int count) {
  std::vector<int> columns(count);
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}

TEST_CASE("Sampling: a fraction of the columns, rounded down, but at least one", "[gbdt]") {
  const auto size = [](int count, double fraction) {
    return SampleColumns(Columns(count), fraction, 1, ColumnDraw::kTree, 0, 0).size();
  };
  CHECK(size(59, 0.5) == 29);
  CHECK(size(59, 0.8) == 47);
  CHECK(size(59, 1) == 59);
  CHECK(size(59, 0) == 1);
  CHECK(size(59, 1e-9) == 1);
  CHECK(size(3, 0.3) == 1);
  CHECK(size(1, 0) == 1);
}

TEST_CASE("Sampling: draws are ascending, differ by what they are for, and reach every column", "[gbdt]") {
  const auto draw = [](uint64_t seed, ColumnDraw kind, uint64_t tree, uint64_t index) {
    return SampleColumns(Columns(40), 0.25, seed, kind, tree, index);
  };
  const std::vector<int> first = draw(1, ColumnDraw::kTree, 0, 0);
  CHECK(std::is_sorted(first.begin(), first.end()));
  CHECK(first == draw(1, ColumnDraw::kTree, 0, 0));
  CHECK(first != draw(2, ColumnDraw::kTree, 0, 0));
  CHECK(first != draw(1, ColumnDraw::kLevel, 0, 0));
  CHECK(first != draw(1, ColumnDraw::kTree, 1, 0));
  CHECK(first != draw(1, ColumnDraw::kTree, 0, 1));
  std::vector<int> counts(40);
  for (uint64_t tree = 0; tree < 400; ++tree) {
    for (int column : draw(1, ColumnDraw::kTree, tree, 0)) ++counts[column];
  }
  // 400 draws of a quarter: 100 expected for each column, standard deviation below 9.
  CHECK(*std::min_element(counts.begin(), counts.end()) > 60);
  CHECK(*std::max_element(counts.begin(), counts.end()) < 140);
}

TEST_CASE("Sampling: rows are drawn by their number alone, in the wanted share", "[gbdt]") {
  const RowDraw now(0.3, 5, 0), next(0.3, 5, 1), other_seed(0.3, 6, 0), all(1, 5, 0), none(0, 5, 0);
  int drawn = 0, both = 0, both_seeds = 0, wrong = 0;
  for (uint64_t row = 0; row < 20'000; ++row) {
    wrong += !all.Takes(row) + none.Takes(row);
    drawn += now.Takes(row);
    both += now.Takes(row) && next.Takes(row);
    both_seeds += now.Takes(row) && other_seed.Takes(row);
  }
  CHECK(wrong == 0);
  CHECK(drawn == Approx(6000).margin(300));
  CHECK(both == Approx(1800).margin(200));
  CHECK(both_seeds == Approx(1800).margin(200));
}

}  // namespace
}  // namespace winnow::gbdt

#include "trainers/data/split.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"

namespace winnow {
namespace {

DataSet Counted(int64_t rows) {
  DataSet data;
  data.rows = rows;
  data.feature_names = {"row", "twice"};
  data.columns.resize(2);
  for (int64_t row = 0; row < rows; ++row) {
    data.columns[0].push_back(static_cast<float>(row));
    data.columns[1].push_back(static_cast<float>(2 * row));
    data.label.push_back(static_cast<float>(row % 2));
    data.weight.push_back(static_cast<float>(row % 7));
  }
  return data;
}

TEST_CASE("Split: every row goes to one part, whole and in order", "[data]") {
  const auto parts = SplitByFraction(Counted(10000), 0.2, 42);
  REQUIRE(parts.ok());
  int64_t next[2] = {0, 0};
  const DataSet* const part[2] = {&parts->first, &parts->second};
  CHECK(part[0]->rows + part[1]->rows == 10000);
  for (int64_t row = 0; row < 10000; ++row) {
    const size_t first_at = static_cast<size_t>(next[0]);
    const bool in_first = next[0] < part[0]->rows && part[0]->columns[0][first_at] == static_cast<float>(row);
    const DataSet& data = *part[in_first ? 0 : 1];
    const size_t at = static_cast<size_t>(next[in_first ? 0 : 1]++);
    REQUIRE(data.columns[0].at(at) == static_cast<float>(row));
    REQUIRE(data.columns[1][at] == static_cast<float>(2 * row));
    REQUIRE(data.label[at] == static_cast<float>(row % 2));
    REQUIRE(data.weight[at] == static_cast<float>(row % 7));
  }
  CHECK(part[1]->feature_names == part[0]->feature_names);
}

TEST_CASE("Split: the share is the fraction, within the spread of chance", "[data]") {
  for (const double fraction : {0.01, 0.1, 0.5, 0.9}) {
    const auto parts = SplitByFraction(Counted(20000), fraction, 7);
    REQUIRE(parts.ok());
    const double deviation = std::sqrt(20000 * fraction * (1 - fraction));
    CHECK(std::abs(static_cast<double>(parts->second.rows) - 20000 * fraction) < 4 * deviation);
  }
}

TEST_CASE("Split: depends on the seed and the row's number only", "[data]") {
  const auto some = SplitByFraction(Counted(1000), 0.3, 1), more = SplitByFraction(Counted(2000), 0.3, 1),
             other = SplitByFraction(Counted(1000), 0.3, 2);
  REQUIRE((some.ok() && more.ok() && other.ok()));
  const std::vector<float>&few = some->second.columns[0], &many = more->second.columns[0];
  CHECK(std::vector<float>(many.begin(), many.begin() + static_cast<std::ptrdiff_t>(few.size())) == few);
  CHECK(other->second.columns[0] != few);
}

TEST_CASE("Split: a fraction that must leave a part empty is refused", "[data]") {
  for (const double fraction : {0.0, 1.0, -0.1, 1.5, std::nan("")}) {
    const auto parts = SplitByFraction(Counted(100), fraction, 1);
    REQUIRE_FALSE(parts.ok());
    CHECK_THAT(std::string(parts.status().message()), Catch::Matchers::Contains("validation_fraction"));
  }
}

TEST_CASE("Split: a part without rows is refused if no rank has any for it", "[data]") {
  const auto parts = SplitByFraction(Counted(1), 0.5, 1);
  REQUIRE(parts.ok());
  CHECK(parts->first.rows + parts->second.rows == 1);
  CHECK(parts->first.columns.size() == 2);
  CHECK(parts->second.columns.size() == 2);
  CHECK(CheckParts(0.5, 1, 1).ok());
  CHECK(std::string(CheckParts(0.5, 1, 0).message()) ==
        "validation_fraction 0.5 leaves 0 of 1 rows for validation; expected at least one row in each part");
  CHECK_FALSE(CheckParts(0.5, 0, 1).ok());
}

}  // namespace
}  // namespace winnow

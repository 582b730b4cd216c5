#include <ctime>

#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"
#include "trainers/data/reader.h"

namespace winnow {
namespace {

TEST_CASE("Csv: 30,000 rows of 60 columns are read at once", "[data]") {
  DataFolder folder;
  std::string text = "y";
  for (int column = 1; column < 60; ++column) text += ",f" + std::to_string(column);
  for (int row = 0; row < 30000; ++row) {
    text += "\n" + std::to_string(row % 2);
    for (int column = 1; column < 60; ++column) {
      text += "," + (column % 3 ? std::to_string(row % 100) : std::to_string(row * 0.37));
    }
  }
  const std::string path = folder.Write("big.csv", text);
  const std::clock_t start = std::clock();
  const absl::StatusOr<DataSet> data = ReadDataSet(path, {}, nullptr);
  const double milliseconds =
      1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;  // of processor time
  REQUIRE(data.ok());
  CHECK(data->rows == 30000);
  CHECK(data->columns.size() == 59);
  INFO("read in " << milliseconds << " ms");
  // 50 in a release build; this bound is for debug builds with sanitizers.
  CHECK(milliseconds < 1000);
}

}  // namespace
}  // namespace winnow

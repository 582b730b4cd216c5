#include <ctime>

#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"
#include "trainers/data/reader.h"

namespace winnow {
namespace {

// Seconds of processor time that it takes to read a table of so many rows of 60 columns.
double SecondsToRead(const DataFolder& folder, int rows) {
  std::string text = "y";
  for (int column = 1; column < 60; ++column) text += ",f" + std::to_string(column);
  for (int row = 0; row < rows; ++row) {
    text += "\n" + std::to_string(row % 2);
    for (int column = 1; column < 60; ++column) {
      text += "," + (column % 3 ? std::to_string(row % 100) : std::to_string(row * 0.37));
    }
  }
  const std::string path = folder.Write("big.csv", text);
  const std::clock_t start = std::clock();
  const absl::StatusOr<DataSet> data = ReadDataSet(path, {}, nullptr);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  REQUIRE(data.ok());
  CHECK(data->rows == rows);
  CHECK(data->columns.size() == 59);
  return seconds;
}

TEST_CASE("Csv: four times the rows take less than eight times the processor time", "[data]") {
  const DataFolder folder;
  const double few = SecondsToRead(folder, 10'000), many = SecondsToRead(folder, 40'000);
  INFO("read in " << few << " s and " << many << " s");
  CHECK(many < 8 * few);
}

}  // namespace
}  // namespace winnow

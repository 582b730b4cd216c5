#include <algorithm>

#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"
#include "trainers/data/csv_cells.h"
#include "trainers/data/reader.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;

// A table of many chunks and several windows, with texts that contain line ends; `last` is an additional last
// line.
std::string LargeTable(const std::string& last) {
  std::string text = "y,q,a,note,late,b\n";
  for (int row = 0; text.size() < 20 * kChunkBytes; ++row) {
    const std::string number = std::to_string(row);
    text += std::to_string(row % 3) + "," + std::to_string(row / 7) + "," + number + ".25,\"n\n" +
            std::to_string(row % 5) + "\"\"\",7," + (row % 11 == 0 ? "NA" : "-" + number) + "\n";
  }
  return text + last;
}

bool SameTable(const DataSet& a, const DataSet& b) {
  if (a.columns.size() != b.columns.size()) return false;
  for (size_t i = 0; i < a.columns.size(); ++i) {
    if (!Same(a.columns[i], b.columns[i])) return false;
  }
  return a.rows == b.rows && a.label == b.label && a.group_begin == b.group_begin &&
         a.feature_names == b.feature_names;
}

TEST_CASE("Csv: the table does not depend on the number of threads", "[data]") {
  DataFolder folder;
  DataOptions options = Label("y");
  options.group = "q";
  const std::string path = folder.Write("t.csv", LargeTable("2,x,1,\"n\",7,3\n1,x,1,\"n\",seven,3\n"));
  options.max_levels = 10;
  const absl::StatusOr<DataSet> broken = ReadDataSet(path, options, nullptr, 2);
  REQUIRE_FALSE(broken.ok());  // one text among so many numbers
  options.drop = {"late"};
  const absl::StatusOr<DataSet> one = ReadDataSet(path, options, nullptr, 1);
  INFO(one.status());
  REQUIRE(one.ok());
  CHECK(one->rows > 100000);
  CHECK(Feature(*one, "a")[77777] == 77777.25f);
  CHECK(Feature(*one, "note_n\n2\"")[77777] == 1);
  CHECK(one->group_begin[1001] == 7007);
  for (const int threads : {2, 3, 16}) {
    const absl::StatusOr<DataSet> many = ReadDataSet(path, options, nullptr, threads);
    REQUIRE(many.ok());
    CHECK(SameTable(*one, *many));
  }
}

TEST_CASE("Csv: an error far down names its line at any number of threads, and the first one", "[data]") {
  DataFolder folder;
  const std::string text = LargeTable("1,2\n1,\"open\n"), good = LargeTable("");
  const auto line = 1 + std::count(good.begin(), good.end(), '\n');
  for (const int threads : {1, 2, 5}) {
    const absl::StatusOr<DataSet> data =
        ReadDataSet(folder.Write("t.csv", text), Label("y"), nullptr, threads);
    REQUIRE_FALSE(data.ok());
    CHECK_THAT(std::string(data.status().message()),
               Contains("t.csv:" + std::to_string(line) + ": 2 fields found, expected 6"));
  }
}

TEST_CASE("Csv: a column whose first text comes late is a text column all the way", "[data]") {
  DataFolder folder;
  std::string text = "y,a\n";
  for (int row = 0; row < 600; ++row) text += "1," + std::to_string(row < 300 ? row % 4 : -1) + "\n";
  for (int row = 0; row < 50; ++row) text += "0,blue\n";
  const DataSet data = folder.Read(text);
  CHECK(data.feature_names == std::vector<std::string>{"a_-1", "a_0", "a_1", "a_2", "a_3", "a_blue"});
  CHECK(Feature(data, "a_2")[2] == 1);
  CHECK(Feature(data, "a_blue")[649] == 1);
}

TEST_CASE("Libsvm: neither the table nor an error's line depends on the number of threads", "[data]") {
  DataFolder folder;
  std::string text = "# a comment\n\n";
  int rows = 0;
  for (; text.size() < 20 * kChunkBytes; ++rows) {
    const std::string number = std::to_string(rows);
    text += number + " qid:" + std::to_string(rows / 7) + " 3:" + number + ".5 1:-" + number + " 9:1e-3 # " +
            number;
    text += rows % 2 ? "\r\n" : "\n";
  }
  const std::string path = folder.Write("t.svm", text);
  const absl::StatusOr<DataSet> one = ReadDataSet(path, {}, nullptr, 1);
  REQUIRE(one.ok());
  CHECK(one->rows == rows);
  CHECK(Feature(*one, "f3")[200000] == 200000.5f);
  CHECK(one->group_begin[20000] == 140000);
  for (const int threads : {2, 5}) {
    const absl::StatusOr<DataSet> many = ReadDataSet(path, {}, nullptr, threads);
    REQUIRE(many.ok());
    CHECK(SameTable(*one, *many));
    folder.Write("broken.svm", text + "1 1:2\n1 qid:1 x\n");
    const absl::StatusOr<DataSet> broken = ReadDataSet(folder.path("broken.svm"), {}, nullptr, threads);
    CHECK_THAT(std::string(broken.status().message()), Contains("broken.svm:" + std::to_string(rows + 3) +
                                                                ": a row without a qid after rows with one"));
  }
}

}  // namespace
}  // namespace winnow

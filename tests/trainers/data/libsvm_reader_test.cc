
#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"
#include "trainers/data/reader.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;
using Floats = std::vector<float>;
using Names = std::vector<std::string>;

TEST_CASE("Libsvm: entries that are absent are missing", "[data]") {
  DataFolder folder;
  const DataSet data = folder.Read("1 1:0.5 3:2\n0 2:7 # a comment\n\n# another\n-1 3:0\r\n1\n");
  CHECK(data.feature_names == Names{"f1", "f2", "f3"});
  CHECK(data.label == Floats{1, 0, -1, 1});
  CHECK(Same(data.columns[0], {0.5, kNaN, kNaN, kNaN}));
  CHECK(Same(data.columns[1], {kNaN, 7, kNaN, kNaN}));
  CHECK(Same(data.columns[2], {2, kNaN, 0, kNaN}));
}

TEST_CASE("Libsvm: counts from the smallest index seen", "[data]") {
  DataFolder folder;
  CHECK(folder.Read("1 0:5 2:6\n0 1:3\n").feature_names == Names{"f0", "f1", "f2"});
  CHECK(folder.Read("1 2:5\n0 3:3\n").feature_names == Names{"f1", "f2", "f3"});
}

TEST_CASE("Libsvm: weights stand beside the labels", "[data]") {
  DataFolder folder;
  const DataSet data = folder.Read("1:0.5 1:1\n0:2 1:2\n");
  CHECK(data.label == Floats{1, 0});
  CHECK(data.weight == Floats{0.5, 2});
}

TEST_CASE("Libsvm: the name or the first line tells the format", "[data]") {
  DataFolder folder;
  const std::string path =
      folder.Write("a.svm.gz", Gzip("1\n0 1:4\n"));  // the first line alone does not tell
  const absl::StatusOr<DataSet> data = ReadDataSet(path, {}, nullptr);
  INFO(data.status());
  REQUIRE(data.ok());
  CHECK(Same(data->columns[0], {kNaN, 4}));
  DataOptions options;
  options.format = "csv";
  CHECK(folder.Read("1 1:4\n0 1:5\n", options).feature_names == Names{"column_1_1:4", "column_1_1:5"});
}

TEST_CASE("Libsvm: validation data gets the training data's features", "[data]") {
  DataFolder folder;
  DataOptions options;
  options.drop = {"f2"};
  const DataSchema schema = folder.Read("1 1:1 2:2 3:3\n", options).schema;
  const DataSet data = folder.Read("0 0:9 2:8 3:7 4:6\n", {}, &schema);
  CHECK(data.feature_names == Names{"f1", "f3"});
  CHECK(Same(data.columns[0], {kNaN}));
  CHECK(data.columns[1] == Floats{7});
  const DataSchema csv = folder.Read("y,a\n1,2\n").schema;
  CHECK_THAT(folder.ReadError("0 1:9\n", {}, &csv), Contains("column \"a\""));
}

}  // namespace
}  // namespace winnow


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

TEST_CASE("Libsvm: lines of a long file may end with CR", "[data]") {
  DataFolder folder;
  std::string text;
  int64_t rows = 0;
  for (; text.size() < 3 << 20; ++rows) text += "1 1:0.5 2:" + std::to_string(rows) + "\r";
  const DataSet data = folder.Read(text);
  CHECK(data.rows == rows);
  CHECK(data.columns[1].back() == static_cast<float>(rows - 1));
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
  CHECK_THAT(folder.ReadError("1:0 1:1\n0:0 1:2\n"), Contains("every weight in label:weight is 0"));
}

TEST_CASE("Libsvm: a row to predict has a label, so that its first entry is not taken for one", "[data]") {
  DataFolder folder;
  const DataSchema schema = folder.Read("1 1:1 2:2\n0 1:3\n").schema;
  DataOptions options;
  options.to_predict = true;
  CHECK(folder.Read("0 1:0.5 2:3\n", options, &schema).columns[0] == Floats{0.5});
  CHECK_THAT(folder.ReadError("0 1:1 2:2\n0:1 1:0.5\n", options, &schema), Contains(":2: \"0:1\" first"));
  CHECK_THAT(folder.ReadError("1:0.5 2:3\n", options, &schema),
             Contains(":1: \"1:0.5\" first on a line to predict may be label:weight, or an entry without a "
                      "label before it; expected a label alone, such as 0"));
  // What cannot be an index, or a query behind it, tells that it is a label.
  CHECK(folder.Read("-1:2 1:4\n", options, &schema).columns[0] == Floats{4});
  CHECK(folder.Read("1:0.5 qid:3 2:3\n", options, &schema).columns[1] == Floats{3});
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
  DataOptions of_training;
  of_training.label = "y";  // the error is of what cannot be changed
  CHECK_THAT(folder.ReadError("0 1:9\n", of_training, &csv),
             Contains("expected the format of the training data"));
}

// All values of a table, dense or sparse.
std::vector<Floats> AllValues(const DataSet& data) {
  std::vector<Floats> columns(data.columns.size());
  for (size_t f = 0; f < columns.size(); ++f) {
    for (int64_t i = 0; i < data.rows; ++i) columns[f].push_back(data.ValueAt(f, i));
  }
  return columns;
}

TEST_CASE("Libsvm: nearly empty columns are sparse where there are many, and hold the same values",
          "[data]") {
  DataFolder folder;
  std::string text;
  for (int row = 0; row < 200; ++row) {
    text += std::to_string(row % 2) + " 1:" + std::to_string(row);  // f1 is full
    for (int k = 0; k < 8; ++k) {
      const int index = 2 + (row * 8 + k) % 1300;
      text += " " + std::to_string(index) + ":" + std::to_string(row - k) + (k == 3 ? ".5" : "");
    }
    text += "\n";
  }
  const std::string path = folder.Write("wide.libsvm", text);
  const DataSet dense = *ReadDataSet(path, {}, nullptr);
  CHECK(dense.sparse.empty());
  for (const int threads : {1, 3}) {
    const DataSet sparse = *ReadDataSet(path, {}, nullptr, threads, TableForm::kSparseWherePossible);
    CHECK_FALSE(sparse.IsSparse(0));
    CHECK(sparse.IsSparse(1));
    CHECK(sparse.columns[1].empty());
    CHECK(sparse.sparse[1].rows.size() == 2);  // of 200
    const std::vector<Floats> found = AllValues(sparse), expected = AllValues(dense);
    int wrong = 0;
    for (size_t f = 0; f < expected.size(); ++f) wrong += !Same(found[f], expected[f]);
    CHECK(wrong == 0);
  }
  const DataSet few = *ReadDataSet(folder.Write("few.libsvm", "1 1:1\n0 1000:1\n"), {}, nullptr, 1,
                                   TableForm::kSparseWherePossible);
  CHECK(few.sparse.empty());
}

TEST_CASE("Csv: one-hot columns of a text with thousands of levels are sparse, and hold the same values",
          "[data]") {
  DataFolder folder;
  for (const bool gaps : {false, true}) {
    std::string text = "y,town,size\n";
    for (int row = 0; row < 3000; ++row) {
      const bool gap = row % 50 == 3 && gaps;
      text += std::to_string(row % 2) + "," + (gap ? "" : "t" + std::to_string(row % 1100)) + "," +
              std::to_string(row) + "\n";
    }
    DataOptions options;
    options.max_levels = 2000;
    const std::string path = folder.Write("towns.csv", text);
    const DataSet dense = *ReadDataSet(path, options, nullptr);
    const DataSet sparse = *ReadDataSet(path, options, nullptr, 2, TableForm::kSparseWherePossible);
    CHECK(sparse.IsSparse(0));
    CHECK_FALSE(sparse.IsSparse(sparse.columns.size() - 1));
    CHECK(sparse.feature_names == dense.feature_names);
    const std::vector<Floats> found = AllValues(sparse), expected = AllValues(dense);
    int wrong = 0;
    for (size_t f = 0; f < expected.size(); ++f) wrong += !Same(found[f], expected[f]);
    CHECK(wrong == 0);
  }
}

TEST_CASE("Csv: one-hot columns of a text with some levels are sparse where that is smaller", "[data]") {
  DataFolder folder;
  std::string text = "y,town,sign,gaps\n";
  for (int row = 0; row < 300; ++row)
    text += std::to_string(row % 2) + (row == 70 ? "," : ",t" + std::to_string(row % 20)) + ",s" +
            std::to_string(row % 15) + (row % 3 == 0 ? "," : ",g" + std::to_string(row % 20)) + "\n";
  const std::string path = folder.Write("towns.csv", text);
  const DataSet dense = *ReadDataSet(path, {}, nullptr);
  CHECK(ReadDataSet(path, {}, nullptr, 1, TableForm::kSparseWherePossible)->sparse.empty());
  const DataSet sparse = *ReadDataSet(path, {}, nullptr, 1, TableForm::kSparseWhereSmaller);
  for (size_t f = 0; f < sparse.columns.size(); ++f) {
    CHECK(sparse.IsSparse(f) == (f < 20));
    CHECK_FALSE(sparse.StaysSparse(f));
    CHECK(Same(AllValues(sparse)[f], AllValues(dense)[f]));
  }
}

}  // namespace
}  // namespace winnow

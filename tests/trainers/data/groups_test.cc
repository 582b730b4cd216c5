#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"
#include "trainers/data/reader.h"
#include "trainers/data/split.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;
using Begins = std::vector<int64_t>;
using Floats = std::vector<float>;

DataOptions Grouped() {
  DataOptions options = Label("y");
  options.group = "q";
  options.weight = "w";
  return options;
}

TEST_CASE("Groups: rows of one id stand together, each group with one weight", "[data]") {
  DataFolder folder;
  const DataSet data = folder.Read("q,y,w,a\nx,1,2,5\nx,0,2,6\n\"x y\",2,3,7\n7,0,1,8\n7,1,1,9\n", Grouped());
  CHECK(data.group_begin == Begins{0, 2, 3, 5});
  CHECK(data.weight == Floats{2, 3, 1});
  CHECK(data.feature_names == std::vector<std::string>{"a"});
}

TEST_CASE("Groups: LIBSVM names them by qid", "[data]") {
  DataFolder folder;
  const DataSet data = folder.Read("2 qid:1 1:3\n0 qid:1 1:4\n1 qid:7 1:5\n");
  CHECK(data.group_begin == Begins{0, 2, 3});
  CHECK(folder.Read("1 1:2\n").group_begin.empty());
}

TEST_CASE("Groups: a query may go on in the next file of a folder", "[data]") {
  DataFolder folder;
  folder.Write("d/1.csv", "q,y,w,a\n1,0,1,1\n2,0,1,2\n");
  folder.Write("d/2.csv", "q,y,w,a\n2,0,1,3\n3,0,1,4\n");
  const absl::StatusOr<DataSet> data = ReadDataSet(folder.path("d"), Grouped(), nullptr);
  REQUIRE(data.ok());
  CHECK(data->group_begin == Begins{0, 1, 3, 4});
}

TEST_CASE("Groups: what is no clean grouping is refused with its place", "[data]") {
  DataFolder folder;
  CHECK_THAT(folder.ReadError("q,y,w,a\n1,0,1,1\n2,0,1,2\n1,0,1,3\n", Grouped()),
             Contains("t.csv:4: query id \"1\" occurs again"));
  CHECK_THAT(folder.ReadError("q,y,w,a\n1,0,1,1\nNA,0,1,2\n", Grouped()),
             Contains("t.csv:3: column \"q\": the query id is missing"));
  CHECK_THAT(folder.ReadError("q,y,w,a\n1,0,1,1\n1,0,2,2\n", Grouped()),
             Contains("weights 1 and 2 in the query of rows 1 to 2"));
  CHECK_THAT(folder.ReadError("y,w,a\n1,0,1\n", Grouped()), Contains("group column \"q\" is not there"));
  DataOptions both = Grouped();
  both.group = "w";
  CHECK_THAT(folder.ReadError("q,y,w,a\n1,0,1,1\n", both), Contains("\"w\" is both weight and group"));
}

TEST_CASE("Groups: data to predict may lack them", "[data]") {
  DataFolder folder;
  const DataSchema schema = folder.Read("q,y,w,a\n1,0,1,1\n", Grouped()).schema;
  CHECK(folder.Read("a\n5\n", Grouped(), &schema).group_begin.empty());
}

TEST_CASE("Groups: a split moves whole groups with their weights", "[data]") {
  DataFolder folder;
  std::string text = "q,y,w,a\n";
  for (int row = 0; row < 300; ++row) {
    const std::string query = std::to_string(row / 3);
    text += query + ",0," + query + "," + query + "\n";
  }
  const auto parts = SplitByFraction(folder.Read(text, Grouped()), 0.3, 5);
  REQUIRE(parts.ok());
  for (const DataSet* part : {&parts->first, &parts->second}) {
    CHECK(part->group_begin.back() == part->rows);
    for (size_t group = 0; group + 1 < part->group_begin.size(); ++group) {
      const auto begin = static_cast<size_t>(part->group_begin[group]);
      CHECK(part->group_begin[group + 1] == part->group_begin[group] + 3);
      CHECK(part->columns[0][begin] == part->weight[group]);
      CHECK(part->columns[0][begin + 2] == part->weight[group]);
    }
  }
}

}  // namespace
}  // namespace winnow

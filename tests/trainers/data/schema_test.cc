
#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;
using Floats = std::vector<float>;

// Training data with two numbers, a text and a text label.
DataSchema TrainingSchema(const DataFolder& folder) {
  return folder.Read("y,a,colour,b\nno,1,red,2\nyes,3,blue,4\n").schema;
}

TEST_CASE("Schema: columns are matched by name, others read over", "[data]") {
  DataFolder folder;
  const DataSchema schema = TrainingSchema(folder);
  const DataSet data =
      folder.Read("extra,b,colour,y,a\nq,20,blue,yes,10\nq,40,red,no,30\n", Label("y"), &schema);
  CHECK(data.feature_names == std::vector<std::string>{"a", "colour_blue", "colour_red", "b"});
  CHECK(data.columns == std::vector<Floats>{{10, 30}, {1, 0}, {0, 1}, {20, 40}});
  CHECK(data.label == Floats{1, 0});
  CHECK(data.schema.label_levels == schema.label_levels);
}

TEST_CASE("Schema: an unseen level is 0 everywhere, a missing one NaN", "[data]") {
  DataFolder folder;
  const DataSchema schema = TrainingSchema(folder);
  const DataSet data = folder.Read("y,a,colour,b\nno,1,green,2\nno,1,,2\nno,1,7,2\n", {}, &schema);
  CHECK(Same(Feature(data, "colour_red"), {0, kNaN, 0}));
  CHECK(Same(Feature(data, "colour_blue"), {0, kNaN, 0}));
}

TEST_CASE("Schema: data to predict has no label", "[data]") {
  DataFolder folder;
  const DataSchema schema = TrainingSchema(folder);
  for (const std::string label : {"", "y"}) {
    const DataSet data = folder.Read("a,colour,b\n1,red,2\n3,blue,4\n", Label(label), &schema);
    CHECK(data.label.empty());
    CHECK(data.rows == 2);
    CHECK(Feature(data, "b") == Floats{2, 4});
  }
  DataOptions asked = Label("y");
  asked.to_predict = asked.label_must_be_there = true;
  CHECK_THAT(folder.ReadError("a,colour,b\n1,red,2\n", asked, &schema), Contains("label column \"y\""));
  CHECK(folder.Read("y,a,colour,b\n0,1,red,2\n", asked, &schema).label.empty());
  DataOptions options = Label("y");
  options.weight = "w";
  options.drop = {"id"};
  CHECK(folder.Read("a,colour,b\n1,red,2\n", options, &schema).weight.empty());
  CHECK_THAT(folder.ReadError("y,a,colour,b\nno,1,red,2\n", options, &schema),
             Contains("weight column \"w\""));
}

TEST_CASE("Schema: labels, weights and queries of data to predict are not read", "[data]") {
  DataFolder folder;
  const DataSchema schema = TrainingSchema(folder);
  DataOptions options = Label("y");
  options.weight = "w";
  options.group = "q";
  options.to_predict = true;
  // No label, an unknown one; weights below 0 or of 0; a query that comes again.
  const DataSet data =
      folder.Read("y,w,q,a,colour,b\n,0,1,1,red,2\nmaybe,-1,2,3,blue,4\n,0,1,3,blue,4\n", options, &schema);
  CHECK(Feature(data, "a") == Floats{1, 3, 3});
  CHECK(data.label.empty());
  CHECK(data.weight.empty());
  CHECK(data.group_begin.empty());
  CHECK(folder.Read("y,a,colour,b\nno,1,red,2\n", options, &schema).rows == 1);  // without w and q
  const DataSchema numbers = folder.Read("1 1:2\n0 1:3\n").schema;
  DataOptions of_libsvm;
  of_libsvm.to_predict = true;
  CHECK(folder.Read("0:0 qid:1 1:2\n0:0 qid:2 1:3\n0:0 qid:1 1:4\n", of_libsvm, &numbers).rows == 3);
}

TEST_CASE("Schema: without a header columns are matched by position", "[data]") {
  DataFolder folder;
  const DataSchema schema = folder.Read("1,5,red\n0,6,blue\n").schema;
  CHECK(Feature(folder.Read("1,7,blue\n", {}, &schema), "column_1") == Floats{7});
  const DataSet unlabelled = folder.Read("8,red\n", {}, &schema);
  CHECK(unlabelled.label.empty());
  CHECK(Feature(unlabelled, "column_1") == Floats{8});
  CHECK(Feature(unlabelled, "column_2_red") == Floats{1});
  CHECK_THAT(folder.ReadError("1,7,blue,9\n", {}, &schema),
             Contains("3 feature columns, but the training data has 2"));
}

TEST_CASE("Schema: the training data's weights are no feature of data that do not use them", "[data]") {
  DataFolder folder;
  DataOptions weighted = Label("0"), unweighted = Label("0");
  weighted.weight = unweighted.training_weight = "2";
  const DataSchema schema = folder.Read("1,5,2,7\n0,6,1,8\n", weighted).schema;
  for (const std::string text : {"1,9,3,4\n", "1,9,4\n"}) {  // with their column and without it
    const DataSet data = folder.Read(text, unweighted, &schema);
    CHECK(data.weight.empty());
    CHECK(Feature(data, "column_1") == Floats{9});
    CHECK(Feature(data, "column_3") == Floats{4});
  }
  weighted = Label("y");
  weighted.weight = "w";
  const DataSchema named = folder.Read("y,a,w\n1,5,2\n0,6,1\n", weighted).schema;
  CHECK(folder.Read("y,a,w\n1,5,2\n", Label("y"), &named).weight.empty());
  CHECK_THAT(folder.ReadError("1,5,2,9,9\n0,6,1,9,9\n", unweighted, &schema),
             Contains("4 feature columns, but the training data has 2"));
}

TEST_CASE("Schema: a column keeps its kind", "[data]") {
  DataFolder folder;
  const DataSchema schema = TrainingSchema(folder);
  CHECK_THAT(folder.ReadError("y,a,colour,b\nno,1,red,2\nno,x,red,2\n", {}, &schema),
             Contains("t.csv:3: column \"a\": \"x\" is not a number"));
  CHECK_THAT(folder.ReadError("y,a,b\nno,1,2\n", Label("y"), &schema), Contains("feature column \"colour\""));
  CHECK_THAT(folder.ReadError("y,a,colour,b\nno,1,red,2\nmaybe,1,red,2\n", {}, &schema),
             Contains("t.csv:3: column \"y\": label \"maybe\"") && Contains("no, yes"));
  const DataSchema numeric = folder.Read("y,a\n0,1\n1,2\n").schema;
  CHECK_THAT(folder.ReadError("y,a\n0,1\nyes,2\n", {}, &numeric),
             Contains("t.csv:3: column \"y\": \"yes\" is not a number"));
}

}  // namespace
}  // namespace winnow

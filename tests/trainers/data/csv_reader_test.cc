
#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"
#include "trainers/data/reader.h"

namespace winnow {
namespace {

using Floats = std::vector<float>;
using Names = std::vector<std::string>;

TEST_CASE("Csv: every separator is found", "[data]") {
  DataFolder folder;
  for (const std::string separator : {",", ";", "\t", "|", " ", "   ", " \t"}) {
    INFO("separator '" << separator << "'");
    std::string text = "y,a,b\n1,2,3\n0,4,5\n";
    for (size_t at; (at = text.find(',')) != std::string::npos;)
      text.replace(at, 1, separator == "," ? "\1" : separator);
    for (char& c : text) c = c == '\1' ? ',' : c;
    const DataSet data = folder.Read(text);
    CHECK(data.feature_names == Names{"a", "b"});
    CHECK(data.label == Floats{1, 0});
    CHECK(data.columns == std::vector<Floats>{{2, 4}, {3, 5}});
  }
}

TEST_CASE("Csv: a decimal comma does not pass for the separator", "[data]") {
  DataFolder folder;
  CHECK(folder.Read("1;2,5,7;3\n0;1,5;4\n").columns.size() == 3);  // lists are texts, 3 and 4 numbers
  CHECK_THAT(folder.ReadError("1;2,5;3\n0;1,5;4\n"),
             Catch::Matchers::Contains("\"2,5\" is a number with a comma"));
}

TEST_CASE("Csv: the header is found or its absence", "[data]") {
  DataFolder folder;
  CHECK(folder.Read("y,a\n1,2\n").rows == 1);
  CHECK(folder.Read("1,2\n0,3\n").rows == 2);
  CHECK(folder.Read("1,2\n0,3\n").feature_names == Names{"column_1"});
  CHECK(folder.Read("red,2\nblue,3\n").rows == 2);               // the first column is text all the way
  CHECK(folder.Read("colour,size\nred,2\nblue,3\n").rows == 2);  // a text over numbers
  CHECK(folder.Read("label,0,1,2\n1,5,6,7\n0,5,6,8\n").feature_names == Names{"0", "1", "2"});
  CHECK(folder.Read("answer,colour\nyes,red\nno,blue\nyes,blue\n").rows == 3);  // none comes again below
  CHECK(folder.Read("yes,red\nno,blue\nyes,blue\n").rows == 3);                 // "yes" comes again
  // Digits name a position, not a header's column: that needs header "yes".
  CHECK_THAT(folder.ReadError("2019,2020\n1,2\n", Label("2019")), Catch::Matchers::Contains("set header to"));
}

TEST_CASE("Csv: a column that an option names makes the first line a header", "[data]") {
  DataFolder folder;
  const DataSet data = folder.Read("x1,7\n1,2\n", Label("x1"));
  CHECK(data.rows == 1);
  CHECK(data.feature_names == Names{"7"});
}

TEST_CASE("Csv: the header option overrules", "[data]") {
  DataFolder folder;
  DataOptions options;
  options.header = "yes";
  CHECK(folder.Read("2019,2020\n1,2\n", options).feature_names == Names{"2020"});
  options.header = "no";
  const DataSet data = folder.Read("answer,size\nyes,2\nno,3\n", options);
  CHECK(data.rows == 3);
  CHECK(data.schema.label_levels == Names{"answer", "no", "yes"});
}

TEST_CASE("Csv: without a header columns go by number", "[data]") {
  DataFolder folder;
  DataOptions options = Label("2");
  options.drop = {"0"};
  options.weight = "column_3";
  const DataSet data = folder.Read("9,8,1,0.5\n7,6,0,2\n", options);
  CHECK(data.label == Floats{1, 0});
  CHECK(data.weight == Floats{0.5, 2});
  CHECK(data.feature_names == Names{"column_1"});
  CHECK(data.columns == std::vector<Floats>{{8, 6}});
}

TEST_CASE("Csv: label, weight and drop by name", "[data]") {
  DataFolder folder;
  DataOptions options = Label("y");
  options.drop = {"id", "note"};
  options.weight = "w";
  const DataSet data = folder.Read("id,a,w,note,y,b\nx7,1,2,hm,0,3\nx8,4,0,ha,1,6\n", options);
  CHECK(data.feature_names == Names{"a", "b"});
  CHECK(data.columns == std::vector<Floats>{{1, 4}, {3, 6}});
  CHECK(data.label == Floats{0, 1});
  CHECK(data.weight == Floats{2, 0});
  CHECK(data.schema.columns.size() == 2);
}

TEST_CASE("Csv: line ends of every kind, a byte order mark, no last line end, blank lines", "[data]") {
  DataFolder folder;
  for (const std::string text :
       {"y,a\n1,2\n0,3\n", "y,a\r\n1,2\r\n0,3\r\n", "y,a\r1,2\r0,3\r", "y,a\n1,2\n0,3", "y,a\r\n1,2\r\n0,3",
        "\xef\xbb\xbfy,a\n1,2\n0,3\n", "y,a\n1,2\n0,3\n\n\n  \n", "\n\ny,a\n1,2\n\n0,3\n\r\n",
        "y,a\n1,2\r\n0,3\r"}) {
    INFO(text);
    const DataSet data = folder.Read(text);
    CHECK(data.feature_names == Names{"a"});
    CHECK(data.label == Floats{1, 0});
    CHECK(data.columns == std::vector<Floats>{{2, 3}});
  }
}

TEST_CASE("Csv: quoted fields hold separators, line ends and doubled quotation marks", "[data]") {
  DataFolder folder;
  const DataSet data =
      folder.Read("\"y\",\"a \"\"b\"\", c\",t\n1, \"2\" ,\"x,\ny\"\n0,3,\"\"\"z\"\"\"\n1,4,5\" pipe\n");
  CHECK(data.feature_names == Names{"a \"b\", c", "t_\"z\"", "t_5\" pipe", "t_x,\ny"});
  CHECK(data.columns[0] == Floats{2, 3, 4});
  CHECK(data.columns[3] == Floats{1, 0, 0});
}

TEST_CASE("Csv: missing values become NaN", "[data]") {
  DataFolder folder;
  for (const std::string missing :
       {"", "NA", "na", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "?", " ", "\"\""}) {
    INFO("missing as '" << missing << "'");
    const DataSet data = folder.Read("y,a,b\n1,2,3\n0," + missing + ",4\n1,5,6\n");
    CHECK(Same(Feature(data, "a"), {2, kNaN, 5}));
  }
  const DataSet tabs = folder.Read("y\ta\tb\n1\t2\t3\n0\t\t\n1\t\t5\n");
  CHECK(Same(Feature(tabs, "a"), {2, kNaN, kNaN}));
  CHECK(Same(Feature(tabs, "b"), {3, kNaN, 5}));
}

TEST_CASE("Csv: numbers in every notation", "[data]") {
  DataFolder folder;
  const DataSet data = folder.Read(
      "y,a\n1,+2\n1,-3.5\n1,1e3\n1,.5\n1,5.\n1,-1.5E-2\n1,00012\n1,12345678\n1,1e-60\n1,1e-400\n1,-0\n");
  CHECK(data.columns[0] == Floats{2, -3.5f, 1000, .5f, 5, -1.5e-2f, 12, 12345678, 0, 0, 0});
}

TEST_CASE("Csv: a text column becomes one column a level, in byte order, where it stood", "[data]") {
  DataFolder folder;
  const DataSet data = folder.Read("y,a,job,b\n1,1,zoo,5\n0,2,Bar,6\n1,3,bar,7\n0,4,NA,8\n1,5,10,9\n");
  CHECK(data.feature_names == Names{"a", "job_10", "job_Bar", "job_bar", "job_zoo", "b"});
  CHECK(Same(Feature(data, "job_zoo"), {1, 0, 0, kNaN, 0}));
  CHECK(Same(Feature(data, "job_10"), {0, 0, 0, kNaN, 1}));
  CHECK(data.schema.columns[1].text);
  CHECK(data.schema.columns[1].levels == Names{"10", "Bar", "bar", "zoo"});
}

TEST_CASE("Csv: a text column may stay one categorical feature of level numbers", "[data]") {
  DataFolder folder;
  DataOptions options;
  options.categorical = true;
  const DataSet data = folder.Read("y,a,job\n1,1,zoo\n0,2,Bar\n1,3,NA\n0,4,10\n", options);
  CHECK(data.feature_names == Names{"a", "job"});
  CHECK(data.categorical == std::vector<bool>{false, true});
  CHECK(Same(Feature(data, "job"), {2, 1, kNaN, 0}));
  // The training data decides, not the options; a level that it did not have is missing.
  const DataSet later = folder.Read("y,a,job\n1,1,Bar\n0,2,bar\n", {}, &data.schema);
  CHECK(later.categorical == data.categorical);
  CHECK(Same(Feature(later, "job"), {1, kNaN}));
}

TEST_CASE("Csv: texts that are not UTF-8 are read as Latin-1", "[data]") {
  DataFolder folder;
  const DataSet data = folder.Read("y,city\n1,S\xe3o\n0,Z\xc3\xbcrich\n");
  CHECK(data.feature_names == Names{"city_S\xc3\xa3o", "city_Z\xc3\xbcrich"});
}

TEST_CASE("Csv: a text label becomes classes in byte order", "[data]") {
  DataFolder folder;
  const DataSet data = folder.Read("y,a\nno,1\nyes,2\nmaybe,3\nno,4\n");
  CHECK(data.label == Floats{1, 2, 0, 1});
  CHECK(data.schema.label_levels == Names{"maybe", "no", "yes"});
}

TEST_CASE("Csv: a separator at the end of every line makes no feature", "[data]") {
  DataFolder folder;
  CHECK(folder.Read("y,a,\n1,2,\n0,3,\n").feature_names == Names{"a"});
  CHECK(folder.Read(",y,a\n0,1,2\n1,0,3\n", Label("y")).feature_names == Names{"unnamed_0", "a"});
}

TEST_CASE("Csv: max_levels is a limit that can be reached and raised", "[data]") {
  DataFolder folder;
  DataOptions options;
  options.max_levels = 3;
  CHECK(folder.Read("y,a\n1,p\n0,q\n1,r\n", options).columns.size() == 3);
  const std::string four = "y,a\n1,p\n0,q\n1,r\n0,s\n";
  CHECK_THAT(folder.ReadError(four, options), Catch::Matchers::Contains("column \"a\": 4 different texts"));
  options.categorical = true;  // what is so already is not advised
  CHECK_THAT(folder.ReadError(four, options),
             Catch::Matchers::Contains("\"max_levels\": 4") && !Catch::Matchers::Contains("categorical"));
  options.categorical = false;
  options.max_levels = 4;
  CHECK(folder.Read(four, options).columns.size() == 4);
}

TEST_CASE("Csv: a folder is read as one table in order of name", "[data]") {
  DataFolder folder;
  folder.Write("train/part-2.csv", "y,a,t\n1,30,v\n");
  folder.Write("train/part-1.csv", "y,a,t\n0,10,u\n1,20,v\n");
  folder.Write("train/.hidden", "\1\2\3");
  folder.Write("train/more/not-read.csv", "?");
  folder.Write("train/part-3.csv.gz", Gzip("0,40,u\n"));  // a header in the first file serves all
  const absl::StatusOr<DataSet> data = ReadDataSet(folder.path("train"), {}, nullptr);
  INFO(data.status());
  REQUIRE(data.ok());
  CHECK(Feature(*data, "a") == Floats{10, 20, 30, 40});
  CHECK(Feature(*data, "t_u") == Floats{1, 0, 0, 1});
  CHECK(data->label == Floats{0, 1, 1, 0});
}

TEST_CASE("Csv: nine texts in a thousand numbers are a broken file, one in ten a text column", "[data]") {
  DataFolder folder;
  std::string text = "y,a\n";
  for (int i = 0; i < 1000; ++i) text += i % 125 == 124 ? "1,oops\n" : "0," + std::to_string(i) + "\n";
  CHECK_THAT(folder.ReadError(text),
             Catch::Matchers::Contains("t.csv:126: column \"a\": \"oops\" is not a number, but "
                                       "992 of the column's 1000 values are"));
  CHECK(folder.Read("y,a\n1,1\n0,2\n1,3\n0,4\n1,5\n0,6\n1,7\n0,8\n1,9\n0,x\n").columns.size() == 10);
}

}  // namespace
}  // namespace winnow

#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"
#include "trainers/data/reader.h"
#include "trainers/data/text_stream.h"

namespace winnow {
namespace {

using namespace std::string_literals;

struct Malformed {
  std::string what;
  std::string bytes;
  std::vector<std::string> fragments;  // of the error, beside the file's path
  DataOptions options = {};
};

DataOptions With(DataOptions options, std::string DataOptions::*field, const std::string& value) {
  options.*field = value;
  return options;
}

DataOptions Drop(const std::vector<std::string>& drop) {
  DataOptions options;
  options.drop = drop;
  return options;
}

std::string ManyLevels() {
  std::string text = "y,id,a\n";
  for (int i = 0; i < 300; ++i) text += "1,user" + std::to_string(i) + ",2\n";
  return text;
}

std::string DecimalCommas() {
  std::string text = "y;price\n";
  for (int i = 0; i < 20; ++i) text += "1;" + std::to_string(i) + ",5\n";
  return text;
}

std::string OneBrokenCell() {
  std::string text = "y,a\n";
  for (int i = 0; i < 200; ++i) text += i == 150 ? "1,1.2.3\n" : "0,1.5\n";
  return text;
}

std::vector<Malformed> MalformedFiles() {
  const DataOptions y = Label("y"), weighted = With(y, &DataOptions::weight, "w");
  const DataOptions no_header = With(y, &DataOptions::header, "no");
  const DataOptions libsvm = With({}, &DataOptions::format, "libsvm");
  return {
      {"empty file", "", {"the file is empty"}},
      {"only blank lines", "\n \n\r\n", {"the file is empty"}},
      {"only a byte order mark", "\xef\xbb\xbf", {"the file is empty"}},
      {"header only", "y,a,b\n", {"a header but no rows"}},
      {"header only, no line end", "y,a,b", {"a header but no rows"}, y},
      {"row too short", "y,a,b\n1,2,3\n1,2\n", {":3: 2 fields found, expected 3", "','"}},
      {"row too long", "y,a\n1,2\n0,3\n1,2,3\n", {":4: 3 fields found, expected 2"}},
      {"row too long after a quoted line end", "y,t\n1,\"a\nb\"\n1,c,d\n", {":4: 3 fields found"}},
      {"quote never closed", "y,a\n1,\"2\n0,3\n", {":2: the quotation mark before \"2", "never closed"}},
      {"quote never closed in the header", "\"y,a\n1,2\n", {":1: the quotation mark"}},
      {"text after a closing quote", "y,a\n1,\"2\"x\n", {":2: \"x\" after a closing quotation mark"}},
      {"infinity", "y,a\n1,2\n0,inf\n", {":3: column \"a\": \"inf\" is infinite"}},
      {"minus infinity", "y,a\n1,2\n0,-Infinity\n", {":3: column \"a\": \"-Infinity\""}},
      {"beyond float", "y,a\n1,2\n0,1e39\n", {":3: column \"a\": \"1e39\"", "range"}},
      {"beyond double", "y,a\n1,2\n0,-1e999\n", {":3: column \"a\": \"-1e999\"", "range"}},
      {"infinite label", "y,a\n1,2\ninf,2\n", {":3: column \"y\": \"inf\""}},
      {"one broken cell", OneBrokenCell(), {":152: column \"a\": \"1.2.3\" is not a number, but 199 of"}},
      {"too many levels",
       ManyLevels(),
       {"column \"id\": 300 different texts", "256", "enable_categorical", "\"drop\": [\"id\"]",
        "\"max_levels\": 300"}},
      {"decimal commas",
       DecimalCommas(),
       {":2: column \"price\": \"0,5\" is a number with a comma", "decimal point"}},
      {"a decimal comma beside whole numbers",
       "y;a;b\n1;3;x\n0;-1.234,5;y\n",
       {":3: column \"a\": \"-1.234,5\""}},
      {"label not there",
       "x,a\n1,2\n",
       {"label column \"y\" is not there", "Columns: x, a"},
       With(y, &DataOptions::header, "yes")},
      {"label misspelt",
       "y_yes,a\n1,2\n",
       {"label column \"y_yse\"", "did you mean \"y_yes\"?", "Columns: y_yes, a"},
       Label("y_yse")},
      {"label in another case", "Target,a\n1,2\n", {"did you mean \"Target\"?"}, Label("target")},
      {"label by name without a header", "1,2\n0,3\n", {"label column \"y\"", "no header", "0 to 1"}, y},
      {"label number too large", "1,2\n0,3\n", {"label column \"2\"", "0 to 1"}, Label("2")},
      {"label number negative", "1,2\n0,3\n", {"label column \"-1\""}, Label("-1")},
      {"weight not there", "y,a\n1,2\n", {"weight column \"w\" is not there", "Columns: y, a"}, weighted},
      {"drop not there", "y,a\n1,2\n", {"drop column \"id\" is not there"}, Drop({"id"})},
      {"the label dropped", "y,a\n1,2\n", {"column \"y\" is in drop, but it is the label"}, Drop({"y"})},
      {"the weight dropped",
       "y,w,a\n1,2,3\n",
       {"column \"w\" is in drop, but it is the weight"},
       [&] {
         DataOptions options = weighted;
         options.drop = {"w"};
         return options;
       }()},
      {"label and weight the same",
       "y,a\n1,2\n",
       {"column \"y\" is both label and weight"},
       With(y, &DataOptions::weight, "y")},
      {"nothing but the label", "y\n1\n0\n", {"no feature column is left", "Columns: y"}},
      {"all dropped", "y,a\n1,2\n", {"no feature column is left"}, Drop({"a"})},
      {"no feature with a value", "y,\n1,\n0,\n", {"no feature column holds a value"}, y},
      {"missing label", "y,a\n1,2\n,3\n", {":3: column \"y\": the label is missing"}},
      {"label NA", "a,y\n2,yes\n3,NA\n", {":3: column \"y\": the label is missing (\"NA\")"}, y},
      {"negative weight",
       "y,w,a\n1,1,2\n1,-0.5,2\n",
       {":3: column \"w\": the weight is \"-0.5\"", "0 or more"},
       weighted},
      {"missing weight", "y,w,a\n1,1,2\n1,,2\n", {":3: column \"w\": the weight is \"\""}, weighted},
      {"weight no number",
       "y,w,a\n1,1,2\n1,much,2\n",
       {":3: column \"w\": the weight is \"much\""},
       weighted},
      {"infinite weight", "y,w,a\n1,inf,2\n", {":2: column \"w\": the weight is \"inf\""}, weighted},
      {"all weights 0", "y,w,a\n1,0,2\n0,0,3\n", {"column \"w\": every weight is 0"}, weighted},
      {"two columns of one name", "y,a,b,a\n1,2,3,4\n", {":1: column \"a\" comes twice, as columns 2 and 4"}},
      {"level meets a column", "y,a,a_x\n1,x,2\n0,z,3\n", {"two features would be named \"a_x\""}},
      {"byte 0", "y,a\n1,2\n0,\0\n"s, {":3: a byte 0", "not text"}},
      {"zip archive", "PK\x03\x04\x14", {"is a zip archive"}},
      {"UTF-16", "\xff\xfey\0,\0"s, {"is UTF-16 text", "UTF-8"}},
      {"cut gzip", Gzip("y,a\n1,2\n0,3\n").substr(0, 20), {"gzip", "cut short"}},
      {"empty gzip", Gzip(""), {"the file is empty"}},
      {"control characters in a cell", "y,a\n1,\x01\x1b[31m\n0,2\n", {"no feature"}, Drop({"a"})},
      {"text label under 99 % numbers", OneBrokenCell(), {":152: column \"a\""}, Label("a")},
      {"header refused", "x,a\n1,2\n", {"label column \"y\"", "no header"}, no_header},
      {"LIBSVM: label no number", "1 1:2\nyes 1:3\n", {":2: label \"yes\""}},
      {"LIBSVM: two labels", "1,2 1:3\n", {":1: label \"1,2\""}, libsvm},
      {"LIBSVM: index no number", "1 1:2\n0 a:3\n", {":2: \"a:3\"; expected index:value"}},
      {"LIBSVM: negative index", "1 1:2\n0 -1:3\n", {":2: \"-1:3\""}},
      {"LIBSVM: no colon", "1 1:2\n0 7\n", {":2: \"7\"; expected index:value"}},
      {"LIBSVM: value no number", "1 1:2\n0 1:x\n", {":2: column \"f1\": \"x\""}},
      {"LIBSVM: value absent", "1 1:2\n0 1:\n", {":2: column \"f1\": \"\""}},
      {"LIBSVM: infinite value", "1 1:2\n0 1:inf\n", {":2: column \"f1\": \"inf\""}},
      {"LIBSVM: index twice", "1 1:2\n0 1:3 2:4 1:5\n", {":2: index 1 comes twice"}},
      {"LIBSVM: a query id behind a value", "1 1:2 qid:3\n", {":1: \"qid:3\"", "behind the label"}, libsvm},
      {"LIBSVM: a query id that is no number", "1 qid:x 1:2\n", {":1: \"qid:x\"", "whole number"}, libsvm},
      {"LIBSVM: query ids now and then", "1 qid:3 1:2\n1 1:2\n", {":2: a row without a qid after rows with"}},
      {"LIBSVM: a query that comes back",
       "1 qid:3 1:2\n1 qid:4 1:2\n\n0 qid:3 1:1\n",
       {":4: query id \"3\""}},
      {"LIBSVM: negative weight", "1:1 1:2\n0:-1 1:2\n", {":2: weight in \"0:-1\"", "0 or more"}},
      {"LIBSVM: weight in some rows", "1 1:2\n0:1 1:2\n", {":2: a row with a weight after rows without one"}},
      {"LIBSVM: weight not in all rows",
       "1:1 1:2\n0 1:2\n",
       {":2: a row without a weight after rows with one"}},
      {"LIBSVM: index out of all proportion",
       "1 1:2 2000000000:1\n0 1:1\n",
       {"the largest index is 2000000000", "at most 16777216"}},
      {"LIBSVM: index beyond any number",
       "1 1:2\n0 99999999999:1\n",
       {":2: \"99999999999:1\": the index is too large; expected at most 16777216"}},
      {"a comment above the header",
       "# made by a program\ny,a,b\n1,2,3\n",
       {":1: \"# made by a program\" has 1 fields, and line 2 has 3", "comment"},
       y},
      {"a column's long name",
       "y," + std::string(5000, 'x') + "\n1,2\n",
       {"\"label\" is not there", "xx…"},
       Label("label")},
      {"LIBSVM: index beyond 32 bits", "1 1:2 99999999999:1\n", {":1: \"99999999999:1\""}, libsvm},
      {"LIBSVM: a label option", "1 1:2\n", {"label is \"y\"", "LIBSVM"}, y},
      {"LIBSVM: a weight option",
       "1 1:2\n",
       {"weight is \"w\"", "LIBSVM"},
       With({}, &DataOptions::weight, "w")},
      {"LIBSVM: no entry", "1\n0\n", {"no row has an index:value entry"}, libsvm},
      {"LIBSVM: empty", "# nothing\n", {"the file is empty"}, libsvm},
      {"LIBSVM: all dropped", "1 1:2\n", {"drop leaves no feature"}, Drop({"f1"})},
  };
}

TEST_CASE("Malformed: each file is refused with its name, the place and what was expected", "[data]") {
  DataFolder folder;
  const std::vector<Malformed> files = MalformedFiles();
  CHECK(files.size() >= 60);
  for (const Malformed& file : files) {
    INFO(file.what);
    const absl::StatusOr<DataSet> data =
        ReadDataSet(folder.Write("bad.csv", file.bytes), file.options, nullptr);
    if (data.ok()) {
      FAIL_CHECK("was read");
      continue;
    }
    const std::string message(data.status().message());
    CHECK_THAT(message, Catch::Matchers::StartsWith(folder.path("bad.csv") + ":"));
    for (const std::string& fragment : file.fragments)
      CHECK_THAT(message, Catch::Matchers::Contains(fragment));
    CHECK(message.size() < 600);
  }
}

TEST_CASE("Malformed: a line beyond the longest one is refused with any number of threads", "[data]") {
  DataFolder folder;
  const std::string endless(kLongestRecord + 100, '7');
  const struct {
    const char* name;
    std::string bytes;
    const char* line;
  } kCases[] = {
      {"first.csv", endless, "1"},
      {"second.csv", "y,a\n1,2\n1," + endless, "3"},
      {"quoted.csv", "y,a\n1,\"" + endless, "2"},
      {"t.libsvm", "1 1:2\n1 1:" + endless, "2"},
  };
  for (const auto& c : kCases) {
    const std::string path = folder.Write(c.name, c.bytes);
    for (const int threads : {1, 16}) {
      const absl::StatusOr<DataSet> data = ReadDataSet(path, {}, nullptr, threads);
      INFO(c.name << ": " << data.status());
      REQUIRE_FALSE(data.ok());
      CHECK_THAT(std::string(data.status().message()),
                 Catch::Matchers::StartsWith(path + ":" + c.line + ": ") &&
                     Catch::Matchers::Contains("goes on for more than 64 MiB"));
    }
  }
}

TEST_CASE("Malformed: options are refused by name", "[data]") {
  DataFolder folder;
  using Catch::Matchers::Contains;
  const std::string good = "y,a\n1,2\n";
  CHECK_THAT(folder.ReadError(good, With({}, &DataOptions::format, "xml")), Contains("format is \"xml\""));
  CHECK_THAT(folder.ReadError(good, With({}, &DataOptions::header, "maybe")),
             Contains("header is \"maybe\""));
  CHECK_THAT(folder.ReadError(good, With({}, &DataOptions::separator, "::")),
             Contains("separator is \"::\""));
  DataOptions options;
  options.max_levels = 0;
  CHECK_THAT(folder.ReadError(good, options), Contains("max_levels is 0"));
}

TEST_CASE("Malformed: the file of a folder that is wrong is named", "[data]") {
  DataFolder folder;
  using Catch::Matchers::Contains;
  const auto error = [&] {
    return std::string(ReadDataSet(folder.path("d"), {}, nullptr).status().message());
  };
  folder.Write("d/a.csv", "y,a\n1,2\n");
  folder.Write("d/b.csv", "y,b\n1,2\n");
  CHECK_THAT(error(), Contains("d/b.csv:1: the columns are not those of") && Contains("d/a.csv"));
  folder.Write("d/b.csv", "y,a\n1,2\n1,2,3\n");
  CHECK_THAT(error(), Contains("d/b.csv:3: 3 fields found, expected 2 as in the first line of"));
  folder.Write("d/b.csv", "a,y\n1,2\n");
  CHECK_THAT(error(), Contains("d/b.csv:1: the columns are not those of"));
}

}  // namespace
}  // namespace winnow

#include "store/csv_file.h"

#include <fstream>

#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

absl::StatusOr<CsvFile> Read(const std::string& text) {
  TempFolder folder;
  std::ofstream(folder.file("t.csv"), std::ios::binary) << text;
  return ReadCsvFile(folder.file("t.csv"));
}

TEST_CASE("Csv file: fields, quotations and ends of lines of every kind", "[store]") {
  auto table = Read("\xef\xbb\xbfx, name,objective\r\n1,\"a, \"\"b\"\"\nc\",0.5\n\n 2 ,,\"\"\r\n3,d,1");
  REQUIRE(table.ok());
  using Row = std::vector<std::string>;
  CHECK(table->header == Row{"x", "name", "objective"});
  CHECK(table->rows == std::vector<Row>{{"1", "a, \"b\"\nc", "0.5"}, {"2", "", ""}, {"3", "d", "1"}});
}

TEST_CASE("Csv file: what is wrong is said, and where", "[store]") {
  const auto [text, words] = GENERATE(table<std::string, std::string>({
      {"", "is empty"},
      {"a,b\n1,2\n3\n", "row 3 has 1 fields; expected 2"},
      {"a,b,a\n", "column \"a\" twice"},
      {"a\n\"1", "row 2"},
      {"a\n\"1\"2\n", "row 2"},
  }));
  auto table = Read(text);
  INFO(text);
  CHECK(table.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(table.status().message()), Catch::Contains(words));
}

TEST_CASE("Csv file: a file that is not there is an error", "[store]") {
  CHECK(ReadCsvFile("/no/such/file.csv").status().code() == absl::StatusCode::kInvalidArgument);
  CHECK_FALSE(ReadCsvFile("/").ok());
}

}  // namespace
}  // namespace winnow

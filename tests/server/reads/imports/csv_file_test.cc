#include "server/reads/imports/csv_file.h"

#include <fstream>

#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

GoOn Always() {
  return [] { return absl::OkStatus(); };
}

absl::StatusOr<CsvFile> Read(const std::string& text, const GoOn& go_on = Always()) {
  TempFolder folder;
  std::ofstream(folder.file("t.csv"), std::ios::binary) << text;
  return ReadCsvFile(*ForeignFile::Open(folder.file("t.csv")), go_on);
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
      {"a,b,a\n", "two columns, 1 and 3, of one name"},
      {"a\n\"1", "row 2: a quote is not closed"},
      {std::string("\xff\xfe"
                   "a\0",
                   4),
       "is text in UTF-16; expected UTF-8"},
      {"a\n\"1\"2\n", "row 2"},
  }));
  auto table = Read(text);
  INFO(text);
  CHECK(table.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(table.status().message()), Catch::Contains(words));
}

TEST_CASE("Csv file: an error holds nothing of what is in the file", "[store]") {
  for (const char* text :
       {"canary,b,canary\n", "canary\ncanary,canary\n", "a\n\"canary", "a\n\"canary\"canary\n"}) {
    const auto table = Read(text);
    REQUIRE_FALSE(table.ok());
    CHECK_THAT(std::string(table.status().message()), !Catch::Contains("canary"));
  }
}

TEST_CASE("Csv file: fields are bounded, and who asks can end the reading", "[store]") {
  std::string fields = "a,b\n";
  for (int i = 0; i < 1'000'001; ++i) fields += "1,\n";
  CHECK_THAT(std::string(Read(fields).status().message()), Catch::Contains("more than 2000000 fields"));
  int looks = 0;
  const auto ended =
      Read(fields, [&looks] { return ++looks < 3 ? absl::OkStatus() : absl::CancelledError("gone"); });
  CHECK(ended.status().code() == absl::StatusCode::kCancelled);
  CHECK(looks == 3);
}

}  // namespace
}  // namespace winnow

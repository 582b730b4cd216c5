#include "worker/data/line_parts.h"

#include <fcntl.h>

#include <fstream>

#include "artifact/files.h"
#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;

// What each rank gets of a text.
std::vector<std::string> PartsOf(const std::string& text, const RecordRules& rules, int ranks) {
  const TempFolder folder;
  std::ofstream(folder.path() / "text") << text;
  const OpenFile file = *OpenFile::Open(folder.path() / "text", O_RDONLY);
  std::vector<std::string> parts;
  for (int rank = 0; rank < ranks; ++rank) {
    const absl::StatusOr<RecordPart> part = PartOfRecords(file.descriptor(), rules, rank, ranks);
    if (!part.ok()) return {MessageOf(part.status())};
    parts.push_back(text.substr(0, part->header_end) + text.substr(part->begin, part->end - part->begin));
  }
  return parts;
}

constexpr RecordRules kCsv{true, true, ','};
using Parts = std::vector<std::string>;

TEST_CASE("lines are divided in order, as evenly as they can be") {
  CHECK(PartsOf("1\n2\n3\n4\n5", {}, 2) == Parts{"1\n2\n3\n", "4\n5"});
  CHECK(PartsOf("1\r\n\r\n2\r\n", {}, 2) == Parts{"1\r\n", "\r\n2\r\n"});
  CHECK(PartsOf("a,b\n1,2\n3,4\n", kCsv, 2) == Parts{"a,b\n1,2\n", "a,b\n3,4\n"});
}

TEST_CASE("a line end in a quoted field ends no record, and a quote within a field begins none") {
  CHECK(PartsOf("a,b\n1,\"x\n\"\"y\"\"\n\"\n2,5\" pipe\n3,\"\"\n", kCsv, 3) ==
        Parts{"a,b\n1,\"x\n\"\"y\"\"\n\"\n", "a,b\n2,5\" pipe\n", "a,b\n3,\"\"\n"});
  CHECK_THAT(PartsOf("a,b\n1,\"x\n2,3\n", kCsv, 1)[0],
             Contains("quoted field in record 2 that does not end"));
}

TEST_CASE("each rank gets a line, or every rank gets an error") {
  CHECK_THAT(PartsOf("a\n1\n2\n", kCsv, 3)[0], Contains("has 2 lines of data for 3 ranks"));
  CHECK_THAT(PartsOf("a\n1\n", kCsv, 3)[0], Contains("has 1 line of data for 3 ranks"));
  CHECK_THAT(PartsOf("", {}, 1)[0], Contains("has 0 lines of data"));
}

TEST_CASE("many lines are divided exactly, wherever the pieces of the file end") {
  std::string text, again;
  for (int i = 0; i < 30'000; ++i) text += std::string(i % 90, 'x') + std::to_string(i) + "\n";
  const Parts parts = PartsOf(text, {}, 7);
  for (const std::string& part : parts) {
    CHECK(std::abs(std::count(part.begin(), part.end(), '\n') - 30'000 / 7) <= 1);
    again += part;
  }
  CHECK(again == text);
}

TEST_CASE("what a file is decides how it is divided") {
  const auto why = [](const char* name, std::string_view begin) {
    return MessageOf(RulesOf(name, begin, "", "", "").status());
  };
  CHECK(RulesOf("a.tsv", "a;b\tc\td\n", "", "", "")->separator == '\t');
  CHECK(RulesOf("a.csv", "a,b\n", "", "no", ";")->separator == ';');
  CHECK_FALSE(RulesOf("a.csv", "a,b\n", "", "no", "")->header);
  CHECK_FALSE(RulesOf("a.jsonl", "{\"a\": 1}\n", "", "", "")->quotes);
  CHECK_FALSE(RulesOf("unknown", "{\"a\": 1}\n", "", "", "")->header);
  CHECK_THAT(why("a.csv.gz", "\x1f\x8b\x08"), Contains("is compressed"));
  CHECK_THAT(why("a.parquet", "PAR1"), Contains("neither CSV nor JSON lines"));
}

}  // namespace
}  // namespace winnow

#include "trainers/data/csv_cells.h"

#include <random>

#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"
#include "trainers/data/csv_cursor.h"

namespace winnow {
namespace {

struct Record {
  int64_t line;
  std::vector<std::string> fields;
  bool operator==(const Record&) const = default;
};

// The records, then the error as one more; the chunk's lines are counted on from *lines.
void Append(const CsvChunk& chunk, char separator, int64_t* lines, std::vector<Record>* records) {
  CsvCursor cursor(*chunk.file, separator, chunk.begin, chunk.end);
  std::vector<std::string_view> fields;
  while (cursor.NextFields(&fields))
    records->push_back({*lines + cursor.record_line(), {fields.begin(), fields.end()}});
  if (cursor.error()) records->push_back({*lines + cursor.error()->line, {cursor.error()->what}});
  *lines += cursor.line() - 1;
}

std::vector<Record> Whole(const SourceFile& file, char separator) {
  std::vector<Record> records;
  int64_t lines = 0;
  Append({&file, 0, file.bytes.size()}, separator, &lines, &records);
  return records;
}

std::vector<Record> InChunks(const SourceFile& file, char separator, size_t chunk_bytes) {
  std::vector<Record> records;
  int64_t lines = 0;
  size_t end = 0;
  for (const CsvChunk& chunk : CutIntoChunks(file, separator, 0, true, chunk_bytes)) {
    CHECK(chunk.begin == end);
    end = chunk.end;
    const size_t before = records.size();
    Append(chunk, separator, &lines, &records);
    // Text after the first error does not count.
    if (records.size() > before && records.back().fields.size() == 1 &&
        records.back().fields[0].find("quotation mark") != std::string::npos)
      return records;
  }
  CHECK(end == file.bytes.size());
  return records;
}

TEST_CASE("CsvChunk: cut anywhere, the records and their lines are those of the whole", "[data]") {
  DataFolder folder;
  std::mt19937 random(3);
  const std::string alphabet = "\"\"\"\",,;\n\n\r \tab1";
  int with_error = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text;
    for (size_t size = 1 + random() % 60; size > 0; --size) text += alphabet[random() % alphabet.size()];
    const char separator = ",;\t "[random() % 4];
    const absl::StatusOr<SourceFile> file = ReadTextFile(folder.Write("t.csv", text));
    REQUIRE(file.ok());
    const std::vector<Record> whole = Whole(*file, separator);
    with_error += !whole.empty() && whole.back().fields.size() == 1 &&
                  whole.back().fields[0].find("quotation mark") != std::string::npos;
    for (const size_t chunk_bytes : {1, 2, 5, 17}) {
      INFO("text: " << text << "\nseparator '" << separator << "', chunks of " << chunk_bytes);
      REQUIRE(InChunks(*file, separator, chunk_bytes) == whole);
    }
  }
  CHECK(with_error > 100);
}

TEST_CASE("CsvChunk: line ends in quoted fields part nothing", "[data]") {
  DataFolder folder;
  const std::string text = "1,\"a\nb\"\"\n\"\n2, \"c\n\"\n3,5\" pipe\n4,d\n";
  const absl::StatusOr<SourceFile> file = ReadTextFile(folder.Write("t.csv", text));
  REQUIRE(file.ok());
  const std::vector<CsvChunk> chunks = CutIntoChunks(*file, ',', 0, true, 1);
  REQUIRE(chunks.size() == 4);
  CHECK(file->bytes.substr(chunks[1].begin, chunks[1].end - chunks[1].begin) == "2, \"c\n\"\n");
  // If the text continues, the last chunk may be incomplete.
  const SourceFile begin = TextAsFile("t.csv", text.substr(0, text.find("pipe")));
  CHECK(CutIntoChunks(begin, ',', 0, false, 1).size() == 2);
}

}  // namespace
}  // namespace winnow

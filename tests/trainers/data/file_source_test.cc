#include "trainers/data/file_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST_CASE("FileSource: gzip is known by its bytes, whatever its size and number of members", "[data]") {
  DataFolder folder;
  std::string text;
  for (int i = 0; i < 300000; ++i) text += "the same again ";  // packs 200 to 1: the output grows many times
  for (const std::string& packed : {Gzip(text), Gzip(text.substr(0, 1000)) + Gzip(text.substr(1000)),
                                    Gzip(text) + std::string(512, '\0'), text}) {
    const absl::StatusOr<SourceFile> file = ReadTextFile(folder.Write("any.name", packed));
    REQUIRE(file.ok());
    CHECK(file->bytes == text);
  }
  const absl::StatusOr<SourceFile> empty = ReadTextFile(folder.Write("empty.gz", Gzip("")));
  REQUIRE(empty.ok());
  CHECK(empty->bytes.empty());
}

TEST_CASE("FileSource: gzip cut at any byte is an error, not a shorter file", "[data]") {
  DataFolder folder;
  const std::string packed = Gzip("y,a\n1,2\n0,3\n1,4\n");
  for (size_t size = 2; size < packed.size(); ++size) {
    const absl::StatusOr<SourceFile> file = ReadTextFile(folder.Write("cut.gz", packed.substr(0, size)));
    REQUIRE(file.status().code() == absl::StatusCode::kDataLoss);
    CHECK_THAT(Message(file.status()), Contains(folder.path("cut.gz")));
  }
}

TEST_CASE("FileSource: damaged gzip is an error", "[data]") {
  DataFolder folder;
  const std::string good = Gzip("y,a\n1,2\n0,3\n1,4\n");
  for (size_t at = 10; at < good.size(); ++at) {  // the first 10 bytes hold the time and the like
    std::string packed = good;
    packed[at] = static_cast<char>(packed[at] ^ 0x55);
    CHECK(ReadTextFile(folder.Write("bad.gz", packed)).status().code() == absl::StatusCode::kDataLoss);
  }
}

TEST_CASE("FileSource: what is no readable text file is refused by name", "[data]") {
  DataFolder folder;
  using namespace std::string_literals;
  CHECK(ReadTextFile(folder.path("not-there.csv")).status().code() == absl::StatusCode::kNotFound);
  CHECK_THAT(Message(ReadTextFile(folder.path()).status()), Contains("is a directory"));
  const std::string pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(Message(ReadTextFile(pipe).status()), Contains(pipe) && Contains("pipe"));
  for (const auto& [bytes, name] : {std::pair{"PK\3\4rest"s, "zip"s},
                                    {"PAR1"s, "Parquet"s},
                                    {"\xff\xfey\0"s, "UTF-16"s},
                                    {"BZh91AY"s, "bzip2"s}}) {
    CHECK_THAT(Message(ReadTextFile(folder.Write("x.csv", bytes)).status()),
               Contains("x.csv: is ") && Contains(name));
  }
  CHECK_THAT(Message(ReadTextFile(folder.Write("x.csv", "y,a\n1,2\n0,\0"s)).status()),
             Contains("x.csv:3: a byte 0"));
  const std::string secret = folder.Write("secret.csv", "y,a\n1,2\n");
  REQUIRE(::chmod(secret.c_str(), 0) == 0);
  if (::geteuid() != 0) {
    CHECK(ReadTextFile(secret).status().code() == absl::StatusCode::kPermissionDenied);
  }
}

TEST_CASE("FileSource: a folder is its visible regular files in order of name", "[data]") {
  DataFolder folder;
  for (const char* name : {"d/b.csv", "d/a.csv", "d/.c.csv", "d/sub/e.csv"}) folder.Write(name, name);
  const absl::StatusOr<std::vector<std::string>> files = ListFiles(folder.path("d"));
  REQUIRE(files.ok());
  CHECK(*files == std::vector<std::string>{folder.path("d/a.csv"), folder.path("d/b.csv")});
  CHECK(*ListFiles(folder.path("d/a.csv")) == std::vector<std::string>{folder.path("d/a.csv")});
  std::filesystem::create_directory(folder.path("void"));
  CHECK_THAT(Message(ListFiles(folder.path("void")).status()),
             Contains("void: the directory contains no regular"));
}

TEST_CASE("FileSource: the head of a long file is its first whole lines", "[data]") {
  DataFolder folder;
  std::string text;
  while (text.size() < 5 << 20) text += "a line of the file\n";
  for (const std::string& bytes : {text, Gzip(text)}) {
    const absl::StatusOr<SourceFile> head = ReadTextHead(folder.Write("long.csv", bytes));
    REQUIRE(head.ok());
    CHECK(head->bytes.size() < text.size());
    CHECK(head->bytes.size() > 1 << 20);
    CHECK(head->bytes.ends_with("file\n"));
    CHECK(text.starts_with(head->bytes));
  }
  CHECK(ReadTextHead(folder.Write("short.csv", "a,b"))->bytes == "a,b");
}

TEST_CASE("FileSource: a long file whose lines end with CR has a head too", "[data]") {
  DataFolder folder;
  std::string text;
  while (text.size() < 5 << 20) text += "a line of the file\r";
  const absl::StatusOr<SourceFile> head = ReadTextHead(folder.Write("long.csv", text));
  REQUIRE(head.ok());
  CHECK(head->bytes.size() < text.size());
  CHECK(head->bytes.ends_with("file\r"));
}

}  // namespace
}  // namespace winnow

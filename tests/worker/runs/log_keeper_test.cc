#include "worker/runs/log_keeper.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

constexpr int64_t kKept = 1000;

// Keeps the text, added in pieces of that size; returns the file.
std::string FileOf(const std::string& text, size_t piece) {
  TempFolder folder;
  const std::filesystem::path path = folder / "log";
  {
    auto keeper = LogKeeper::Create(
        path, 100, [](int64_t, std::string_view, bool) {}, kKept);
    REQUIRE(keeper.ok());
    for (size_t at = 0; at < text.size(); at += piece) {
      keeper->Add(std::string_view(text).substr(at, piece));
      REQUIRE(static_cast<int64_t>(std::filesystem::file_size(path)) <= kKept);
    }
  }
  return ReadAll(path);
}

std::string Numbers(int64_t bytes) {
  std::string text;
  for (int line = 0; static_cast<int64_t>(text.size()) < bytes; ++line) text += std::to_string(line) + "\n";
  return text.substr(0, bytes);
}

}  // namespace

TEST_CASE("Log: a stream that fits is kept whole", "[worker]") {
  for (const int64_t bytes : {0, 1, 499, 500, 501, 999, 1000})
    CHECK(FileOf(Numbers(bytes), 7) == Numbers(bytes));
}

TEST_CASE("Log: of a longer stream the first and the last half stay, however it comes", "[worker]") {
  for (const int64_t bytes : {1001, 1499, 1500, 1501, 5000, 123'456}) {
    const std::string text = Numbers(bytes);
    const std::string expected =
        text.substr(0, 500) + std::string(LogKeeper::kLeftOut) + text.substr(bytes - 500);
    for (const size_t piece : {1, 7, 500, 64 << 10}) CHECK(FileOf(text, piece) == expected);
  }
}

TEST_CASE("Log: the server gets the first bytes and is told that there are more", "[worker]") {
  TempFolder folder;
  std::string shipped;
  bool truncated = false;
  auto keeper = LogKeeper::Create(
      folder / "log", 10,
      [&](int64_t offset, std::string_view data, bool more) {
        CHECK(offset == static_cast<int64_t>(shipped.size()));
        shipped += data;
        truncated = more;
      },
      kKept);
  REQUIRE(keeper.ok());
  keeper->Add("0123456");
  CHECK_FALSE(truncated);
  keeper->Add("789abc\nlast\n");
  CHECK(shipped == "0123456789");
  CHECK(truncated);
  CHECK(keeper->LastLines() == "0123456789abc\nlast");
}

TEST_CASE("Log: the server gets the end of a long stream when it has ended, from the start of a line",
          "[worker]") {
  const size_t piece = GENERATE(5, 7);  // 5: the beginning ends where a piece does
  for (const int64_t bytes : {10, 11, 400, 510, 511, 999, 1000, 1001, 1234, 5000, 123'456}) {
    TempFolder folder;
    const std::string text = Numbers(bytes);
    std::string shipped;
    bool truncated = false;
    auto keeper = LogKeeper::Create(
        folder / "log", 10,
        [&](int64_t offset, std::string_view data, bool more) {
          CHECK(offset == static_cast<int64_t>(shipped.size()));
          shipped += data;
          truncated = more;
        },
        kKept);
    REQUIRE(keeper.ok());
    for (size_t at = 0; at < text.size(); at += piece) keeper->Add(std::string_view(text).substr(at, piece));
    keeper->End();
    keeper->End();
    std::string expected = text;
    if (bytes > 510) {
      const size_t line = text.find('\n', bytes - 500) + 1;
      expected = text.substr(0, 10) + "\n[Winnow: " + std::to_string(line - 10) +
                 " bytes of the output were left out here]\n" + text.substr(line);
    }
    CHECK(shipped == expected);
    CHECK(truncated == (bytes > 510));
  }
}

TEST_CASE("Log: of a long stream without lines the server gets the end too", "[worker]") {
  TempFolder folder;
  std::string shipped;
  auto keeper = LogKeeper::Create(folder / "log", 1 << 20,
                                  [&](int64_t, std::string_view data, bool) { shipped += data; });
  REQUIRE(keeper.ok());
  keeper->Add(std::string(20 << 20, 'a') + "the end");
  keeper->End();
  CHECK(shipped.size() <= (1 << 20) + (256 << 10));
  CHECK(shipped.ends_with("aaathe end"));
}

TEST_CASE("Log: a file that is created later is there from the first byte", "[worker]") {
  TempFolder folder;
  auto keeper = LogKeeper::CreateLater(folder / "log", 100, [](int64_t, std::string_view, bool) {});
  keeper.Add("");
  CHECK_FALSE(std::filesystem::exists(folder / "log"));
  LogKeeper moved(std::move(keeper));
  moved.Add("one\n");
  moved.Add("two\n");
  CHECK(ReadAll(folder / "log") == "one\ntwo\n");
}

}  // namespace winnow

#include "trainers/data/text_stream.h"

#include <random>

#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("TextStream: what is dropped and what stays make the text, plain and packed", "[data]") {
  DataFolder folder;
  std::mt19937 random(4);
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "row " + std::to_string(i) + "\n";
  const std::string mark = "\xef\xbb\xbf";
  for (const std::string& bytes :
       {text, Gzip(text), Gzip(text.substr(0, 777)) + Gzip(text.substr(777)), mark + text}) {
    for (const size_t window : {10, 1000, 1 << 20}) {
      absl::StatusOr<TextStream> stream = TextStream::Open(folder.Write("t.csv", bytes), window, 2);
      REQUIRE(stream.ok());
      std::string seen;
      int growths = 0;
      while (!stream->at_end()) {
        const std::string_view held = stream->window().bytes;
        CHECK(held.size() >= std::min(window, text.size()));
        const size_t drop = random() % (held.size() + 1);
        seen += held.substr(0, drop);
        REQUIRE(stream->Advance(drop).ok());
        if (random() % 8 == 0 && ++growths < 5) REQUIRE(stream->Grow().ok());
      }
      seen += stream->window().bytes;
      CHECK(seen == text);
    }
  }
}

TEST_CASE("TextStream: a byte 0 and damage far down are found when they are reached", "[data]") {
  DataFolder folder;
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "row\n";
  std::string broken = text;
  broken[15000] = '\0';
  const std::string packed = Gzip(text), cut = packed.substr(0, packed.size() - 9);
  for (const auto& [bytes, what] : {std::pair(broken, "t.csv:3751: a byte 0 at offset 15000"),
                                    std::pair(Gzip(broken), "t.csv:3751: a byte 0 at offset 15000"),
                                    std::pair(cut, "t.csv: gzip data is cut short after")}) {
    absl::StatusOr<TextStream> stream = TextStream::Open(folder.Write("t.csv", bytes), 1000, 1);
    REQUIRE(stream.ok());
    absl::Status status;
    while (status.ok() && !stream->at_end()) status = stream->Advance(stream->window().bytes.size());
    CHECK_THAT(std::string(status.message()), Contains(what));
  }
}

}  // namespace
}  // namespace winnow

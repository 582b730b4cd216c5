#include "worker/runs/redactor.h"

#include <random>

#include "tests/catch.h"

namespace winnow {
namespace {

// What comes out if the text is cut after every `step` bytes.
std::string Redacted(const std::vector<std::string>& values, const std::string& text, size_t step) {
  Redactor redactor(values);
  std::string out;
  for (size_t at = 0; at < text.size(); at += step)
    out += redactor.Add(std::string_view(text).substr(at, step));
  return out + redactor.End();
}

TEST_CASE("Redactor: a value is taken out however the stream is cut", "[worker]") {
  const auto [value, text, expected] = GENERATE(table<std::string, std::string, std::string>({
      {"hunter2", "key=hunter2\n", "key=(secret)\n"},
      {"hunter2", "hunterhunter2hunter", "hunter(secret)hunter"},
      {"aaab", "aaaaab aaa", "aa(secret) aaa"},
      {"abab", "ababab.", "(secret)."},
      {"abcabc", "abcabcabc!", "(secret)!"},
      {"line 1\nline 2", "line 1\nline 2\nline 1\n", "(secret)\nline 1\n"},
      {"none", "", ""},
  }));
  for (size_t step = 1; step <= text.size() + 1; ++step) {
    INFO(text << " in parts of " << step);
    CHECK(Redacted({value}, text, step) == expected);
  }
}

TEST_CASE("Redactor: several values, one in another, and overlapping ones", "[worker]") {
  for (size_t step = 1; step < 9; ++step) {
    CHECK(Redacted({"secret", "secretary"}, "a secretary, a secret", step) == "a (secret), a (secret)");
    CHECK(Redacted({"12345", "45678"}, "x12345678y", step) == "x(secret)y");
  }
}

TEST_CASE("Redactor: no cut of a random stream lets a value through, or takes anything else", "[worker]") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += static_cast<char>('a' + random() % 2);
    const std::vector<std::string> values = {"abba", "babab", "aaaabb"};
    const std::string whole = Redacted(values, text, text.size());
    CHECK(Redacted(values, text, 1 + random() % 7) == whole);
    for (const std::string& value : values) CHECK(whole.find(value) == std::string::npos);
  }
}

TEST_CASE("Redactor: what cannot be a beginning is passed on at once", "[worker]") {
  Redactor redactor({"hunter2"});
  CHECK(redactor.Add("loss=0.5\n") == "loss=0.5\n");
  CHECK(redactor.Add("hunt").empty());
  CHECK(redactor.Add("ing\n") == "hunting\n");
  CHECK(Redactor({}).Add("anything") == "anything");
}

}  // namespace
}  // namespace winnow

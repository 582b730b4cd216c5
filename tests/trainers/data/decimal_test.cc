#include "trainers/data/decimal.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "tests/catch.h"

namespace winnow {
namespace {

struct Scanned {
  bool known = false;
  size_t length = 0;
  float value = 0;
};

Scanned Scan(const std::string& text) {
  const std::string padded = text + std::string(kTextPadding, '\0');
  Scanned scanned;
  const char* const end = ScanDecimal(padded.data(), &scanned.value);
  scanned.known = end != nullptr;
  if (scanned.known) scanned.length = static_cast<size_t>(end - padded.data());
  return scanned;
}

// Every text that it takes it reads as std::from_chars does; the number of those.
int CheckLikeFromChars(const std::vector<std::string>& texts) {
  int known = 0;
  for (const std::string& text : texts) {
    const Scanned scanned = Scan(text);
    if (!scanned.known) continue;
    ++known;
    float expected = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), expected);
    INFO(text);
    REQUIRE(error == std::errc());
    REQUIRE(scanned.length == static_cast<size_t>(end - text.data()));
    REQUIRE(std::bit_cast<uint32_t>(scanned.value) == std::bit_cast<uint32_t>(expected));
  }
  return known;
}

std::string Printed(const char* format, int precision, double value) {
  char text[400];
  std::snprintf(text, sizeof text, format, precision, value);
  return text;
}

TEST_CASE("Decimal: random numbers in every notation are the nearest floats", "[data]") {
  std::mt19937_64 random(5);
  std::vector<std::string> texts;
  for (int i = 0; i < 200000; ++i) {
    const auto value = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(random())));
    const auto small = static_cast<double>(static_cast<int64_t>(random() % 2000001) - 1000000) / 977;
    if (!std::isfinite(value)) continue;
    texts.push_back(Printed("%.*g", static_cast<int>(random() % 20), value));
    texts.push_back(Printed("%.*e", static_cast<int>(random() % 18), value));
    texts.push_back(Printed("%.*f", static_cast<int>(random() % 12), small));
    texts.push_back(std::to_string(random() >> random() % 64));
    texts.push_back(texts.back() + "e" + std::to_string(static_cast<int>(random() % 60) - 30));
  }
  CHECK(CheckLikeFromChars(texts) > 400000);
}

TEST_CASE("Decimal: at and beside the middle between two floats the rounding is exact", "[data]") {
  std::mt19937_64 random(6);
  std::vector<std::string> texts = {"16777217", "16777219", "16777217.0000001", "16777216.9999999"};
  for (int i = 0; i < 100000; ++i) {
    const auto bits = static_cast<uint32_t>(0x38000000 + random() % 0x10000000);
    const double below = static_cast<double>(std::bit_cast<float>(bits)),
                 above = static_cast<double>(std::bit_cast<float>(bits + 1));
    texts.push_back(Printed("%.*g", 17, (below + above) / 2));
    texts.push_back(Printed("%.*g", 16, (below + above) / 2));
    texts.push_back(Printed("%.*f", 10, (below + above) / 2));
  }
  CheckLikeFromChars(texts);
  CHECK_FALSE(Scan("16777217").known);  // halfway: not its to say
}

TEST_CASE("Decimal: takes digits of any number and stops at what is none", "[data]") {
  CHECK(Scan("12,5").length == 2);
  CHECK(Scan("12,5").value == 12);
  CHECK(Scan("-.5 ").value == -0.5f);
  CHECK(Scan("5.").length == 2);
  CHECK_FALSE(Scan("0000000000000000012.5").known);  // twenty digits: too many to be sure of
  CHECK(Scan("000000000012.5000000").value == 12.5f);
  CHECK(std::signbit(Scan("-0").value));
  for (const char* none : {"", "-", ".", "-.", "+1", "e5", "1e", "1e+", "x", "nan", "inf", "--1", "\xff"}) {
    INFO(none);
    CHECK_FALSE(Scan(none).known);
  }
}

}  // namespace
}  // namespace winnow

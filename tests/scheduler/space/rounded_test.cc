#include "scheduler/space/rounded.h"

#include <limits>

#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("Rounded: three digits, as short as they are", "[scheduler]") {
  CHECK(ThreeDigits(0.41588830833596718) == "0.416");
  CHECK(ThreeDigits(-0.5) == "-0.5");
  CHECK(ThreeDigits(0) == "0");
  CHECK(ThreeDigits(15'249.7) == "15200");
  CHECK(ThreeDigits(-999.6) == "-1000");
  CHECK(ThreeDigits(1.23456e-7) == "1.23e-07");
  CHECK(ThreeDigits(6.02214e23) == "6.02e+23");
  CHECK(ThreeDigits(std::numeric_limits<double>::infinity()) == "inf");
}

TEST_CASE("Rounded: six digits, or as many as tell two numbers apart", "[scheduler]") {
  CHECK(SixDigits(0.9850230769230768) == "0.985023");
  CHECK(SixDigits(0.5) == "0.5");
  CHECK(SixDigits(1'234'567) == "1234570");
  CHECK(SixDigits(0.98333333, 0.98) == "0.983333");
  CHECK(SixDigits(0.98333333, 0.98333335) == "0.98333333");
  CHECK(SixDigits(0.1 + 0.2, 0.3) == "0.30000000000000004");
  CHECK(SixDigits(0.3, 0.3) == "0.3");
  CHECK(SixDigits(std::numeric_limits<double>::quiet_NaN(), 0.5) == "nan");
}

TEST_CASE("Rounded: parts in per cent, none is said to be nothing", "[scheduler]") {
  CHECK(Percent(0.125, 1) == "12.5 %");
  CHECK(Percent(0.04167, 2) == "4.17 %");
  CHECK(Percent(1, 1) == "100 %");
  CHECK(Percent(0.0004, 1) == "less than 0.05 %");
  CHECK(Percent(0.999, 0) == "more than 99.5 %");
}

}  // namespace
}  // namespace winnow

#include "base/hash.h"

#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("Hash: the numbers of SplitMix64's reference implementation", "[base]") {
  // Vigna's splitmix64.c from state 1234567.
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15ULL;
  CHECK(MixBits(1234567) == 6457827717110365317ULL);
  CHECK(MixBits(1234567 + kStep) == 3203168211198807973ULL);
  CHECK(MixBits(1234567 + 2 * kStep) == 9817491932198370423ULL);
}

TEST_CASE("Hash: units are at least 0 and below 1", "[base]") {
  CHECK(UnitOf(0) == 0);
  CHECK(UnitOf(~0ULL) == 1 - 0x1p-53);
  CHECK(UnitOf(1ULL << 63) == 0.5);
}

}  // namespace
}  // namespace winnow

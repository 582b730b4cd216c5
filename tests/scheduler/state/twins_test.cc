#include "scheduler/state/twins.h"

#include "scheduler/state/job_state.h"
#include "tests/catch.h"

namespace winnow {
namespace {

Twins::Print PrintAt(const Curve& curve, int64_t level) { return Twins::PrintOf({&curve}, level); }

// The trial arrives at rungs 0, 1 and so on of the levels 1, 2, ... with these values.
std::vector<TrialNumber> ArrivesWith(Twins& twins, TrialNumber number, const std::vector<double>& values) {
  Curve curve;
  std::vector<TrialNumber> now;
  for (size_t rung = 0; rung < values.size(); ++rung) {
    const auto level = static_cast<int64_t>(rung) + 1;
    curve.Add(level, values[rung]);
    for (const TrialNumber twin : twins.Arrived(rung, number, PrintAt(curve, level))) now.push_back(twin);
  }
  return now;
}

TEST_CASE("Twins: a print is of all values up to a level, to the bit", "[scheduler]") {
  const Curve curve = {{1, 0.5}, {2, 0.25}, {3, 0.125}}, longer = {{1, 0.5}, {2, 0.25}, {3, 0.1}};
  CHECK(PrintAt(curve, 2).bits == PrintAt(longer, 2).bits);
  CHECK(PrintAt(curve, 3).bits != PrintAt(longer, 3).bits);
  CHECK(PrintAt(curve, 1).bits != PrintAt(curve, 2).bits);
  CHECK_FALSE(PrintAt(curve, 1).moves);
  CHECK(PrintAt(curve, 2).moves);
  const Curve zero = {{1, 0.0}}, minus_zero = {{1, -0.0}};
  CHECK(PrintAt(zero, 1).bits != PrintAt(minus_zero, 1).bits);
  CHECK(Twins::PrintOf({&curve, &zero}, 3).bits != Twins::PrintOf({&curve, &minus_zero}, 3).bits);
}

TEST_CASE("Twins: who starts the same is a twin once two others were the same at the next rung as well",
          "[scheduler]") {
  Twins twins;
  CHECK(ArrivesWith(twins, 1, {0.5, 0.6}).empty());
  CHECK(ArrivesWith(twins, 2, {0.5, 0.6}).empty());
  CHECK(ArrivesWith(twins, 3, {0.5}).empty());
  CHECK(twins.OriginalOf(3) == 3);
  // The second one settles it, for those that have come before too.
  CHECK(ArrivesWith(twins, 4, {0.5, 0.6}) == std::vector<TrialNumber>{2, 3, 4});
  CHECK(twins.OriginalOf(3) == 1);
  CHECK(ArrivesWith(twins, 5, {0.5}) == std::vector<TrialNumber>{5});
  CHECK(ArrivesWith(twins, 6, {0.4}).empty());
  CHECK_FALSE(twins.IsTwin(1));
  CHECK_FALSE(twins.IsTwin(6));
  CHECK_FALSE(twins.IsTwin(7));  // unknown
}

TEST_CASE("Twins: values that are the same by chance part, and make no twins", "[scheduler]") {
  Twins twins;
  for (TrialNumber number = 1; number <= 20; ++number)
    CHECK(ArrivesWith(twins, number, {0.5, 0.6 + 0.01 * static_cast<double>(number % 7)}).empty());
  CHECK_FALSE(twins.IsTwin(20));
}

TEST_CASE("Twins: staying the same counts for higher rungs, parting for lower ones", "[scheduler]") {
  Twins twins;
  for (TrialNumber number = 1; number <= 3; ++number) ArrivesWith(twins, number, {0.5, 0.6});
  CHECK(twins.IsTwin(3));
  ArrivesWith(twins, 4, {0.1, 0.2, 0.3});
  CHECK(ArrivesWith(twins, 5, {0.1, 0.2}) == std::vector<TrialNumber>{5, 5});
  for (TrialNumber number = 6; number <= 9; ++number)
    ArrivesWith(twins, number, {0.1, 0.2, 0.3 + 0.1 * static_cast<double>(number)});
  CHECK_FALSE(twins.IsTwin(3));
  CHECK_FALSE(twins.IsTwin(5));
}

TEST_CASE("Twins: curves that never change say nothing", "[scheduler]") {
  Twins twins;
  for (TrialNumber number = 1; number <= 20; ++number)
    CHECK(ArrivesWith(twins, number, {0.5, 0.5, 0.5}).empty());
}

}  // namespace
}  // namespace winnow

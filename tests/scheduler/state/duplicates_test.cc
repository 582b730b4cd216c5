#include "scheduler/state/duplicates.h"

#include "scheduler/state/job_state.h"
#include "tests/catch.h"

namespace winnow {
namespace {

Duplicates::Print PrintAt(const Curve& curve, int64_t level) { return Duplicates::PrintOf({&curve}, level); }

// The trial arrives at rungs 0, 1 and so on of the levels 1, 2, ... with these values.
std::vector<TrialNumber> ArrivesWith(Duplicates& duplicates, TrialNumber number,
                                     const std::vector<double>& values) {
  Curve curve;
  std::vector<TrialNumber> now;
  for (size_t rung = 0; rung < values.size(); ++rung) {
    const auto level = static_cast<int64_t>(rung) + 1;
    curve.Add(level, values[rung]);
    for (const TrialNumber each : duplicates.Arrived(rung, number, PrintAt(curve, level)))
      now.push_back(each);
  }
  return now;
}

TEST_CASE("Duplicates: a print is of all values up to a level, to the bit", "[scheduler]") {
  const Curve curve = {{1, 0.5}, {2, 0.25}, {3, 0.125}}, longer = {{1, 0.5}, {2, 0.25}, {3, 0.1}};
  CHECK(PrintAt(curve, 2).bits == PrintAt(longer, 2).bits);
  CHECK(PrintAt(curve, 3).bits != PrintAt(longer, 3).bits);
  CHECK(PrintAt(curve, 1).bits != PrintAt(curve, 2).bits);
  CHECK_FALSE(PrintAt(curve, 1).moves);
  CHECK(PrintAt(curve, 2).moves);
  const Curve zero = {{1, 0.0}}, minus_zero = {{1, -0.0}};
  CHECK(PrintAt(zero, 1).bits != PrintAt(minus_zero, 1).bits);
  CHECK(Duplicates::PrintOf({&curve, &zero}, 3).bits != Duplicates::PrintOf({&curve, &minus_zero}, 3).bits);
}

TEST_CASE("Duplicates: who starts the same is one once two others were the same at the next rung as well",
          "[scheduler]") {
  Duplicates duplicates;
  CHECK(ArrivesWith(duplicates, 1, {0.5, 0.6}).empty());
  CHECK(ArrivesWith(duplicates, 2, {0.5, 0.6}).empty());
  CHECK(ArrivesWith(duplicates, 3, {0.5}).empty());
  CHECK(duplicates.OriginalOf(3) == 3);
  // The second one settles it, for those that have come before too.
  CHECK(ArrivesWith(duplicates, 4, {0.5, 0.6}) == std::vector<TrialNumber>{2, 3, 4});
  CHECK(duplicates.OriginalOf(3) == 1);
  CHECK(ArrivesWith(duplicates, 5, {0.5}) == std::vector<TrialNumber>{5});
  CHECK(ArrivesWith(duplicates, 6, {0.4}).empty());
  CHECK_FALSE(duplicates.IsDuplicate(1));
  CHECK_FALSE(duplicates.IsDuplicate(6));
  CHECK_FALSE(duplicates.IsDuplicate(7));  // unknown
}

TEST_CASE("Duplicates: where the original leaves, the next to arrive takes its part", "[scheduler]") {
  Duplicates duplicates;
  for (const TrialNumber number : {2, 1}) ArrivesWith(duplicates, number, {0.5, 0.6});
  ArrivesWith(duplicates, 4, {0.5});
  ArrivesWith(duplicates, 3, {0.5, 0.6});
  REQUIRE(duplicates.OriginalOf(1) == 2);
  REQUIRE(duplicates.OriginalOf(4) == 2);
  CHECK(duplicates.Left(2) == std::vector<TrialNumber>{1});
  CHECK_FALSE(duplicates.IsDuplicate(1));
  CHECK(duplicates.OriginalOf(3) == 1);
  CHECK(duplicates.OriginalOf(4) == 1);
  CHECK(duplicates.Left(3).empty());  // a duplicate
  CHECK(duplicates.OriginalOf(3) == 1);
  CHECK(duplicates.Left(1) == std::vector<TrialNumber>{4});  // not trial 3, which has left too
  CHECK(duplicates.Left(4).empty());
  CHECK(ArrivesWith(duplicates, 5, {0.5}).empty());
  CHECK(ArrivesWith(duplicates, 6, {0.5}) == std::vector<TrialNumber>{6});
  CHECK(duplicates.OriginalOf(6) == 5);
  CHECK(duplicates.Left(7).empty());  // unknown
}

TEST_CASE("Duplicates: values that are the same by chance part, and make no duplicates", "[scheduler]") {
  Duplicates duplicates;
  for (TrialNumber number = 1; number <= 20; ++number)
    CHECK(ArrivesWith(duplicates, number, {0.5, 0.6 + 0.01 * static_cast<double>(number % 7)}).empty());
  CHECK_FALSE(duplicates.IsDuplicate(20));
}

TEST_CASE("Duplicates: staying the same counts for higher rungs, parting for lower ones", "[scheduler]") {
  Duplicates duplicates;
  for (TrialNumber number = 1; number <= 3; ++number) ArrivesWith(duplicates, number, {0.5, 0.6});
  CHECK(duplicates.IsDuplicate(3));
  ArrivesWith(duplicates, 4, {0.1, 0.2, 0.3});
  CHECK(ArrivesWith(duplicates, 5, {0.1, 0.2}) == std::vector<TrialNumber>{5, 5});
  for (TrialNumber number = 6; number <= 9; ++number)
    ArrivesWith(duplicates, number, {0.1, 0.2, 0.3 + 0.1 * static_cast<double>(number)});
  CHECK_FALSE(duplicates.IsDuplicate(3));
  CHECK_FALSE(duplicates.IsDuplicate(5));
}

TEST_CASE("Duplicates: curves that never change say nothing", "[scheduler]") {
  Duplicates duplicates;
  for (TrialNumber number = 1; number <= 20; ++number)
    CHECK(ArrivesWith(duplicates, number, {0.5, 0.5, 0.5}).empty());
}

}  // namespace
}  // namespace winnow

#include "scheduler/state/earnings.h"

#include "tests/catch.h"

namespace winnow {
namespace {

constexpr SuggestionRule kModel = SuggestionRule::kModel, kBreadth = SuggestionRule::kBreadth;

TEST_CASE("Earnings: without evidence each rule has earned what chance gives", "[scheduler]") {
  Earnings earnings;
  CHECK(earnings.Ratio(kModel) == 1);
  for (int before = 0; before < 3; ++before) earnings.Arrived(0, kModel, kModel, before, 1);
  CHECK(earnings.Ratio(kModel) == 1);  // the first to arrive are records by themselves
}

TEST_CASE("Earnings: records raise the ratio of the rule that set them, arrivals without one lower it",
          "[scheduler]") {
  Earnings earnings;
  for (int before = 3; before < 40; ++before) {
    earnings.Arrived(0, before % 2 == 0 ? kModel : kBreadth, before % 2 == 0 ? kModel : kBreadth, before,
                     before % 4 == 0 ? 1 : 0);
  }
  CHECK(earnings.Ratio(kModel) > 2);
  CHECK(earnings.Ratio(kBreadth) < 1);
  CHECK(earnings.Ratio(SuggestionRule::kDensity) == 1);
}

TEST_CASE("Earnings: who created the trial and who chose its part share a record", "[scheduler]") {
  Earnings both, apart;
  both.Arrived(1, kModel, kModel, 9, 1);
  apart.Arrived(1, kModel, kBreadth, 9, 1);
  CHECK(both.Ratio(kModel) == Approx((1 + 1) / (1 + 0.1)));
  CHECK(apart.Ratio(kModel) == Approx((1 + 0.5) / (1 + 0.05)));
  CHECK(apart.Ratio(kBreadth) == apart.Ratio(kModel));
}

TEST_CASE("Earnings: a part of a record counts as that part", "[scheduler]") {
  Earnings half;
  half.Arrived(0, kModel, kBreadth, 4, 0.5);
  CHECK(half.Ratio(kModel) == Approx((1 + 0.25) / (1 + 0.1)));
  CHECK(half.Ratio(kBreadth) == half.Ratio(kModel));
}

TEST_CASE("Earnings: what was earned long ago counts less", "[scheduler]") {
  Earnings earnings;
  earnings.Arrived(0, kModel, kModel, 10, 1);
  const double then = earnings.Ratio(kModel);
  for (int before = 11; before < 100; ++before) earnings.Arrived(0, kBreadth, kBreadth, before, 0);
  CHECK(earnings.Ratio(kModel) < then);
  CHECK(earnings.Ratio(kModel) > 1);
}

}  // namespace
}  // namespace winnow

#include "trainers/collective/group_error.h"

#include "absl/status/status.h"
#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("Errors of a group: a rank's own reason goes with its number", "[collective]") {
  const absl::Status own = absl::InvalidArgumentError("part-2.csv: line 7: too few columns");
  CHECK(OfRank(1, own) == absl::InvalidArgumentError("rank 1: part-2.csv: line 7: too few columns"));
  CHECK(RankToBlame(own) == std::nullopt);
}

TEST_CASE("Errors of a group: at second hand a reason reads as the first told it", "[collective]") {
  for (const absl::Status& told :
       {IsGone(2, "connection closed"), StandsStill(2, "AllGather", std::chrono::seconds(2)), SendsGarbage(2),
        OfRank(2, absl::DataLossError("no space left"))}) {
    CHECK(OfRank(1, told) == told);
    CHECK(RankToBlame(OfRank(1, told)) == 2);
  }
}

}  // namespace
}  // namespace winnow

#include "trainers/mlp/profile/profile.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"
#include "tests/trainers/collective/run_ranks.h"
#include "trainers/mlp/profile/trace.h"

namespace winnow::mlp {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

RankProfile WithForwardSteps(int steps) {
  RankProfile rank;
  for (int s = 0; s < steps; ++s) {
    const int64_t begin = 200 * kMillisecond * s;
    rank.spans.push_back({Phase::kForward, 0, s, begin, begin + (s + 1) * kMillisecond});
    rank.spans.push_back({Phase::kForward, 1, s, begin, begin + 150 * kMillisecond});
    rank.seconds[static_cast<int>(Phase::kForward)] += (s + 1) * 1e-3;
  }
  return rank;
}

TEST_CASE("Profile: keeps so many spans, and counts the seconds of all of thread 0", "[mlp]") {
  Profile profile(2);
  const Profile::Clock::time_point begin = Profile::Clock::now(), end = begin + std::chrono::seconds(2);
  for (int64_t step = 0; step < 3; ++step) profile.Add(Phase::kUpdate, 0, step, begin, end);
  profile.Add(Phase::kUpdate, 1, 3, begin, end);
  CHECK(profile.spans().size() == 2);
  CHECK(profile.spans()[1].step == 1);
  CHECK(profile.spans()[1].end_ns - profile.spans()[1].begin_ns == 2000 * kMillisecond);
  CHECK(profile.Seconds(Phase::kUpdate) == Approx(6));
  CHECK(profile.Seconds(Phase::kLoad) == 0);
}

TEST_CASE("Profile: a scope is a span, and without a profile nothing", "[mlp]") {
  Profile profile;
  { const ProfileScope scope(&profile, Phase::kLoad, 5, 1); }
  { const ProfileScope scope(nullptr, Phase::kLoad, 5); }
  REQUIRE(profile.spans().size() == 1);
  CHECK(profile.spans()[0].phase == Phase::kLoad);
  CHECK(profile.spans()[0].step == 5);
  CHECK(profile.spans()[0].thread == 1);
}

TEST_CASE("Trace: every rank gets every rank's profile", "[mlp]") {
  const auto all = RunRanks(MakeThreadRanks(3), [](Communicator* mine) {
    Profile profile;
    const Profile::Clock::time_point begin = Profile::Clock::now();
    profile.Add(Phase::kBackward, 2, 40 + mine->rank(), begin, begin + std::chrono::seconds(1));
    profile.AddValue("gradient_norm", 9, mine->rank() + 0.5);
    return GatherProfiles(profile, mine);
  });
  for (const auto& profiles : all) {
    REQUIRE(profiles.ok());
    REQUIRE(profiles->size() == 3);
    for (int r = 0; r < 3; ++r) {
      const RankProfile& rank = (*profiles)[r];
      CHECK(rank.rank == r);
      REQUIRE(rank.spans.size() == 1);
      CHECK(rank.spans[0].phase == Phase::kBackward);
      CHECK(rank.spans[0].step == 40 + r);
      REQUIRE(rank.values.size() == 1);
      CHECK(rank.values[0].name == "gradient_norm");
      CHECK(rank.values[0].value == r + 0.5);
    }
  }
}

TEST_CASE("Trace: is JSON with an event for each span and a counter for each value", "[mlp]") {
  RankProfile rank = WithForwardSteps(2);
  rank.rank = 3;
  rank.values = {{"a \"norm\"", 1, 2.5}, {"of no step", 77, 1}, {"infinite", 1, INFINITY}};
  const nlohmann::json trace = nlohmann::json::parse(ChromeTrace({rank}));
  const nlohmann::json& events = trace.at("traceEvents");
  REQUIRE(events.size() == 6);
  CHECK(events[0]["args"]["name"] == "rank 3");
  CHECK(events[4]["ph"] == "X");
  CHECK(events[4]["name"] == "forward");
  CHECK(events[4]["pid"] == 3);
  CHECK(events[4]["tid"] == 1);
  CHECK(events[4]["ts"] == 200000.0);
  CHECK(events[4]["dur"] == 150000.0);
  CHECK(events[4]["args"]["step"] == 1);
  CHECK(events[5]["ph"] == "C");
  CHECK(events[5]["args"]["a \"norm\""] == 2.5);
}

TEST_CASE("Trace: a phase's times are of thread 0, step by step", "[mlp]") {
  RankProfile rank = WithForwardSteps(100);                            // of 1, 2, ... 100 ms
  rank.spans.push_back({Phase::kForward, 0, 0, 0, 2 * kMillisecond});  // step 0 goes on
  rank.seconds[static_cast<int>(Phase::kLoad)] = 5.05 / 3;
  const PhaseTimes forward = TimesOf(rank)[static_cast<int>(Phase::kForward)];
  CHECK(forward.seconds == Approx(5.05));
  CHECK(forward.share == Approx(0.75));
  CHECK(forward.mean == Approx(0.05052));
  CHECK(forward.p99 == Approx(0.099));
  CHECK(TimesOf(rank)[static_cast<int>(Phase::kUpdate)].mean == 0);
}

TEST_CASE("Trace: the table has a line per rank and phase", "[mlp]") {
  RankProfile first = WithForwardSteps(3), second = first;
  second.rank = 1;
  CHECK(PhaseTable({first, second}) ==
        "rank  phase          seconds   share  mean ms/step      p99 ms\n"
        "   0  forward          0.006  100.0%         2.000       3.000\n"
        "   1  forward          0.006  100.0%         2.000       3.000\n");
}

}  // namespace
}  // namespace winnow::mlp

#include "scheduler/state/front_share.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "scheduler/models/hypervolume.h"
#include "scheduler/space/random.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

Standing DrawStanding(uint64_t seed, TrialNumber number, size_t objectives) {
  const auto draw = [&](uint64_t i) { return RandomUnit(seed, number, Purpose::kSimulation, i); };
  Standing standing{number, {}, 0};
  for (size_t i = 0; i < objectives; ++i) standing.keys.push_back(std::floor(12 * draw(i)) / 4);
  if (draw(10) < 0.1) standing.keys[0] = kNaN;
  if (draw(11) < 0.05) standing.keys.clear();
  if (draw(12) < 0.3) standing.violation = std::floor(4 * draw(13));
  if (draw(14) < 0.05) standing.violation = std::numeric_limits<double>::infinity();
  return standing;
}

TEST_CASE("Front share: as the ranking of all that came, whatever was taken or failed later", "[scheduler]") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const size_t count = 1 + seed % 4;
    std::vector<Objective> objectives;
    for (size_t i = 0; i < count; ++i) objectives.push_back({"m" + std::to_string(i), Goal::kMinimize, {}});
    if (seed % 3 == 0) objectives[0].threshold = 1.5;
    const int64_t eta = 2 + static_cast<int64_t>(seed % 3);
    FrontShare share(eta, objectives);
    std::vector<Standing> all;
    std::set<TrialNumber> taken;
    for (TrialNumber n = 1; n <= 60; ++n) {
      share.Add(DrawStanding(seed, n, count));
      all.push_back(DrawStanding(seed, n, count));
      const auto one = static_cast<TrialNumber>(1 + RandomUnit(seed, n, Purpose::kSimulation, 20) *
                                                        static_cast<double>(n));
      if (n % 3 == 0) {
        share.Take(one);
        taken.insert(one);
      }
      if (n % 5 == 0) {
        share.Fail(one);
        taken.insert(one);
        all[one - 1].keys.clear();
      }
      const std::vector<RankedTrial> ranking = RankingOf(objectives, all);
      const auto finite = std::count_if(all.begin(), all.end(), [](const auto& s) { return s.finite(); });
      const int64_t places = std::min<int64_t>(n / eta, finite);
      std::optional<TrialNumber> waiting;
      for (int64_t i = places - 1; i >= 0; --i) {
        if (taken.count(ranking[i].number) == 0) waiting = ranking[i].number;
      }
      CAPTURE(seed, n);
      REQUIRE(share.size() == n);
      REQUIRE(share.places() == n / eta);
      REQUIRE(share.best_waiting() == waiting);
      for (int64_t i = 0; i < n; ++i) {
        const TrialNumber number = ranking[i].number;
        REQUIRE(share.IsTop(number) == (i < places));
        REQUIRE(share.Rank(number) == std::min<int64_t>(i, finite));
        REQUIRE(share.FrontOf(number) == ranking[i].front);
        if (i < std::min<int64_t>(std::max<int64_t>(1, n / eta), finite)) REQUIRE(share.IsTopOrTied(number));
      }
    }
  }
}

TEST_CASE("Front share: a failure that is taken back leaves nothing", "[scheduler]") {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const size_t count = 1 + seed % 4;
    std::vector<Objective> objectives;
    for (size_t i = 0; i < count; ++i) objectives.push_back({"m" + std::to_string(i), Goal::kMinimize, {}});
    FrontShare share(2, objectives);
    for (TrialNumber n = 1; n <= 30; ++n) share.Add(DrawStanding(seed, n, count));
    for (TrialNumber n = 1; n <= 30; n += 3) share.Take(n);
    for (TrialNumber n = 1; n <= 30; ++n) {
      CAPTURE(seed, n);
      const bool taken = n % 3 == 1;
      FrontShare other = share;
      other.Return(DrawStanding(seed, n, count), taken);
      REQUIRE(other == share);  // it has not failed
      other.Fail(n);
      other.Return(DrawStanding(seed, n, count), taken);
      REQUIRE(other == share);
      REQUIRE(other.best_waiting() == share.best_waiting());
    }
  }
}

TEST_CASE("Front share: long fronts, asked in between, are ordered as the ranking of all", "[scheduler]") {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const size_t count = 2 + seed % 3;
    std::vector<Objective> objectives;
    for (size_t i = 0; i < count; ++i) objectives.push_back({"m" + std::to_string(i), Goal::kMinimize, {}});
    if (seed >= 3) objectives[0].threshold = 0.5;
    FrontShare share(3, objectives);
    std::vector<Standing> all;
    std::set<TrialNumber> taken;
    size_t longest = 0;
    for (TrialNumber n = 1; n <= 240; ++n) {
      Standing standing{n, {}, 0};
      double rest = 0;  // near a plane on which none dominates another
      for (size_t i = 0; i < count; ++i) {
        const double draw = RandomUnit(seed, n, Purpose::kSimulation, i);
        standing.keys.push_back(i + 1 < count ? draw : 0.1 * draw - rest);
        rest += draw;
      }
      all.push_back(standing);
      share.Add(std::move(standing));
      if (n % 11 == 0) {
        const auto one = static_cast<TrialNumber>(1 + RandomUnit(seed, n, Purpose::kSimulation, 20) *
                                                          static_cast<double>(n));
        share.Fail(one);
        all[one - 1].keys.clear();
        taken.insert(one);
      }
      const auto finite = std::count_if(all.begin(), all.end(), [](const auto& s) { return s.finite(); });
      const int64_t places = std::min<int64_t>(n / 3, finite);
      const std::vector<RankedTrial> ranking = RankingOf(objectives, all);
      longest = std::max(longest, share.first_front());
      // Every other trial with an even number is passed over.
      std::optional<TrialNumber> waiting, odd;
      for (int64_t i = places - 1; i >= 0; --i) {
        if (taken.count(ranking[i].number) > 0) continue;
        waiting = ranking[i].number;
        if (ranking[i].number % 2 == 1) odd = ranking[i].number;
      }
      CAPTURE(seed, n);
      REQUIRE(share.best_waiting([](TrialNumber number) { return number % 2 == 0; }) == odd);
      REQUIRE(share.best_waiting() == waiting);
      if (n % 4 == 0 && waiting) {
        share.Take(*waiting);
        taken.insert(*waiting);
      }
      if (n % 5 != 0) continue;
      for (int64_t i = 0; i < n; ++i) {
        const TrialNumber number = ranking[i].number;
        REQUIRE(share.IsTop(number) == (i < places));
        REQUIRE(share.IsTopOrTied(number) == (i < std::min<int64_t>(std::max<int64_t>(1, n / 3), finite)));
        REQUIRE(share.Rank(number) == std::min<int64_t>(i, finite));
        REQUIRE(share.FrontOf(number) == ranking[i].front);
      }
    }
    if (count > 2) CHECK(longest > kMostByVolume);
  }
}

// How many comparisons an arrival takes, and the promotion that may follow it.
double ComparedPerArrival(TrialNumber trials) {
  FrontShare share(3, {{"a", Goal::kMinimize, {}}, {"b", Goal::kMinimize, {}}, {"c", Goal::kMinimize, {}}});
  for (TrialNumber n = 1; n <= trials; ++n) {
    const auto draw = [n](uint64_t i) { return RandomUnit(1, n, Purpose::kSimulation, i); };
    share.Add({n, {draw(0), draw(1), draw(2)}, 0});
    const auto best = share.best_waiting();
    if (!best) continue;
    share.Rank(*best);  // for the sentence
    share.Take(*best);
  }
  return static_cast<double>(share.compared()) / static_cast<double>(trials);
}

TEST_CASE("Front share: an arrival orders no front but the one that is asked about", "[scheduler]") {
  const double few = ComparedPerArrival(500), many = ComparedPerArrival(2'000);
  CHECK(few > 10);
  CHECK(few < 2'500);
  CHECK(many < 8 * few);
}

TEST_CASE("Front share: arrivals alone, as of a job that is loaded, order nothing", "[scheduler]") {
  FrontShare share(3, {{"a", Goal::kMinimize, {}}, {"b", Goal::kMinimize, {}}, {"c", Goal::kMinimize, {}}});
  for (TrialNumber n = 1; n <= 300; ++n) {
    const auto draw = [n](uint64_t i) { return RandomUnit(1, n, Purpose::kSimulation, i); };
    share.Add({n, {draw(0), draw(1), draw(2)}, 0});
    if (n % 10 == 0) share.Fail(n / 2);
  }
  CHECK(share.compared() == 0);
  CHECK(share.best_waiting());
  CHECK(share.compared() > 0);
}

TEST_CASE("Front share: a record is divided by what the hypervolume would lose", "[scheduler]") {
  FrontShare share(3, {{"a", Goal::kMinimize, 4.0}, {"b", Goal::kMinimize, 4.0}});
  share.Add({1, {kNaN, 0}, 0});
  CHECK(share.PartOfRecord(1) == 0);
  share.Add({2, {1, 1}, 2.0});
  CHECK(share.PartOfRecord(2) == 1);  // the best while none is feasible
  share.Add({3, {5, 3}, 0});
  CHECK(share.PartOfRecord(2) == 0);
  CHECK(share.PartOfRecord(3) == 1);  // no volume, and alone
  share.Add({4, {1, 3}, 0});
  share.Add({5, {3, 2}, 0});
  // The volume is 4, of which trial 4 has 2 of its own, and trial 5 has 1.
  CHECK(share.PartOfRecord(3) == 0);
  CHECK(share.PartOfRecord(4) == Approx(2.0 / 3));
  CHECK(share.PartOfRecord(5) == Approx(1.0 / 3));
}

TEST_CASE("Front share: the parts of a record add up to 1, and with one objective the best has all",
          "[scheduler]") {
  for (const size_t objectives : {1, 2, 3}) {
    std::vector<Objective> goals;
    for (size_t i = 0; i < objectives; ++i) goals.push_back({"m" + std::to_string(i), Goal::kMinimize, {}});
    FrontShare share(3, goals);
    for (TrialNumber n = 1; n <= 80; ++n) {
      Standing standing{n, {}, 0};
      for (size_t i = 0; i < objectives; ++i)
        standing.keys.push_back(RandomUnit(objectives, n, Purpose::kSimulation, i));
      share.Add(std::move(standing));
      double all = 0;
      for (TrialNumber one = 1; one <= n; ++one) {
        all += share.PartOfRecord(one);
        if (objectives == 1) CHECK(share.PartOfRecord(one) == (share.Rank(one) == 0 ? 1 : 0));
      }
      CHECK(all == Approx(1));
    }
  }
}

TEST_CASE("Front share: equal to the last that has a place passes too", "[scheduler]") {
  FrontShare share(2, {{"a", Goal::kMinimize, {}}, {"b", Goal::kMinimize, {}}});
  share.Add({1, {1, 1}, 0});
  CHECK(share.IsTopOrTied(1));
  share.Add({2, {1, 1}, 0});
  CHECK(share.IsTopOrTied(2));
  CHECK_FALSE(share.IsTop(2));
  share.Add({3, {2, 2}, 0});
  CHECK_FALSE(share.IsTopOrTied(3));
  share.Add({4, {1, 1}, 0.5});  // infeasible
  CHECK_FALSE(share.IsTop(4));
}

TEST_CASE("Standing: infeasible trials follow by violation, and what is not finite comes last",
          "[scheduler]") {
  const std::vector<Objective> objectives = {{"a", Goal::kMinimize, {}}, {"b", Goal::kMinimize, {}}};
  const std::vector<Standing> standings = {{1, {0, 0}, 2}, {2, {}, 0},        {3, {9, 9}, 0},
                                           {4, {5, 5}, 1}, {5, {1, kNaN}, 0}, {6, {8, 8}, 0}};
  std::vector<TrialNumber> order;
  for (const RankedTrial& ranked : RankingOf(objectives, standings)) order.push_back(ranked.number);
  CHECK(order == std::vector<TrialNumber>{6, 3, 4, 1, 2, 5});
  CHECK(ReferenceOf(objectives, standings) == ObjectivePoint{9.1, 9.1});
  CHECK(FrontSizeOf(standings) == 1);
}

}  // namespace
}  // namespace winnow

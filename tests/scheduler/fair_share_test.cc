#include "scheduler/fair_share.h"

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/space/random.h"
#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("Fair share: priority, then who waits with a reservation, then fewest slots per weight, then age",
          "[scheduler]") {
  const Claim urgent{9, 5, 1, 100, false}, waits{8, 0, 1, 50, true}, light{7, 0, 1, 3, false},
      heavy{6, 0, 2, 8, false}, young{5, 0, 2, 8, false}, low{1, -1, 1000, 0, true};
  CHECK(std::set<Claim>{low, heavy, light, waits, young, urgent}.begin()->job == urgent.job);
  CHECK(urgent < waits);
  CHECK(waits < light);
  CHECK(light < heavy);
  CHECK(young < heavy);
  CHECK(heavy < low);
  CHECK_FALSE(light < light);
}

TEST_CASE("Fair share: a reservation keeps away all but higher priorities", "[scheduler]") {
  const Claim holder{1, 3}, equal{2, 3}, lower{3, 2}, higher{4, 4};
  CHECK(Binds(holder, equal));
  CHECK(Binds(holder, lower));
  CHECK_FALSE(Binds(holder, higher));
  CHECK_FALSE(Binds(holder, holder));
}

TEST_CASE("Fair share: between projects a reservation keeps away all but higher classes", "[scheduler]") {
  const Claim holder{.job = 1, .priority = 0, .project = 1, .job_class = 2};
  CHECK(Binds(holder, {.job = 2, .priority = 9, .project = 2, .job_class = 2}));
  CHECK(Binds(holder, {.job = 2, .priority = 9, .project = 2, .job_class = 1}));
  CHECK_FALSE(Binds(holder, {.job = 2, .priority = -9, .project = 2, .job_class = 3}));
}

TEST_CASE("Fair share: a higher class comes first, then the project that used and holds least for its weight",
          "[scheduler]") {
  const ProjectClaim high{9, 1, 1, 1e9, 99}, rested{2, 0, 1, 100, 0}, holds{3, 0, 1, 100, 1},
      used{1, 0, 1, 1000, 0}, heavy{4, 0, 100, 1000, 0};
  CHECK(high < rested);
  CHECK(rested < holds);
  CHECK(holds < used);  // a slot that is held counts as if it were held for one minute more
  CHECK(heavy < rested);
  CHECK_FALSE(used < used);
}

TEST_CASE("Fair share: jobs that always want more hold slots as their weights say", "[scheduler]") {
  std::map<int64_t, Claim> claims = {{1, {1, 0, 1}}, {2, {2, 0, 2}}, {3, {3, 0, 5}}};
  for (int slot = 0; slot < 80; ++slot) {
    auto first = std::min_element(claims.begin(), claims.end(),
                                  [](const auto& a, const auto& b) { return a.second < b.second; });
    ++first->second.slots;
  }
  CHECK(claims[1].slots == 10);
  CHECK(claims[2].slots == 20);
  CHECK(claims[3].slots == 50);
}

TEST_CASE("Fair share: any claims have one order", "[scheduler]") {
  std::vector<Claim> claims;
  for (int64_t job = 1; job <= 200; ++job) {
    const auto draw = [job](uint64_t what) { return RandomBits(7, job, Purpose::kSimulation, what); };
    claims.push_back({job, static_cast<int32_t>(draw(0) % 3), 0.5 + static_cast<double>(draw(1) % 4),
                      static_cast<int64_t>(draw(2) % 5), draw(3) % 10 == 0});
  }
  std::vector<Claim> reversed(claims.rbegin(), claims.rend());
  std::sort(claims.begin(), claims.end());
  std::sort(reversed.begin(), reversed.end());
  const auto same = [](const Claim& a, const Claim& b) { return a.job == b.job; };
  CHECK(std::equal(claims.begin(), claims.end(), reversed.begin(), same));
}

}  // namespace
}  // namespace winnow

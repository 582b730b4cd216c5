#include "tests/simulation/simulation.h"

#include <spdlog/spdlog.h>

#include "spec/checks/check_spec.h"
#include "tests/catch.h"

namespace winnow {
namespace {

constexpr uint64_t kSeeds = 20;

TEST_CASE("Simulation: two runs of one seed are the same, whatever ran before", "[simulation]") {
  spdlog::set_level(spdlog::level::off);
  Simulator one, other;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RunResult first = one.Run(seed, Scale::kSmall, false);
    (void)other.Run(seed + 1000, Scale::kSmall, false);
    const RunResult second = other.Run(seed, Scale::kSmall, false);
    INFO("seed " << seed);
    CHECK(first.hash == second.hash);
    CHECK(first.steps == second.steps);
  }
}

TEST_CASE("Simulation: seeds differ", "[simulation]") {
  Simulator simulator;
  CHECK(simulator.Run(1, Scale::kSmall, false).hash != simulator.Run(2, Scale::kSmall, false).hash);
}

TEST_CASE("Simulation: the jobs of a profile are valid", "[simulation]") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    for (const JobProfile& job : DrawProfile(seed, seed % 2 == 0 ? Scale::kSmall : Scale::kLarge).jobs) {
      const auto violations = CheckSpec(job.spec);
      INFO(job.spec.ShortDebugString()
           << (violations.empty() ? "" : violations[0].field + violations[0].description));
      CHECK(violations.empty());
    }
  }
}

TEST_CASE("Simulation: every kind of fault happens", "[simulation]") {
  Simulator simulator;
  std::array<int64_t, kFaults> faults = {};
  for (uint64_t seed = 1; seed <= 10 * kSeeds; ++seed) {
    const RunResult result = simulator.Run(seed, Scale::kSmall, false);
    for (int fault = 0; fault < kFaults; ++fault) faults[fault] += result.faults[fault];
  }
  for (int fault = 0; fault < kFaults; ++fault) {
    INFO(NameOf(static_cast<Fault>(fault)));
    CHECK((faults[fault] > 0) == (static_cast<Fault>(fault) != Fault::kCommitUnknown));  // SQLite has none
  }
}

}  // namespace
}  // namespace winnow

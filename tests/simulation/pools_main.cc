// Plays PlanPools with random engines: pools_seeds [--first 1] [--seeds 20000]; and, compiled with
// WINNOW_MUTANTS as pools_mutants, with one of its promises broken at a time, each of which must be caught.

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/mutant.h"
#include "tests/simulation/pools_simulation.h"

namespace winnow {
namespace {

std::string FirstViolation(int64_t first, int64_t seeds) {
  for (int64_t seed = first; seed < first + seeds; ++seed) {
    if (std::string broken = PlayPools(static_cast<uint64_t>(seed)); !broken.empty())
      return fmt::format("seed {}: {}", seed, broken);
  }
  return "";
}

}  // namespace

#ifdef WINNOW_MUTANTS
namespace {
constexpr std::string_view kPoolMutants[] = {
    "a cancelled allocation takes no nodes any more",
    "what is queued holds nothing",
    "a pool never pauses",
    "any number may queue",
    "a job gets nodes that it cannot pay",
    "a busy worker goes",
    "what a gang waits for goes",
    "the minimum goes",
    "the price of a node is nothing",
    "a worker that leaves soon is room for long parts",
    "idle nodes stay in the place of those that are missing",
    "workers that leave too soon stay",
};
std::string_view active_pool_mutant;
}  // namespace

bool IsActiveMutant(const char* name) {
  for (const std::string_view known : kPoolMutants) {
    if (known == name) return active_pool_mutant == name;
  }
  fmt::print(stderr, "the mutant \"{}\" is not in the list\n", name);
  std::abort();
}
#endif

}  // namespace winnow

int main(int argc, char** argv) {
  using namespace winnow;
  int64_t first = 1, seeds = 20'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--first") == 0) first = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--seeds") == 0) seeds = std::atoll(argv[i + 1]);
  }
#ifdef WINNOW_MUTANTS
  bool all = true;
  for (const std::string_view mutant : kPoolMutants) {
    active_pool_mutant = mutant;
    const std::string broken = FirstViolation(first, std::min<int64_t>(seeds, 3'000));
    fmt::print("{:<50} {}\n", mutant, broken.empty() ? "NOT CAUGHT" : "caught by " + broken);
    all = all && !broken.empty();
  }
  return all ? 0 : 1;
#else
  const std::string broken = FirstViolation(first, seeds);
  fmt::print("{}\n", broken.empty() ? fmt::format("{} seeds: every promise is kept", seeds) : broken);
  return broken.empty() ? 0 : 1;
#endif
}

// Plays projects that share workers: projects_seeds [--first 1] [--seeds 300]; and, compiled with
// WINNOW_MUTANTS as projects_mutants, with one of the promises broken at a time, each of which must be
// caught.

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/mutant.h"
#include "tests/simulation/projects_simulation.h"

namespace winnow {
namespace {

struct PlayedSeeds {
  std::string violation;
  int64_t attempts = 0, preempted = 0, restarts = 0;
  double worst_difference = 0;
};

PlayedSeeds PlaySeeds(int64_t first, int64_t seeds) {
  PlayedSeeds played;
  for (int64_t seed = first; seed < first + seeds && played.violation.empty(); ++seed) {
    const ProjectsResult result = PlayProjects(static_cast<uint64_t>(seed));
    if (!result.violation.empty()) played.violation = fmt::format("seed {}: {}", seed, result.violation);
    played.attempts += result.attempts;
    played.preempted += result.preempted;
    played.restarts += result.restarts;
    played.worst_difference = std::max(played.worst_difference, result.worst_difference);
  }
  return played;
}

}  // namespace

#ifdef WINNOW_MUTANTS
namespace {
constexpr std::string_view kProjectMutants[] = {
    "quotas are not looked at",
    "quotas of persons are not looked at",
    "a gang counts as one slot",
    "any number of jobs may run",
    "trials start when the node-hours are used up",
    "node-hours stop nothing that runs",
    "use never decays",
    "use is forgotten by a restart",
    "weights of projects are ignored",
    "trials of an equal class are preempted",
};
// In the same sources, of other programs.
constexpr std::string_view kOthers[] = {"a trial goes on where its program is not",
                                        "a trial goes on where its checkpoint is not"};
std::string_view active_project_mutant;
}  // namespace

bool IsActiveMutant(const char* name) {
  for (const std::string_view known : kProjectMutants) {
    if (known == name) return active_project_mutant == name;
  }
  if (std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers)) return false;
  fmt::print(stderr, "the mutant \"{}\" is not in the list\n", name);
  std::abort();
}
#endif

}  // namespace winnow

int main(int argc, char** argv) {
  using namespace winnow;
  spdlog::set_level(spdlog::level::off);
  int64_t first = 1, seeds = 300;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--first") == 0) first = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--seeds") == 0) seeds = std::atoll(argv[i + 1]);
  }
#ifdef WINNOW_MUTANTS
  bool all = true;
  for (const std::string_view mutant : kProjectMutants) {
    active_project_mutant = mutant;
    const std::string broken = PlaySeeds(first, std::min<int64_t>(seeds, 300)).violation;
    fmt::print("{:<50} {}\n", mutant, broken.empty() ? "NOT CAUGHT" : "caught by " + broken);
    all = all && !broken.empty();
  }
  return all ? 0 : 1;
#else
  const PlayedSeeds played = PlaySeeds(first, seeds);
  fmt::print(
      "{}\n{} attempts, {} of them preempted, {} kills of the server; a project's part of the slots "
      "differed by at most {:.3f} from its due part\n",
      played.violation.empty() ? fmt::format("{} seeds: every promise is kept", seeds) : played.violation,
      played.attempts, played.preempted, played.restarts, played.worst_difference);
  return played.violation.empty() ? 0 : 1;
#endif
}

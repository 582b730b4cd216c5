// Runs the simulation with one invariant broken at a time; each must be caught within --seeds runs:
//   simulation_mutants [--seeds 2000] [--only NUMBER]

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/simulation/mutation.h"
#include "tests/simulation/simulation.h"

namespace winnow {
namespace {

constexpr int64_t kCalmSeeds = 200;

struct Shared {
  int64_t seed = 0;  // of the current run
  char violation[256] = "";
};

// Runs in a separate process, which a broken invariant may end. True: caught.
bool IsCaught(const Mutation& mutation, int64_t seeds) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* shared = new (memory) Shared;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    active_mutation = mutation.number;
    Simulator simulator;
    for (int64_t seed = 1; seed <= seeds; ++seed) {
      shared->seed = seed;
      const RunResult result = simulator.Run(static_cast<uint64_t>(seed), Scale::kSmall, false);
      if (result.violation.empty()) continue;
      std::snprintf(shared->violation, sizeof(shared->violation), "%s", result.violation.c_str());
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const bool aborted = WIFSIGNALED(status);
  const bool caught = aborted || WEXITSTATUS(status) != 0;
  fmt::print("{:2} {:<48} {} {}\n", mutation.number, mutation.name,
             caught ? fmt::format("caught by seed {}:", shared->seed) : fmt::format("not caught by {} seeds", seeds),
             aborted ? "the process is aborted" : shared->violation);
  munmap(memory, sizeof(Shared));
  return caught;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  using namespace winnow;
  spdlog::set_level(spdlog::level::off);
  int64_t seeds = 2000;
  int only = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--seeds") seeds = std::atoll(argv[i + 1]);
    if (std::string_view(argv[i]) == "--only") only = std::atoi(argv[i + 1]);
  }
  // Without an active mutation the copies must pass.
  bool all = only != 0 || !IsCaught({0, "nothing is broken", true}, kCalmSeeds);
  for (const Mutation& mutation : Mutations()) {
    if (only != 0 && mutation.number != only) continue;
    if (!mutation.there) {
      fmt::print("{:2} {:<48} the line that it breaks is not there any more\n", mutation.number, mutation.name);
      all = false;
    } else {
      all &= IsCaught(mutation, seeds);
    }
  }
  return all ? 0 : 1;
}

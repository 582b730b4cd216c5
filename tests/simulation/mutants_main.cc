// Runs the simulation with one invariant broken at a time; each must be caught within --seeds runs:
//   simulation_mutants [--seeds 2000] [--only NUMBER] [--db ADDRESS]

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "base/mutant.h"
#include "tests/simulation/simulation.h"

namespace winnow {
namespace {

constexpr int64_t kCalmSeeds = 200;

// The names of the WINNOW_MUTANT hooks; each breaks one promise.
constexpr std::string_view kMutants[] = {
    "it is acknowledged before it is committed",
    "nothing is read anew after a commit failed",
    "reports of fenced assignments count",
    "reports that are known count again",
    "a lost worker keeps its ranks",
    "an attempt ends when one rank is gone",
    "a rank takes a slot less than it should",
    "a gang starts when some ranks are prepared",
    "a slot is free as soon as its rank is to stop",
    "a device is free as soon as its rank is to stop",
    "the agent forgets what a failed call said",
    "the agent starts again what has ended",
    "an outcome overtakes its reports",
    "a rank starts without the word to start",
    "one trial more than may run at once",
    "one unit more than the budget is trained",
    "a trial goes on where its checkpoint is not",
    "another attempt begins at the wrong level",
    "no waiting program is let go",
    "a worker gets trials of a project that it may not run",
    "a trial has ranks that cannot reach each other",
    "a parent outlives its job",
    "a suspended program goes on from any level",
    "a trial goes on where its program is not",
    "a trial is trained on before its checkpoint was taken",
    "a part that is held ahead starts without a slot",
    "a part starts on a worker that leaves before its end",
    "a paused job starts trials",
    "a part has ended when its program only saves",
};
std::string_view active_mutant;  // "": none

struct Shared {
  int64_t seed = 0;  // of the current run
  char violation[256] = "";
};

// Runs in a process of its own, since a broken promise may end it. True: caught. `number` is printed.
bool IsCaught(size_t number, std::string_view mutant, int64_t seeds, const std::string& database) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* shared = new (memory) Shared;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    active_mutant = mutant;
    Simulator simulator(database);
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
  const int ended_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const bool aborted = ended_by == SIGABRT || ended_by == SIGSEGV;
  if (ended_by != 0 && !aborted) {  // from outside, such as for want of memory: this says nothing
    fmt::print("{:2} {:<48} ended by signal {} at seed {}\n", number, mutant, ended_by, shared->seed);
    std::exit(1);
  }
  const bool caught = aborted || WEXITSTATUS(status) != 0;
  fmt::print(
      "{:2} {:<48} {} {}\n", number, mutant.empty() ? "nothing is broken" : mutant,
      caught ? fmt::format("caught by seed {}:", shared->seed) : fmt::format("not caught by {} seeds", seeds),
      aborted ? "the process is aborted" : shared->violation);
  munmap(memory, sizeof(Shared));
  return caught;
}

}  // namespace

bool IsActiveMutant(const char* name) {
  if (std::find(std::begin(kMutants), std::end(kMutants), name) == std::end(kMutants)) {
    fmt::print(stderr, "the mutant \"{}\" is not in the list\n", name);
    std::abort();
  }
  return active_mutant == name;
}

}  // namespace winnow

int main(int argc, char** argv) {
  using namespace winnow;
  spdlog::set_level(spdlog::level::off);
  int64_t seeds = 2000;
  size_t only = 0;
  std::string database;  // "": SQLite
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--seeds") seeds = std::atoll(argv[i + 1]);
    if (std::string_view(argv[i]) == "--only") only = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::string_view(argv[i]) == "--db") database = argv[i + 1];
  }
  // The hooks themselves break nothing.
  bool all = only != 0 || !IsCaught(0, "", kCalmSeeds, database);
  for (size_t number = 1; number <= std::size(kMutants); ++number) {
    if (only == 0 || number == only) all &= IsCaught(number, kMutants[number - 1], seeds, database);
  }
  return all ? 0 : 1;
}

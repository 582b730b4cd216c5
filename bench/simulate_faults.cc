// Simulates whole systems under faults, in one thread and in virtual time (tests/simulation), for the given
// time; ends at the first violated invariant, with the command that reproduces it:
//   bench-simulate-faults [--seconds 60 | --decisions 10000000] [--first 1] [--small] [--seed N [--trace]]

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "tests/simulation/report.h"
#include "tests/simulation/simulation.h"

namespace winnow {
namespace {

constexpr double kSaySeconds = 30;  // between two lines of progress

struct Asked {
  double seconds = 60;
  int64_t decisions = std::numeric_limits<int64_t>::max();
  int64_t first = 1;
  bool one = false;
  bool trace = false;
  Scale scale = Scale::kLarge;
};

bool Read(int argc, char** argv, Asked& asked) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--trace") {
      asked.trace = true;
      continue;
    }
    if (flag == "--small" || flag == "--large") {
      asked.scale = flag == "--small" ? Scale::kSmall : Scale::kLarge;
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    if (flag == "--seconds") {
      asked.seconds = std::atof(value);
    } else if (flag == "--decisions") {
      asked.decisions = std::atoll(value);
      asked.seconds = std::numeric_limits<double>::infinity();
    } else if (flag == "--first") {
      asked.first = std::atoll(value);
    } else if (flag == "--seed") {
      asked.first = std::atoll(value);
      asked.one = true;
    } else {
      return false;
    }
  }
  return true;
}

int Run(const char* program, const Asked& asked) {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double said = 0;
  SeedReport report(program, asked.scale);
  Simulator simulator;
  for (int64_t seed = asked.first;; ++seed) {
    report.Begin(seed);
    if (!report.Take(seed, simulator.Run(static_cast<uint64_t>(seed), asked.scale, asked.trace))) return 1;
    if (asked.one || elapsed() >= asked.seconds || report.total().decisions >= asked.decisions) break;
    if (elapsed() - said < kSaySeconds) continue;
    said = elapsed();
    fmt::print("{:.0f} s: {} seeds, {} decisions\n", said, report.seeds(), report.total().decisions);
    std::fflush(stdout);
  }
  report.Print();
  fmt::print("{:.1f} s; {:.0f} decisions and {:.0f} steps per second\n", elapsed(),
             static_cast<double>(report.total().decisions) / elapsed(),
             static_cast<double>(report.total().steps) / elapsed());
  return 0;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  winnow::Asked asked;
  spdlog::set_level(spdlog::level::off);
  if (!winnow::Read(argc, argv, asked)) {
    fmt::print(
        stderr,
        "usage: {} [--seconds S | --decisions N] [--first N] [--small | --large] [--seed N [--trace]]\n",
        argv[0]);
    return 2;
  }
  return winnow::Run(argv[0], asked);
}

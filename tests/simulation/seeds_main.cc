// Runs seeds of the simulation and stops at the first violated invariant:
//   simulation_tests [--first 1] [--seeds 1000] [--shard 0/1] [--small | --large] [--seed N [--trace]]
//     [--db ADDRESS]  in that PostgreSQL database, not on SQLite

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/simulation/report.h"
#include "tests/simulation/simulation.h"

int main(int argc, char** argv) {
  using namespace winnow;
  spdlog::set_level(spdlog::level::off);
  int64_t first = 1, seeds = 1000, shard = 0, shards = 1;
  bool trace = false;
  std::string database;
  Scale scale = Scale::kSmall;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--trace") {
      trace = true;
    } else if (flag == "--small" || flag == "--large") {
      scale = flag == "--large" ? Scale::kLarge : Scale::kSmall;
    } else if (flag == "--seed") {
      first = std::atoll(value), seeds = 1, ++i;
    } else if (flag == "--first") {
      first = std::atoll(value), ++i;
    } else if (flag == "--seeds") {
      seeds = std::atoll(value), ++i;
    } else if (flag == "--db") {
      database = value, ++i;
    } else if (flag == "--shard" && std::strchr(value, '/') != nullptr) {
      shard = std::atoll(value), shards = std::atoll(std::strchr(value, '/') + 1), ++i;
    } else {
      fmt::print(stderr, "{}: unknown argument \"{}\"\n", argv[0], flag);
      return 2;
    }
  }
  SeedReport report(database.empty() ? argv[0] : fmt::format("{} --db '{}'", argv[0], database), scale);
  Simulator simulator(database);
  for (int64_t seed = first; seed < first + seeds; ++seed) {
    if (shards > 1 && seed % shards != shard) continue;
    report.Begin(seed);
    if (!report.Take(seed, simulator.Run(static_cast<uint64_t>(seed), scale, trace))) return 1;
  }
  report.Print();
  return 0;
}

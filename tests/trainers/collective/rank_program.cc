// A rank as a process, for tests that kill it: its rank is in the environment; it sums until its last
// operation. Arguments: milliseconds of patience in an operation; words of a sum; sums, or -1: for ever.
// Standard output: "ready" once it is connected, then "ok", or the error that ended it.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "trainers/collective/tcp_ranks.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  winnow::RankOptions options;
  options.patience = std::chrono::milliseconds(std::atoi(argv[1]));
  options.rendezvous_patience = std::chrono::seconds(20);
  const auto group =
      winnow::RanksFromEnvironment([](const char* name) { return std::getenv(name); }, options);
  absl::Status status = group.status();
  if (status.ok()) {
    std::puts("ready");
    std::fflush(stdout);
    std::vector<uint64_t> words(static_cast<std::size_t>(std::atoi(argv[2])), 1);
    for (int i = 0; i != std::atoi(argv[3]) && status.ok(); ++i) status = (*group)->AllReduceSum(words);
  }
  std::puts(status.ok() ? "ok" : status.ToString().c_str());
  return 0;
}

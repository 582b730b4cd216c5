// The speed of a channel in mode pipe, beside that of `cat FILE`: both into a pipe that the same reader
// empties.

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/status_text.h"
#include "worker/data/pipe_feeder.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMib = 1 << 20;
constexpr size_t kReadBytes = 128 << 10;

// Reads the descriptor to its end, and closes it. Bytes per second; 0: not `bytes` of them came.
double Drain(int descriptor, int64_t bytes) {
  std::vector<char> buffer(kReadBytes);
  const auto begin = std::chrono::steady_clock::now();
  int64_t seen = 0;
  for (ssize_t got; (got = read(descriptor, buffer.data(), buffer.size())) > 0;) seen += got;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  close(descriptor);
  return seen == bytes ? static_cast<double>(bytes) / took.count() : 0;
}

double OfCat(const fs::path& file, int64_t bytes) {
  FILE* const cat = popen(fmt::format("cat '{}'", file.string()).c_str(), "re");
  if (cat == nullptr) return 0;
  const double speed = Drain(dup(fileno(cat)), bytes);
  pclose(cat);
  return speed;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Bench(int64_t mib, int rounds) {
  signal(SIGPIPE, SIG_IGN);
  std::string folder = (fs::temp_directory_path() / "winnow-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const fs::path file = fs::path(folder) / "data";
  {
    std::ofstream out(file, std::ios::binary);
    const std::string block(kMib, 'x');
    for (int64_t i = 0; i < mib; ++i) out << block;
  }
  std::vector<double> of_cat, of_pipe;
  {
    const auto feeder =
        PipeFeeder::Start(fs::path(folder) / "train", {{std::nullopt, file}}, std::nullopt, {},
                          [](const absl::Status& status) { fmt::print(stderr, "{}\n", MessageOf(status)); });
    if (!feeder.ok()) return 1;
    for (int round = 0; round < rounds; ++round) {
      of_cat.push_back(OfCat(file, mib * kMib));
      const std::string fifo = fmt::format("{}/train_{}", folder, round);
      of_pipe.push_back(Drain(open(fifo.c_str(), O_RDONLY | O_CLOEXEC), mib * kMib));
    }
  }
  fs::remove_all(folder);
  if (std::ranges::min(of_cat) == 0 || std::ranges::min(of_pipe) == 0) {
    fmt::print(stderr, "bytes are missing\n");
    return 1;
  }
  fmt::print("{} MiB, median of {}: cat {:.0f} MiB/s, pipe {:.0f} MiB/s, ratio {:.2f}\n", mib, rounds,
             Median(of_cat) / kMib, Median(of_pipe) / kMib, Median(of_pipe) / Median(of_cat));
  return 0;
}

}  // namespace
}  // namespace winnow

// bench-pipe [MIB [ROUNDS]]
int main(int argc, char** argv) {
  return winnow::Bench(argc > 1 ? std::stoll(argv[1]) : 512, argc > 2 ? std::stoi(argv[2]) : 5);
}

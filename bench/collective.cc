// The time and processor time (of all ranks) of a sum over ranks on this machine, in plain text and over TLS,
// compared with OpenMPI's MPI_Allreduce over TCP and over shared memory, if mpicc and mpirun are installed.
// Sums are of 32-bit integers. The four alternate, and medians over the turns are compared, so that other
// work on the machine affects all alike.
//   bench-collective [--ranks 2,4] [--turns 5] [--short]
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/rank_name.h"
#include "tests/trainers/collective/credentials.h"
#include "trainers/collective/tcp_ranks.h"

namespace winnow {
namespace {

struct Size {
  std::size_t bytes;
  int operations;
};
constexpr std::array<Size, 5> kSizes = {
    {{1 << 10, 4000}, {16 << 10, 3000}, {64 << 10, 2000}, {1 << 20, 400}, {16 << 20, 40}}};

struct Figure {
  double wall_us = 0, cpu_us = 0;
};
using Figures = std::map<std::size_t, Figure>;  // by bytes

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void Check(const absl::Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "bench-collective: {}\n", status.ToString());
  std::exit(1);
}

// Binds each rank to a processor, if there are enough, as mpirun does.
void Bind(int rank, int size) {
  if (size > sysconf(_SC_NPROCESSORS_ONLN)) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(rank, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// One rank's run; rank 0 prints the figures. `credentials`: a folder for each rank; "": in plain text.
int RunRank(int rank, int size, int port, int divisor, const std::string& credentials) {
  Bind(rank, size);
  RankOptions options;
  options.rank = rank;
  options.size = size;
  options.master_port = port;
  if (!credentials.empty()) {
    auto identity = RankIdentity::Read(std::filesystem::path(credentials) / std::to_string(rank), rank,
                                       [](int of) { return RankName("test", "1", "1", of); });
    Check(identity.status());
    options.identity = *std::move(identity);
  }
  auto group = ConnectRanks(options);
  Check(group.status());
  for (const Size& at : kSizes) {
    const int count = std::max(5, at.operations / divisor);
    std::vector<uint32_t> data(at.bytes / sizeof(uint32_t));
    std::vector<double> times;
    for (int i = 0; i < count / 10 + 1; ++i) Check((*group)->AllReduceSum(data));
    const double cpu = CpuSeconds();
    for (int i = 0; i < count; ++i) {
      const auto start = std::chrono::steady_clock::now();
      Check((*group)->AllReduceSum(data));
      times.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    uint64_t cpu_ns = static_cast<uint64_t>((CpuSeconds() - cpu) * 1e9);
    Check((*group)->AllReduceSum(std::span<uint64_t>(&cpu_ns, 1)));
    std::sort(times.begin(), times.end());
    if (rank == 0)
      fmt::print("{} {:.2f} {:.2f}\n", at.bytes, times[times.size() / 2],
                 static_cast<double>(cpu_ns) / 1e3 / count);
  }
  return 0;
}

// Returns the lines of a command's standard output as figures; none if it failed.
Figures FiguresOf(const std::string& command) {
  std::string output;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::array<char, 4096> piece;
  for (std::size_t n = 0; (n = fread(piece.data(), 1, piece.size(), pipe)) > 0;)
    output.append(piece.data(), n);
  if (pclose(pipe) != 0) return {};
  std::istringstream lines(output);
  Figures figures;
  std::size_t bytes = 0;
  Figure figure;
  while (lines >> bytes >> figure.wall_us >> figure.cpu_us) figures[bytes] = figure;
  return figures;
}

Figures Ours(const std::string& self, int ranks, int divisor, const std::filesystem::path& credentials) {
  absl::StatusOr<Socket> listener = ListenAt({*ResolveHost("127.0.0.1"), 0});
  Check(listener.status());
  const int port = OwnEndpoint(*listener).port;
  listener->Close();
  std::string command;
  for (int r = ranks - 1; r >= 0; --r)
    command += fmt::format("'{}' --rank {} {} {} {} '{}'{}", self, r, ranks, port, divisor,
                           credentials.string(), r > 0 ? " & " : "");
  return FiguresOf(command);
}

class MpiPeer {
 public:
  // Compiles the MPI program, if there is a compiler for it.
  MpiPeer() {
    if (std::system("command -v mpicc > /dev/null && command -v mpirun > /dev/null") != 0) return;
    std::string folder = (std::filesystem::temp_directory_path() / "bench-collective-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return;
    folder_ = folder;
    const std::string command =
        fmt::format("mpicc -O3 -o '{}/peer' '{}/bench/collective_mpi.c'", folder, WINNOW_SOURCE_DIR);
    there_ = std::system(command.c_str()) == 0;
  }
  ~MpiPeer() {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  bool there() const { return there_; }

  Figures Run(int ranks, int divisor, const char* transports) const {
    std::string command = fmt::format(
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe "
        "--mca mpi_yield_when_idle 1 --mca btl {} -n {} '{}/peer'",
        transports, ranks, folder_.string());
    for (const Size& at : kSizes)
      command += fmt::format(" {} {}", at.bytes, std::max(5, at.operations / divisor));
    return FiguresOf(command);
  }

 private:
  std::filesystem::path folder_;
  bool there_ = false;
};

std::string Beside(const Figures& peer, std::size_t bytes, const Figure& ours) {
  const auto found = peer.find(bytes);
  if (found == peer.end()) return fmt::format("{:>10} {:>7} {:>10}", "-", "-", "-");
  return fmt::format("{:>10.1f} {:>6.2f}x {:>10.1f}", found->second.wall_us,
                     found->second.wall_us / ours.wall_us, found->second.cpu_us);
}

// Returns medians over the turns.
Figures MedianOf(const std::vector<Figures>& turns) {
  std::map<std::size_t, std::array<std::vector<double>, 2>> all;
  for (const Figures& figures : turns) {
    for (const auto& [bytes, figure] : figures) {
      all[bytes][0].push_back(figure.wall_us);
      all[bytes][1].push_back(figure.cpu_us);
    }
  }
  Figures medians;
  for (auto& [bytes, values] : all) {
    for (std::vector<double>& of : values) std::sort(of.begin(), of.end());
    medians[bytes] = {values[0][values[0].size() / 2], values[1][values[1].size() / 2]};
  }
  return medians;
}

// The load of the machine in the last minute: runnable tasks.
double Load() {
  std::array<double, 1> load{};
  return getloadavg(load.data(), 1) == 1 ? load[0] : 0;
}

int Run(const std::string& self, const std::vector<int>& ranks, int turns, int divisor) {
  const MpiPeer peer;
  if (!peer.there()) fmt::print("OpenMPI: skipped, mpicc and mpirun are not installed\n");
  for (const int n : ranks) {
    const double load = Load();
    const Credentials credentials(n);
    std::vector<Figures> ours, tls, tcp, memory;
    for (int turn = 0; turn < turns; ++turn) {
      ours.push_back(Ours(self, n, divisor, ""));
      tls.push_back(Ours(self, n, divisor, credentials.root()));
      if (ours.back().size() != kSizes.size() || tls.back().size() != kSizes.size()) return 1;
      if (!peer.there()) continue;
      tcp.push_back(peer.Run(n, divisor, "tcp,self"));
      memory.push_back(peer.Run(n, divisor, "vader,self"));
    }
    fmt::print("\nAllReduceSum, {} ranks, {} processors, load {:.1f} before and {:.1f} after, {} turns:\n", n,
               sysconf(_SC_NPROCESSORS_ONLN), load, Load(), turns);
    fmt::print("us (median), processor us of all ranks; x: the other's time / ours in plain text\n");
    fmt::print("{:>9} | {:>10} {:>10} | {:>29} | {:>29} | {:>29}\n", "bytes", "ours", "cpu", "TLS, x, cpu",
               "OpenMPI TCP, x, cpu", "OpenMPI memory, x, cpu");
    const Figures tls_median = MedianOf(tls), tcp_median = MedianOf(tcp), memory_median = MedianOf(memory);
    for (const auto& [bytes, figure] : MedianOf(ours)) {
      fmt::print("{:>9} | {:>10.1f} {:>10.1f} | {} | {} | {}\n", bytes, figure.wall_us, figure.cpu_us,
                 Beside(tls_median, bytes, figure), Beside(tcp_median, bytes, figure),
                 Beside(memory_median, bytes, figure));
    }
  }
  return 0;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 6 && arguments[0] == "--rank")
    return winnow::RunRank(std::stoi(arguments[1]), std::stoi(arguments[2]), std::stoi(arguments[3]),
                           std::stoi(arguments[4]), arguments[5]);
  std::vector<int> ranks = {2, 4};
  int divisor = 1, turns = 5;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--short") {
      divisor = 20;
      turns = 1;
    } else if (arguments[i] == "--ranks" && i + 1 < arguments.size()) {
      ranks.clear();
      std::istringstream list(arguments[++i]);
      for (std::string one; std::getline(list, one, ',');) ranks.push_back(std::atoi(one.c_str()));
    } else if (arguments[i] == "--turns" && i + 1 < arguments.size()) {
      turns = std::max(1, std::atoi(arguments[++i].c_str()));
    } else {
      fmt::print(stderr, "usage: bench-collective [--ranks 2,4] [--turns 5] [--short]\n");
      return 2;
    }
  }
  return winnow::Run(std::filesystem::read_symlink("/proc/self/exe").string(), ranks, turns, divisor);
}

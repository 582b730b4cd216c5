// The limits of this machine's memory and first-level cache for a histogram kernel, and the speed of
// winnow-gbdt's:
//   bench-gbdt-bandwidth [--rows 1000000]
// Limits: reading memory in order (GB/s), and adding 64-bit numbers to tables of 57 KB and 28 KB (28 and 14
// features of 256 counters of 8 bytes) at bins in the second-level cache (additions/s). One thread, and two.

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "trainers/gbdt/tree/kernels.h"

namespace winnow::gbdt {
namespace {

constexpr int kRepeats = 9;                    // the best counts: the limit of the machine
constexpr std::size_t kReadBytes = 512 << 20;  // per thread; far more than the caches
constexpr int kCachedRows = 8192;              // of bins and gradients: 290 KB, in the second-level cache
constexpr int64_t kAdditions = 200'000'000;    // per measurement: about 0.1 s
constexpr int kBins = 256;

// Processor seconds of the calling thread, without waiting for a busy machine.
double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Returns the least seconds of the runs of work(thread) on `threads` threads at once; a run counts with its
// longest thread.
double BestSeconds(int threads, const std::function<void(int)>& work) {
  double best = 1e300;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    std::vector<double> seconds(threads);
    const auto timed = [&](int thread) {
      const double start = ThreadSeconds();
      work(thread);
      seconds[thread] = ThreadSeconds() - start;
    };
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads; ++thread) others.emplace_back(timed, thread);
    timed(0);
    for (std::thread& other : others) other.join();
    best = std::min(best, *std::max_element(seconds.begin(), seconds.end()));
  }
  return best;
}

// Keeps the compiler from removing the computation.
volatile uint64_t sink;

double ReadGigabytesPerSecond(int threads) {
  std::vector<std::vector<uint64_t>> data(threads, std::vector<uint64_t>(kReadBytes / sizeof(uint64_t), 1));
  const double seconds = BestSeconds(threads, [&](int thread) {
    uint64_t sum = 0;
    for (const uint64_t value : data[thread]) sum += value;
    sink = sum;
  });
  return 1e-9 * kReadBytes * threads / seconds;
}

uint64_t Mix(uint64_t x) {  // splitmix64's finaliser
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Returns the additions per second of one number per row to kFeatures tables of kBins counters, at random
// bins.
template <int kFeatures>
double AdditionsPerSecond(int threads) {
  std::vector<uint8_t> bins(kCachedRows * kFeatures);
  for (std::size_t i = 0; i < bins.size(); ++i) bins[i] = static_cast<uint8_t>(Mix(i + 1));
  const std::vector<uint64_t> numbers(kCachedRows, 3);
  std::vector<std::vector<uint64_t>> tables(threads, std::vector<uint64_t>(kFeatures * kBins));
  const int64_t passes = kAdditions / (kCachedRows * kFeatures);
  const double seconds = BestSeconds(threads, [&](int thread) {
    uint64_t* table = tables[thread].data();
    for (int64_t pass = 0; pass < passes; ++pass) {
      const uint8_t* row = bins.data();
      for (int i = 0; i < kCachedRows; ++i, row += kFeatures) {
        const uint64_t number = numbers[i];
#pragma GCC unroll 64
        for (int feature = 0; feature < kFeatures; ++feature) table[feature * kBins + row[feature]] += number;
      }
    }
    sink = table[0];
  });
  return static_cast<double>(passes) * kCachedRows * kFeatures * threads / seconds;
}

// A table of kRows rows in bins, with a gradient for each, in training's memory layout.
constexpr int64_t kRows = 1'000'000;
constexpr int kFeatures = 28;
struct Table {
  std::vector<uint8_t> bins = std::vector<uint8_t>(kRows * kFeatures);
  std::vector<NarrowPair> gradients = std::vector<NarrowPair>(kRows, (1u << 16) + 1);
  std::vector<uint32_t> every_second = std::vector<uint32_t>(kRows / 2);

  Table() {
    for (std::size_t i = 0; i < bins.size(); ++i) bins[i] = static_cast<uint8_t>(Mix(i + 1));
    for (std::size_t i = 0; i < every_second.size(); ++i) every_second[i] = static_cast<uint32_t>(2 * i);
  }
};

// Returns the rows per second that all threads add to histograms of their own, a share of the rows each.
double RowsPerSecond(const Kernels& kernels, const Table& table, bool listed, int threads) {
  const int64_t rows = listed ? kRows / 2 : kRows;
  std::vector<std::vector<PackedSum>> histograms(threads, std::vector<PackedSum>(kFeatures * kBins));
  const double seconds = BestSeconds(threads, [&](int thread) {
    PackedSum* histogram = histograms[thread].data();
    const int64_t end = rows * (thread + 1) / threads;
    for (int64_t first = rows * thread / threads; first < end; first += kPackedRows) {
      std::fill(histograms[thread].begin(), histograms[thread].end(), 0);  // its sums fit only this many rows
      const uint32_t* list = listed ? table.every_second.data() + first : nullptr;
      kernels.add_narrow8(table.bins.data(), kFeatures, {nullptr, kFeatures, kBins}, table.gradients.data(),
                          {list, first, std::min(end - first, kPackedRows)}, histogram);
    }
    sink = histogram[0];
  });
  return static_cast<double>(rows) / seconds;
}

void PrintKernels(int threads, double limit_gigabytes, double limit_additions) {
  const Table table;
  int count = 0;
  const Kernels* const* const kernels = RunnableKernels(&count);
  for (int i = 0; i < count; ++i) {
    for (const bool listed : {false, true}) {
      const double rows = RowsPerSecond(*kernels[i], table, listed, threads);
      const double additions = rows * kFeatures;
      const double gigabytes =
          1e-9 * rows * (kFeatures + sizeof(NarrowPair) + (listed ? sizeof(uint32_t) : 0));
      fmt::print("| {} | {} | {} | {:.3g} | {:.2f} | {:.1f} | {:.2f} |\n", kernels[i]->name,
                 listed ? "every second" : "all", threads, additions, additions / limit_additions, gigabytes,
                 gigabytes / limit_gigabytes);
    }
  }
}

int Main() {
  struct Limits {
    double gigabytes, additions;
  };
  std::vector<Limits> limits;
  fmt::print(
      "| threads | sequential read, GB/s | additions/s, 57 KB | additions/s, 28 KB |\n| --- | --- | --- | "
      "--- |\n");
  for (const int threads : {1, 2}) {
    limits.push_back({ReadGigabytesPerSecond(threads), AdditionsPerSecond<28>(threads)});
    fmt::print("| {} | {:.1f} | {:.3g} | {:.3g} |\n", threads, limits.back().gigabytes,
               limits.back().additions, AdditionsPerSecond<14>(threads));
  }
  fmt::print(
      "\n| kernel | rows | threads | additions/s | of the 57 KB limit | GB/s | of the read limit |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const int threads : {1, 2})
    PrintKernels(threads, limits[threads - 1].gigabytes, limits[threads - 1].additions);
  return 0;
}

}  // namespace
}  // namespace winnow::gbdt

int main() { return winnow::gbdt::Main(); }

#include "trainers/mlp/network/batch_order.h"

#include <algorithm>
#include <atomic>

#include "tests/catch.h"

namespace winnow::mlp {
namespace {

TEST_CASE("EpochOrder: every row once, another order each epoch, the same each time", "[mlp]") {
  const std::vector<int64_t> first = EpochOrder(7, 0, 1000), second = EpochOrder(7, 1, 1000);
  CHECK(first == EpochOrder(7, 0, 1000));
  CHECK(first != second);
  std::vector<int64_t> sorted = second;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < 1000; ++i) CHECK(sorted[i] == i);
}

TEST_CASE("ShardBegin: parts are even, nearly equal, and together the batch", "[mlp]") {
  for (const int64_t rows : {1, 2, 96, 127, 128, 1000}) {
    for (const int shards : {1, 4, 12}) {
      CHECK(ShardBegin(rows, shards, 0) == 0);
      CHECK(ShardBegin(rows, shards, shards) == rows);
      for (int s = 0; s < shards; ++s) {
        const int64_t size = ShardBegin(rows, shards, s + 1) - ShardBegin(rows, shards, s);
        CHECK(size >= rows / shards - 2);
        CHECK(size <= rows / shards + 3);
        CHECK(ShardBegin(rows, shards, s) % 2 == 0);
      }
    }
  }
}

TEST_CASE("Crew: every thread works once in each run, however fast runs follow", "[mlp]") {
  for (const int threads : {1, 2, 3}) {
    Crew crew(threads);
    std::vector<std::atomic<int>> calls(threads);
    for (int run = 0; run < 2000; ++run) crew.Run([&](int thread) { ++calls[thread]; });
    for (const std::atomic<int>& count : calls) CHECK(count == 2000);
  }
}

}  // namespace
}  // namespace winnow::mlp

#include "trainers/mlp/network/batch_order.h"

#include <numeric>
#include <utility>

#include "base/hash.h"

namespace winnow::mlp {

// Fisher and Yates' shuffle. Scaling a 64-bit number to the choices has a bias below rows / 2^64.
std::vector<int64_t> EpochOrder(uint64_t seed, int64_t epoch, int64_t rows) {
  std::vector<int64_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), int64_t{0});
  const uint64_t key = HashOf(seed, static_cast<uint64_t>(epoch));
  for (int64_t i = rows - 1; i > 0; --i) {
    const unsigned __int128 product =
        static_cast<unsigned __int128>(HashOf(key, static_cast<uint64_t>(i))) * static_cast<uint64_t>(i + 1);
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(product >> 64)]);
  }
  return order;
}

}  // namespace winnow::mlp

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "trainers/collective/communicator.h"
#include "trainers/common/thread_pool.h"
#include "trainers/gbdt/tree/kernels.h"

namespace winnow::gbdt {

// One tree's gradients in fixed point: row r's are value / 2^exponent. Narrow ones are rounded randomly, up
// or down with unchanged mean, by a hash of the row's number. If a few gradients are so large that 16 bits
// would leave the others next to nothing, wide ones are used.
struct FixedGradients {
  bool is_narrow = true;
  std::vector<NarrowPair> narrow;
  std::vector<WidePair> wide;
  int gradient_exponent = 0, hessian_exponent = 0;

  GradientSum Of(int64_t row) const {
    if (!is_narrow) return {wide[row].gradient, wide[row].hessian};
    return {static_cast<int32_t>(narrow[row]) >> 16, static_cast<int64_t>(narrow[row] & 0xffffu)};
  }
};

// The rows, among all ranks', of one rank.
struct RowShare {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t all_rows = 0;
};

// Quantises one class's gradients ([row], this rank's) with scales from the largest magnitudes of all ranks.
// The result is a function of `key`, the row's number and all ranks' gradients; wide: whether wide ones are
// asked for, of which it is no function of `key`.
absl::Status QuantiseGradients(const float* gradient, const float* hessian, const RowShare& share,
                               uint64_t key, bool wide, Communicator* ranks, ThreadPool* pool,
                               FixedGradients* out);

}  // namespace winnow::gbdt

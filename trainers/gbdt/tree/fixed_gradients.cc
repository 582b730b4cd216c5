#include "trainers/gbdt/tree/fixed_gradients.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "trainers/common/fixed_point.h"

namespace winnow::gbdt {
namespace {

constexpr double kRoundingTime = 0.5;            // ns
constexpr int64_t kRowsRoundedAtOnce = 1 << 14;  // rows per task
constexpr int kNarrowBits = 15, kWideBits = 30;
// Narrow rows need at least this average, of 2^15: rounding noise is below one.
constexpr uint64_t kLeastNarrowMean = 4;

int ExponentFor(uint64_t largest_bits, int bits) {
  return std::min(ScaleExponent(std::bit_cast<float>(static_cast<uint32_t>(largest_bits)), bits), 127);
}

using ForBlocks = std::function<void(const std::function<void(int task, int64_t begin, int64_t end)>& work)>;

// Sets *out to narrow gradients; is_narrow says whether they will do. largest: bits of the largest
// magnitudes.
absl::Status RoundToNarrow(const float* gradient, const float* hessian, const RowShare& share, uint64_t key,
                           const uint64_t* largest, const ForBlocks& for_blocks, int tasks,
                           Communicator* ranks, FixedGradients* out) {
  const Kernels& kernels = ChosenKernels();
  out->gradient_exponent = ExponentFor(largest[0], kNarrowBits);
  out->hessian_exponent = ExponentFor(largest[1], kNarrowBits);
  const float g_scale = std::ldexp(1.0f, out->gradient_exponent),
              h_scale = std::ldexp(1.0f, out->hessian_exponent);
  out->narrow.resize(share.rows);
  std::vector<GradientSum> magnitudes(tasks);
  for_blocks([&](int task, int64_t begin, int64_t end) {
    kernels.quantise_narrow(gradient + begin, hessian + begin, end - begin, g_scale, h_scale, key,
                            static_cast<uint64_t>(share.first_row + begin), out->narrow.data() + begin,
                            &magnitudes[task]);
  });
  uint64_t total[2] = {0, 0};
  for (const GradientSum& part : magnitudes) {
    total[0] += static_cast<uint64_t>(part.gradient);
    total[1] += static_cast<uint64_t>(part.hessian);
  }
  if (absl::Status status = ranks->AllReduceSum(total); !status.ok()) return status;
  const uint64_t least = kLeastNarrowMean * static_cast<uint64_t>(share.all_rows);
  out->is_narrow = (total[0] >= least || largest[0] == 0) && (total[1] >= least || largest[1] == 0);
  return absl::OkStatus();
}

}  // namespace

absl::Status QuantiseGradients(const float* gradient, const float* hessian, const RowShare& share,
                               uint64_t key, bool wide, Communicator* ranks, ThreadPool* pool,
                               FixedGradients* out) {
  const Kernels& kernels = ChosenKernels();
  const int tasks = static_cast<int>((share.rows + kRowsRoundedAtOnce - 1) / kRowsRoundedAtOnce);
  const ForBlocks for_blocks = [&](const auto& work) {
    pool->Run(
        tasks,
        [&](int task, int) {
          const int64_t begin = task * kRowsRoundedAtOnce;
          work(task, begin, std::min(share.rows, begin + kRowsRoundedAtOnce));
        },
        kRoundingTime * static_cast<double>(share.rows));
  };
  std::vector<uint32_t> g_largest(tasks), h_largest(tasks);
  for_blocks([&](int task, int64_t begin, int64_t end) {
    g_largest[task] = kernels.largest_bits(gradient + begin, end - begin);
    h_largest[task] = kernels.largest_bits(hessian + begin, end - begin);
  });
  uint64_t largest[2] = {0, 0};
  for (int task = 0; task < tasks; ++task) {
    largest[0] = std::max<uint64_t>(largest[0], g_largest[task]);
    largest[1] = std::max<uint64_t>(largest[1], h_largest[task]);
  }
  if (absl::Status status = ranks->AllReduceMax(largest); !status.ok()) return status;

  if (!wide) {
    const absl::Status status =
        RoundToNarrow(gradient, hessian, share, key, largest, for_blocks, tasks, ranks, out);
    if (!status.ok() || out->is_narrow) return status;
  }
  out->is_narrow = false;
  out->gradient_exponent = ExponentFor(largest[0], kWideBits);
  out->hessian_exponent = ExponentFor(largest[1], kWideBits);
  const float g_scale = std::ldexp(1.0f, out->gradient_exponent);
  const float h_scale = std::ldexp(1.0f, out->hessian_exponent);
  out->wide.resize(share.rows);
  for_blocks([&](int, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out->wide[i] = {static_cast<int32_t>(gradient[i] * g_scale),
                      static_cast<int32_t>(hessian[i] * h_scale)};
  });
  return absl::OkStatus();
}

}  // namespace winnow::gbdt

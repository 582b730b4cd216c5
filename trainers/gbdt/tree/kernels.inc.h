// The kernels' loops, included by one file per instruction set, which defines WINNOW_KERNELS as the name of
// its table; only compiler flags differ. Nothing here may call an inline function of another header: the
// linker keeps one copy of those, possibly one that not every processor can run.

#include <cstring>

#include "trainers/gbdt/tree/kernels.h"

namespace winnow::gbdt {
namespace {

constexpr int64_t kLine = 64;   // bytes of a cache line
constexpr int64_t kAhead = 24;  // prefetch distance in rows; their numbers are known but irregular

inline PackedSum Widen(NarrowPair pair) {
  return (static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(pair) >> 16)) << 32) +
         (pair & 0xffffu);
}

typedef int64_t SumLanes __attribute__((vector_size(16)));
inline SumLanes Widen(WidePair pair) { return SumLanes{pair.gradient, pair.hessian}; }

// Two rows and two slots at a time: slot data is read once for both rows, and four counters are independent.
template <bool kEverySlot, bool kBytePad, typename Bin, typename Sum>
inline void AddTwoRows(const Bin* one, const Bin* two, const Kernels::SlotSet& slots, Sum add_one,
                       Sum add_two, Sum* histogram) {
  const int64_t pad = kBytePad ? 256 : slots.pad;
  const int count = slots.count;  // a copy: the counters could alias the original
  const int32_t* const list = slots.slots;
  int k = 0;
  Sum* to = histogram;
  for (; k + 2 <= count; k += 2, to += 2 * pad) {
    const int s0 = kEverySlot ? k : list[k], s1 = kEverySlot ? k + 1 : list[k + 1];
    const int64_t b0 = one[s0], b1 = one[s1], c0 = two[s0], c1 = two[s1];
    to[b0] += add_one;
    to[pad + b1] += add_one;
    to[c0] += add_two;
    to[pad + c1] += add_two;
  }
  if (k < count) {
    const int s0 = kEverySlot ? k : list[k];
    to[one[s0]] += add_one;
    to[two[s0]] += add_two;
  }
}

template <bool kEverySlot, bool kBytePad, typename Bin, typename Sum>
inline void AddRow(const Bin* row, const Kernels::SlotSet& slots, Sum add, Sum* histogram) {
  const int64_t pad = kBytePad ? 256 : slots.pad;
  for (int k = 0; k < slots.count; ++k) histogram[k * pad + row[kEverySlot ? k : slots.slots[k]]] += add;
}

template <typename Bin, typename Pair>
inline void FetchRow(const Bin* bins, int64_t stride, const Pair* gradients, int64_t row) {
  const char* at = reinterpret_cast<const char*>(bins + row * stride);
  const int64_t last = stride * static_cast<int64_t>(sizeof(Bin)) - 1;
  for (int64_t line = 0; line < last; line += kLine) __builtin_prefetch(at + line);
  __builtin_prefetch(at + last);
  __builtin_prefetch(gradients + row);
}

template <bool kEverySlot, bool kListed, bool kBytePad, typename Bin, typename Pair, typename Sum>
void AddRows(const Bin* bins, int64_t stride, Kernels::SlotSet slots, const Pair* gradients,
             Kernels::RowSet rows, Sum* histogram) {
  int64_t i = 0;
  for (; i + 2 <= rows.count; i += 2) {
    if (kListed && i + kAhead + 1 < rows.count) {
      FetchRow(bins, stride, gradients, rows.rows[i + kAhead]);
      FetchRow(bins, stride, gradients, rows.rows[i + kAhead + 1]);
    }
    const int64_t one = kListed ? rows.rows[i] : rows.first + i;
    const int64_t two = kListed ? rows.rows[i + 1] : rows.first + i + 1;
    AddTwoRows<kEverySlot, kBytePad>(bins + one * stride, bins + two * stride, slots, Widen(gradients[one]),
                                     Widen(gradients[two]), histogram);
  }
  if (i == rows.count) return;
  const int64_t row = kListed ? rows.rows[i] : rows.first + i;
  AddRow<kEverySlot, kBytePad>(bins + row * stride, slots, Widen(gradients[row]), histogram);
}

template <bool kEverySlot, bool kBytePad, typename Bin, typename Pair, typename Sum>
void AddListedOrNot(const Bin* bins, int64_t stride, Kernels::SlotSet slots, const Pair* gradients,
                    Kernels::RowSet rows, Sum* sums) {
  if (rows.rows == nullptr)
    AddRows<kEverySlot, false, kBytePad>(bins, stride, slots, gradients, rows, sums);
  else
    AddRows<kEverySlot, true, kBytePad>(bins, stride, slots, gradients, rows, sums);
}

template <typename Bin, typename Pair, typename Sum, typename Out>
void Add(const Bin* bins, int64_t stride, Kernels::SlotSet slots, const Pair* gradients, Kernels::RowSet rows,
         Out* histogram) {
  Sum* sums = reinterpret_cast<Sum*>(histogram);
  const bool byte_pad = slots.pad == 256;  // the usual value; a constant makes addresses cheaper
  if (slots.slots == nullptr && byte_pad)
    AddListedOrNot<true, true>(bins, stride, slots, gradients, rows, sums);
  else if (slots.slots == nullptr)
    AddListedOrNot<true, false>(bins, stride, slots, gradients, rows, sums);
  else if (byte_pad)
    AddListedOrNot<false, true>(bins, stride, slots, gradients, rows, sums);
  else
    AddListedOrNot<false, false>(bins, stride, slots, gradients, rows, sums);
}

template <typename Bin>
int64_t Divide(const Bin* column, const uint8_t* goes_left, uint32_t* rows, uint32_t* spare, int64_t count) {
  uint32_t* left = rows;
  uint32_t* right = spare;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t row = rows[i];
    const int64_t is_left = goes_left[column[row]];
    *left = row;
    *right = row;
    left += is_left;
    right += 1 - is_left;
  }
  if (right != spare) std::memcpy(left, spare, static_cast<std::size_t>(right - spare) * sizeof(uint32_t));
  return left - rows;
}

// A gradient moved towards 0 by alpha; 0 if it is nearer.
inline double Shrunk(double gradient, double alpha) {
  const double above = gradient - alpha, below = gradient + alpha;
  return (above > 0 ? above : 0) + (below < 0 ? below : 0);
}

inline double Clamp(double value, double lower, double upper) {
  const double raised = value < lower ? lower : value;
  return upper < raised ? upper : raised;
}

struct Side {
  double gradient, hessian;

  double Gain(const Kernels::GainInputs& in) const {
    const double shrunk = Shrunk(gradient, in.alpha);
    return shrunk * shrunk / (hessian + in.lambda);
  }
  double Weight(const Kernels::GainInputs& in) const {
    const double weight = -Shrunk(gradient, in.alpha) / (hessian + in.lambda);
    return Clamp(Clamp(weight, -in.most_weight, in.most_weight), in.lower_bound, in.upper_bound);
  }
  double GainAt(double weight, const Kernels::GainInputs& in) const {
    return -(2.0 * gradient * weight + (hessian + in.lambda) * weight * weight);
  }
};

template <bool kAtWeights>
void FillGains(const double* left_gradient, const double* left_hessian, std::size_t count,
               const Kernels::GainInputs& inputs, float* gain) {
  const Kernels::GainInputs in = inputs;  // a copy: gains could alias the original
  for (std::size_t i = 0; i < count; ++i) {
    const Side left = {left_gradient[i] * in.gradient_scale, left_hessian[i] * in.hessian_scale};
    const Side right = {(in.total_gradient - left_gradient[i]) * in.gradient_scale,
                        (in.total_hessian - left_hessian[i]) * in.hessian_scale};
    bool allowed = (left.hessian >= in.least_hessian) & (right.hessian >= in.least_hessian) &
                   (left.hessian > 0) & (right.hessian > 0);
    double value;
    if constexpr (kAtWeights) {
      const double left_weight = left.Weight(in), right_weight = right.Weight(in);
      allowed &= !((left_weight - right_weight) * in.direction > 0);
      value = left.GainAt(left_weight, in) + right.GainAt(right_weight, in) - in.node_gain;
    } else {
      value = left.Gain(in) + right.Gain(in) - in.node_gain;
    }
    gain[i] = allowed ? static_cast<float>(value) : -1.0f;
  }
}

float Gains(const double* left_gradient, const double* left_hessian, std::size_t count,
            const Kernels::GainInputs& in, float* gain) {
  if (in.at_weights)
    FillGains<true>(left_gradient, left_hessian, count, in, gain);
  else
    FillGains<false>(left_gradient, left_hessian, count, in, gain);
  // Floats above 0 are ordered like their bits; which of the negative ones is returned does not matter.
  int32_t best_bits = -1;
  for (std::size_t i = 0; i < count; ++i) {
    int32_t bits;
    __builtin_memcpy(&bits, gain + i, sizeof bits);
    best_bits = bits > best_bits ? bits : best_bits;
  }
  if (best_bits < 0) return -1;
  float best;
  __builtin_memcpy(&best, &best_bits, sizeof best);
  return best;
}

void PrefixPacked(const PackedSum* bins, std::size_t count, double* gradient, double* hessian) {
  constexpr std::size_t kBlock = 256;
  PackedSum sums[kBlock];
  PackedSum sum = 0;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t size = count - begin < kBlock ? count - begin : kBlock;
    for (std::size_t i = 0; i < size; ++i) sums[i] = sum += bins[begin + i];
    for (std::size_t i = 0; i < size; ++i) {
      gradient[begin + i] = static_cast<double>(static_cast<int32_t>(sums[i] >> 32));
      // As two 16-bit halves, because conversions from unsigned words are slow.
      const auto low = static_cast<int32_t>(sums[i] & 0xffffu);
      const auto high = static_cast<int32_t>((sums[i] >> 16) & 0xffffu);
      hessian[begin + i] = static_cast<double>(high) * 65536.0 + static_cast<double>(low);
    }
  }
}

uint32_t LargestBits(const float* values, int64_t count) {
  int32_t largest = 0;  // magnitudes are ordered like their bits
  for (int64_t i = 0; i < count; ++i) {
    int32_t bits;
    __builtin_memcpy(&bits, values + i, sizeof bits);
    bits &= 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return static_cast<uint32_t>(largest);
}

// Rounds x >= 0 up if its fraction and the draw, of [0, 1), sum to at least one. Whole numbers are unchanged;
// adding the draw to one without bits left for it would change it.
inline int32_t RoundAtRandom(float x, float draw) {
  const int32_t whole = static_cast<int32_t>(x);  // truncated
  return whole + static_cast<int32_t>((x - static_cast<float>(whole)) + draw);
}

// RowDraw's hash.
inline uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

int64_t DrawRows(uint64_t mixed_key, uint64_t threshold, uint64_t first_row, int64_t count, uint32_t* drawn,
                 uint32_t* others) {
  constexpr int64_t kBlock = 1024;
  uint8_t takes[kBlock];
  int64_t drawn_count = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t size = count - begin < kBlock ? count - begin : kBlock;
    const uint64_t first = first_row + static_cast<uint64_t>(begin);
    for (int64_t i = 0; i < size; ++i)
      takes[i] = (Mix(mixed_key ^ (first + static_cast<uint64_t>(i))) >> 11) < threshold;
    for (int64_t i = 0; i < size; ++i) {
      const int64_t row = begin + i;
      drawn[drawn_count] = others[row - drawn_count] = static_cast<uint32_t>(row);
      drawn_count += takes[i];
    }
  }
  return drawn_count;
}

// Mixes the row's number to 32 bits; 16 bits are for the gradient, 16 for the hessian.
inline uint32_t Draw(uint32_t row, uint32_t key) {
  uint32_t x = row ^ key;
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

void QuantiseNarrow(const float* gradient, const float* hessian, int64_t count, float gradient_scale,
                    float hessian_scale, uint64_t key, uint64_t first_row, NarrowPair* out,
                    GradientSum* magnitudes) {
  constexpr int64_t kBlock = 4096;  // sums of 16-bit magnitudes stay within 32 bits
  constexpr float kUnit = 1.0f / 65536.0f;
  for (int64_t begin = 0, end = 0; begin < count; begin = end) {
    const uint64_t at = first_row + static_cast<uint64_t>(begin);
    const uint32_t at_low = static_cast<uint32_t>(at);
    const uint32_t at_high = static_cast<uint32_t>(at >> 32);
    const int64_t to_wrap = (int64_t{1} << 32) - at_low;  // rows with the same high half
    const int64_t size = kBlock < to_wrap ? kBlock : to_wrap;
    end = size < count - begin ? begin + size : count;
    const uint32_t block_key =
        static_cast<uint32_t>(key) ^ static_cast<uint32_t>(key >> 32) ^ (at_high * 0x9e3779b9u);
    for (int64_t i = begin; i < end; ++i) {
      const uint32_t bits = Draw(at_low + static_cast<uint32_t>(i - begin), block_key);
      const float g_draw = static_cast<float>(static_cast<int32_t>(bits & 0xffffu)) * kUnit;
      const float h_draw = static_cast<float>(static_cast<int32_t>(bits >> 16)) * kUnit;
      const int32_t g = RoundAtRandom(__builtin_fabsf(gradient[i]) * gradient_scale, g_draw);
      const int32_t h = RoundAtRandom(hessian[i] * hessian_scale, h_draw);
      const int32_t g_most = g < kMostNarrow ? g : kMostNarrow;
      const int32_t h_most = h < kMostNarrow ? h : kMostNarrow;
      const int32_t signed_g = gradient[i] < 0 ? -g_most : g_most;
      out[i] = (static_cast<uint32_t>(signed_g) << 16) | static_cast<uint32_t>(h_most);
    }
    int32_t g_sum = 0, h_sum = 0;
    for (int64_t i = begin; i < end; ++i) {
      const int32_t g = static_cast<int32_t>(out[i]) >> 16;
      g_sum += g < 0 ? -g : g;
      h_sum += static_cast<int32_t>(out[i] & 0xffffu);
    }
    magnitudes->gradient += g_sum;
    magnitudes->hessian += h_sum;
  }
}

}  // namespace

extern const Kernels WINNOW_KERNELS;
const Kernels WINNOW_KERNELS = {
    WINNOW_KERNELS_NAME,
    Add<uint8_t, NarrowPair, PackedSum, PackedSum>,
    Add<uint16_t, NarrowPair, PackedSum, PackedSum>,
    Add<uint8_t, WidePair, SumLanes, GradientSum>,
    Add<uint16_t, WidePair, SumLanes, GradientSum>,
    Divide<uint8_t>,
    Divide<uint16_t>,
    DrawRows,
    Gains,
    PrefixPacked,
    LargestBits,
    QuantiseNarrow,
};

}  // namespace winnow::gbdt

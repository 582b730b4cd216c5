// The kernels for one instruction set; each kernels_*.cc includes it, compiled for its own, and names them.

#include <cmath>
#include <cstring>

#include "trainers/mlp/network/kernels.h"
#include "trainers/mlp/network/network.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace winnow::mlp {
namespace {

#if defined(__AVX512F__)

using Floats = __m512;
using Ints = __m512i;
constexpr int kWidth = 16;
constexpr bool kFused = true;
constexpr int kProductRows = 14, kProductPanels = 2, kGradientInputs = 7, kGradientPanels = 2;

inline Floats Zero() { return _mm512_setzero_ps(); }
inline Ints ZeroInts() { return _mm512_setzero_si512(); }
inline Floats Load(const float* at) { return _mm512_loadu_ps(at); }
inline Ints LoadPairs(const uint32_t* at) { return _mm512_loadu_si512(at); }
inline Floats Broadcast(const float* at) { return _mm512_set1_ps(*at); }
inline Ints BroadcastPair(const uint32_t* at) { return _mm512_set1_epi32(static_cast<int>(*at)); }
inline void Store(float* at, Floats x) { _mm512_storeu_ps(at, x); }
inline void StoreInts(int32_t* at, Ints x) { _mm512_storeu_si512(at, x); }
inline Floats Add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
inline Ints AddInts(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
inline Ints Rounded(Floats x) { return _mm512_cvtps_epi32(x); }
inline Floats MultiplyAdd(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
inline Floats Lower(Ints pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); }
inline Floats Upper(Ints pairs) {
  return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
}

#elif defined(__AVX2__)

using Floats = __m256;
using Ints = __m256i;
constexpr int kWidth = 8;
constexpr bool kFused = true;
constexpr int kProductRows = 6, kProductPanels = 1, kGradientInputs = 6, kGradientPanels = 1;

inline Floats Zero() { return _mm256_setzero_ps(); }
inline Ints ZeroInts() { return _mm256_setzero_si256(); }
inline Floats Load(const float* at) { return _mm256_loadu_ps(at); }
inline Ints LoadPairs(const uint32_t* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }
inline Floats Broadcast(const float* at) { return _mm256_broadcast_ss(at); }
inline Ints BroadcastPair(const uint32_t* at) { return _mm256_set1_epi32(static_cast<int>(*at)); }
inline void Store(float* at, Floats x) { _mm256_storeu_ps(at, x); }
inline void StoreInts(int32_t* at, Ints x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), x); }
inline Floats Add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
inline Ints AddInts(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
inline Ints Rounded(Floats x) { return _mm256_cvtps_epi32(x); }
inline Floats MultiplyAdd(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
inline Floats Lower(Ints pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)); }
inline Floats Upper(Ints pairs) {
  return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
}

#else

// Four at a time; GCC and Clang map these to the vectors of any processor.
typedef float Floats __attribute__((vector_size(16)));
typedef int32_t Ints __attribute__((vector_size(16)));
constexpr int kWidth = 4;
constexpr bool kFused = false;
constexpr int kProductRows = 2, kProductPanels = 1, kGradientInputs = 2, kGradientPanels = 1;

inline Floats Zero() { return Floats{}; }
inline Ints ZeroInts() { return Ints{}; }
inline Floats Load(const float* at) {
  Floats x;
  std::memcpy(&x, at, sizeof x);
  return x;
}
inline Ints LoadPairs(const uint32_t* at) {
  Ints x;
  std::memcpy(&x, at, sizeof x);
  return x;
}
inline Floats Broadcast(const float* at) { return Floats{*at, *at, *at, *at}; }
inline Ints BroadcastPair(const uint32_t* at) {
  const int32_t pair = static_cast<int32_t>(*at);
  return Ints{pair, pair, pair, pair};
}
inline void Store(float* at, Floats x) { std::memcpy(at, &x, sizeof x); }
inline void StoreInts(int32_t* at, Ints x) { std::memcpy(at, &x, sizeof x); }
inline Floats Add(Floats a, Floats b) { return a + b; }
inline Ints AddInts(Ints a, Ints b) { return a + b; }
inline Ints Rounded(Floats x) {
#if defined(__SSE2__)
  return reinterpret_cast<Ints>(_mm_cvtps_epi32(reinterpret_cast<__m128>(x)));
#endif
  Ints rounded;
  for (int lane = 0; lane < kWidth; ++lane) rounded[lane] = static_cast<int32_t>(std::nearbyintf(x[lane]));
  return rounded;
}
inline Floats MultiplyAdd(Floats a, Floats b, Floats c) { return a * b + c; }
inline Floats Lower(Ints pairs) { return reinterpret_cast<Floats>(pairs << 16); }
inline Floats Upper(Ints pairs) {
  return reinterpret_cast<Floats>(pairs & static_cast<int32_t>(0xffff0000u));
}

#endif

constexpr int kPerPanel = kPanel / kWidth;

// Steps over single elements of the summed index: floats, or pairs of bf16.
struct SingleSteps {
  using Element = float;
  using Vector = Floats;
  static Vector Spread(const float* at) { return Broadcast(at); }
  static Vector Fetch(const float* at) { return Load(at); }
  static Floats Add(Vector a, Vector b, Floats sum) { return MultiplyAdd(a, b, sum); }
};
struct PairSteps {
  using Element = uint32_t;
  using Vector = Ints;
  static Vector Spread(const uint32_t* at) { return BroadcastPair(at); }
  static Vector Fetch(const uint32_t* at) { return LoadPairs(at); }
#if defined(__AVX512BF16__) && (!defined(__clang_major__) || __clang_major__ > 16)  // clang 16 crashes on it
  static Floats Add(Vector a, Vector b, Floats sum) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
#else
  static Floats Add(Vector a, Vector b, Floats sum) {
    return MultiplyAdd(Upper(a), Upper(b), MultiplyAdd(Lower(a), Lower(b), sum));
  }
#endif
};

template <typename Steps, int kRows, int kPanels>
void ProductTile(const typename Steps::Element* x, std::size_t x_stride, int depth,
                 const typename Steps::Element* panels, const float* bias, float* y, std::size_t y_stride) {
  constexpr int kColumns = kPanels * kPerPanel;
  const std::size_t panel_size = static_cast<std::size_t>(depth) * kPanel;
  Floats sums[kRows][kColumns];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
    for (int c = 0; c < kColumns; ++c) sums[r][c] = Zero();
  }
  for (int k = 0; k < depth; ++k) {
    typename Steps::Vector w[kColumns];
#pragma GCC unroll 32
    for (int c = 0; c < kColumns; ++c)
      w[c] = Steps::Fetch(panels + (c / kPerPanel) * panel_size + static_cast<std::size_t>(k) * kPanel +
                          c % kPerPanel * kWidth);
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) {
      const typename Steps::Vector spread = Steps::Spread(x + static_cast<std::size_t>(r) * x_stride + k);
#pragma GCC unroll 32
      for (int c = 0; c < kColumns; ++c) sums[r][c] = Steps::Add(spread, w[c], sums[r][c]);
    }
  }
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
    for (int c = 0; c < kColumns; ++c)
      Store(y + static_cast<std::size_t>(r) * y_stride + c * kWidth,
            bias == nullptr ? sums[r][c] : Add(sums[r][c], Load(bias + c * kWidth)));
  }
}

template <typename Steps, int kRows, int kPanels>
void ProductTileOf(int rows, const typename Steps::Element* x, std::size_t x_stride, int depth,
                   const typename Steps::Element* panels, const float* bias, float* y, std::size_t y_stride) {
  if constexpr (kRows > 0) {
    if (rows == kRows)
      ProductTile<Steps, kRows, kPanels>(x, x_stride, depth, panels, bias, y, y_stride);
    else
      ProductTileOf<Steps, kRows - 1, kPanels>(rows, x, x_stride, depth, panels, bias, y, y_stride);
  }
}

// Divides rows into tiles of nearly equal height: a low tile would take as long as a high one.
template <typename Steps, int kPanels>
void ProductPanels(const typename Steps::Element* x, std::size_t x_stride, int rows, int depth,
                   const typename Steps::Element* panels, const float* bias, float* y, std::size_t y_stride) {
  const int tiles = (rows + kProductRows - 1) / kProductRows;
  for (int tile = 0; tile < tiles; ++tile) {
    const int begin = rows * tile / tiles, end = rows * (tile + 1) / tiles;
    ProductTileOf<Steps, kProductRows, kPanels>(end - begin, x + begin * x_stride, x_stride, depth, panels,
                                                bias, y + begin * y_stride, y_stride);
  }
}

template <typename Steps>
void ProductOf(const typename Steps::Element* x, std::size_t x_stride, int rows, int depth,
               const typename Steps::Element* panels, int panel_count, const float* bias, float* y,
               std::size_t y_stride) {
  const std::size_t panel_size = static_cast<std::size_t>(depth) * kPanel;
  int panel = 0;
  for (; panel + kProductPanels <= panel_count; panel += kProductPanels)
    ProductPanels<Steps, kProductPanels>(x, x_stride, rows, depth, panels + panel * panel_size,
                                         bias == nullptr ? nullptr : bias + panel * kPanel,
                                         y + panel * kPanel, y_stride);
  for (; panel < panel_count; ++panel)
    ProductPanels<Steps, 1>(x, x_stride, rows, depth, panels + panel * panel_size,
                            bias == nullptr ? nullptr : bias + panel * kPanel, y + panel * kPanel, y_stride);
}

// kDivide: rows per step.
template <typename Steps, int kInputs, int kPanels, int kDivide>
void GradientTile(const typename Steps::Element* x, std::size_t x_stride, const typename Steps::Element* d,
                  std::size_t d_stride, const int* begins, int shards, int32_t* sums,
                  std::size_t sums_stride) {
  constexpr int kColumns = kPanels * kPerPanel;
  Ints totals[kInputs][kColumns];
#pragma GCC unroll 32
  for (int i = 0; i < kInputs; ++i) {
#pragma GCC unroll 32
    for (int c = 0; c < kColumns; ++c) totals[i][c] = ZeroInts();
  }
  for (int s = 0; s < shards; ++s) {
    Floats part[kInputs][kColumns];
#pragma GCC unroll 32
    for (int i = 0; i < kInputs; ++i) {
#pragma GCC unroll 32
      for (int c = 0; c < kColumns; ++c) part[i][c] = Zero();
    }
    const int end = (begins[s + 1] + kDivide - 1) / kDivide;
    for (int k = begins[s] / kDivide; k < end; ++k) {
      const typename Steps::Element* row = d + static_cast<std::size_t>(k) * d_stride;
      const typename Steps::Element* inputs = x + static_cast<std::size_t>(k) * x_stride;
      typename Steps::Vector delta[kColumns];
#pragma GCC unroll 32
      for (int c = 0; c < kColumns; ++c) delta[c] = Steps::Fetch(row + c * kWidth);
#pragma GCC unroll 32
      for (int i = 0; i < kInputs; ++i) {
        const typename Steps::Vector spread = Steps::Spread(inputs + i);
#pragma GCC unroll 32
        for (int c = 0; c < kColumns; ++c) part[i][c] = Steps::Add(spread, delta[c], part[i][c]);
      }
    }
#pragma GCC unroll 32
    for (int i = 0; i < kInputs; ++i) {
#pragma GCC unroll 32
      for (int c = 0; c < kColumns; ++c) totals[i][c] = AddInts(totals[i][c], Rounded(part[i][c]));
    }
  }
#pragma GCC unroll 32
  for (int i = 0; i < kInputs; ++i) {
#pragma GCC unroll 32
    for (int c = 0; c < kColumns; ++c)
      StoreInts(sums + (c / kPerPanel) * sums_stride + i * kPanel + c % kPerPanel * kWidth, totals[i][c]);
  }
}

template <typename Steps, int kInputs, int kPanels, int kDivide>
void GradientTileOf(int inputs, const typename Steps::Element* x, std::size_t x_stride,
                    const typename Steps::Element* d, std::size_t d_stride, const int* begins, int shards,
                    int32_t* sums, std::size_t sums_stride) {
  if constexpr (kInputs > 0) {
    if (inputs == kInputs)
      GradientTile<Steps, kInputs, kPanels, kDivide>(x, x_stride, d, d_stride, begins, shards, sums,
                                                     sums_stride);
    else
      GradientTileOf<Steps, kInputs - 1, kPanels, kDivide>(inputs, x, x_stride, d, d_stride, begins, shards,
                                                           sums, sums_stride);
  }
}

template <typename Steps, int kPanels, int kDivide>
void GradientPanels(const typename Steps::Element* x, std::size_t x_stride, const typename Steps::Element* d,
                    std::size_t d_stride, const int* begins, int shards, int inputs, int32_t* sums,
                    std::size_t sums_stride) {
  for (int i = 0; i < inputs; i += kGradientInputs) {
    const int count = inputs - i < kGradientInputs ? inputs - i : kGradientInputs;
    GradientTileOf<Steps, kGradientInputs, kPanels, kDivide>(
        count, x + i, x_stride, d, d_stride, begins, shards, sums + static_cast<std::size_t>(i) * kPanel,
        sums_stride);
  }
}

template <typename Steps, int kDivide>
void GradientOf(const typename Steps::Element* x, std::size_t x_stride, const typename Steps::Element* d,
                std::size_t d_stride, const int* begins, int shards, int inputs, int panel_count,
                int32_t* sums, std::size_t sums_stride) {
  int panel = 0;
  for (; panel + kGradientPanels <= panel_count; panel += kGradientPanels)
    GradientPanels<Steps, kGradientPanels, kDivide>(x, x_stride, d + panel * kPanel, d_stride, begins, shards,
                                                    inputs, sums + panel * sums_stride, sums_stride);
  for (; panel < panel_count; ++panel)
    GradientPanels<Steps, 1, kDivide>(x, x_stride, d + panel * kPanel, d_stride, begins, shards, inputs,
                                      sums + panel * sums_stride, sums_stride);
}

#if defined(__AVX512BF16__)
constexpr bool kNativeBf16 = true;
#else
constexpr bool kNativeBf16 = false;
#endif

constexpr Kernels KernelsNamed(const char* name) {
  return {name,
          kFused,
          kNativeBf16,
          ProductOf<SingleSteps>,
          ProductOf<PairSteps>,
          GradientOf<SingleSteps, 1>,
          GradientOf<PairSteps, 2>};
}

}  // namespace
}  // namespace winnow::mlp

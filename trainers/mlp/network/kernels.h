#pragma once

#include <cstddef>
#include <cstdint>

namespace winnow::mlp {

// The matrix products of the network, once per instruction set. Each element of a product is one chain of
// multiply-adds in ascending order of the summed index. So its bits depend neither on the division of rows
// and columns into tiles nor, among the sets with fused multiply-add, on the instruction set.
//
// Panels are as in network.h: [panel][depth][16]. bf16 numbers are stored in pairs of two consecutive summed
// indices: the lower in the lower 16 bits; an odd last one is paired with 0.
struct Kernels {
  const char* name;  // WINNOW_SIMD's name: off, avx2, avx512, avx512bf16
  bool fused;        // whether multiplication and addition round once
  bool native_bf16;  // whether the processor multiplies bf16

  // y[r][16 p + c] = bias[16 p + c] + sum over k of x[r][k] * panels[p][k][c], for `rows` and `panel_count`.
  // bias null: 0.
  void (*product)(const float* x, std::size_t x_stride, int rows, int depth, const float* panels,
                  int panel_count, const float* bias, float* y, std::size_t y_stride);
  // `product` for pairs: x[r][pair], panels[p][pair][16]. Strides in pairs.
  void (*product_bf16)(const uint32_t* x, std::size_t x_stride, int rows, int pairs, const uint32_t* panels,
                       int panel_count, const float* bias, float* y, std::size_t y_stride);

  // sums[p * sums_stride + 16 i + c] = sum over shards of round(sum over the shard's rows r of x[r][i] *
  // d[r][16 p + c]), for i < inputs. Shard s has the rows [begins[s], begins[s + 1]). REQUIRES: the sums fit
  // 32 bits.
  void (*weight_gradient)(const float* x, std::size_t x_stride, const float* d, std::size_t d_stride,
                          const int* begins, int shards, int inputs, int panel_count, int32_t* sums,
                          std::size_t sums_stride);
  // `weight_gradient` for pairs of rows: x[r / 2][i], d[r / 2][16 p + c]; all begins but the last are even.
  void (*weight_gradient_bf16)(const uint32_t* x, std::size_t x_stride, const uint32_t* d,
                               std::size_t d_stride, const int* begins, int shards, int inputs,
                               int panel_count, int32_t* sums, std::size_t sums_stride);
};

// Returns the kernels that this processor can run, from the plainest to the widest.
const Kernels* const* RunnableKernels(int* count);

// Returns the widest kernels, or those that the environment variable WINNOW_SIMD names ("off", "avx2",
// "avx512", "avx512bf16"), if the processor can run them.
const Kernels& ChosenKernels();

// Whether bf16 products are faster than f32 ones on this processor: it multiplies bf16, and is not Intel's,
// whose avx512_bf16 takes 1.3 to 1.7 times as long as f32 (its matrix units are not used). True where
// WINNOW_SIMD names the kernels.
bool IsBf16Fast();

}  // namespace winnow::mlp

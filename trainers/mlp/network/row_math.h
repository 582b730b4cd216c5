#pragma once

#include <cstddef>
#include <cstdint>

#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// Elementwise operations on one row: the same bits on every instruction set.

// out[i] = bytes[i] * scale + shift.
void BytesToFloats(const uint8_t* bytes, std::size_t count, float scale, float shift, float* out);

// a = activation(z); in place where a == z. GELU is z * Phi(z), Phi to 1.5e-7 (Abramowitz and Stegun 7.1.26).
void Activate(Activation kind, float leaky_slope, const float* z, std::size_t count, float* a);

// delta *= activation'(z). `a` is activation(z), which suffices for all but GELU; GELU needs z (otherwise
// null).
void ActivationGradient(Activation kind, float leaky_slope, const float* z, const float* a, std::size_t count,
                        float* delta);

// The units that a step drops: unit u of a row is dropped with probability `rate`, a function of (key, u).
struct DropoutRow {
  uint32_t key = 0;
  float rate = 0;
};
uint32_t DropoutKey(uint64_t seed, int64_t step, int layer, int64_t position);

// values[u] becomes 0 if dropped, otherwise values[u] / (1 - rate); for activations and their gradients.
void Drop(const DropoutRow& row, std::size_t count, float* values);

float LargestMagnitude(const float* values, std::size_t count);  // NaN counts as infinity

void Scale(float factor, std::size_t count, float* values);

// Rounds values to bf16 (nearest, ties to even) and packs them in pairs; `count` is even.
void PackBf16(const float* values, std::size_t count, uint32_t* pairs);

// pairs[i] = bf16 of lower[i] * factor in the lower half and of upper[i] * factor above; upper null: 0.
void PackBf16Pairs(const float* lower, const float* upper, float factor, std::size_t count, uint32_t* pairs);

// counts[i] * factor.
void CountsToFloats(const int32_t* counts, float factor, std::size_t count, float* out);

// to[16 j + i] = from[16 i + j] for i < rows, j < 16; 0 for i >= rows.
void TransposeBlock(const float* from, int rows, float* to);

// The steps of batch norm for one row, in double.
// sums += values
void AddValues(const float* values, std::size_t count, double* sums);
// sums += (values - means)^2
void AddSquares(const float* values, const double* means, std::size_t count, double* sums);
// sums += a * b
void AddProducts(const float* a, const float* b, std::size_t count, double* sums);
// normalised = (values - means) * inverses; values = gamma * normalised + beta
void Normalise(const double* means, const double* inverses, const float* gamma, const float* beta,
               std::size_t count, float* values, float* normalised);
// delta = factors * (delta - mean_beta - normalised * mean_gamma)
void NormaliseGradient(const double* factors, const double* mean_beta, const double* mean_gamma,
                       const float* normalised, std::size_t count, float* delta);

}  // namespace winnow::mlp

#pragma once

#include <cstddef>
#include <span>

#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// Floats in fewer bits, for messages. bf16: rounded to the nearest, ties to even. int8: 256 numbers share a
// scale, their largest magnitude / 127; each is the nearest of its 255 multiples. All functions REQUIRE:
// compression is not kNone.

// Returns the bytes of `count` floats: 2 each, or 1 each and 4 for each 256 begun.
std::size_t CompressedBytes(Compression compression, std::size_t count);

// Writes CompressedBytes(values.size()) to `bytes`, and the rounding error of values[i] (its value minus the
// one that Decompress restores) to left_out[i]. Values that are not finite stay so; with int8, so do those
// that share their scale.
void Compress(Compression compression, std::span<const float> values, char* bytes, float* left_out);

void Decompress(Compression compression, const char* bytes, std::span<float> values);

}  // namespace winnow::mlp

#pragma once

#include <cstddef>
#include <span>

#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// Floats in fewer bits, for messages. bf16: rounded to the nearest, ties to even. int8: 256 numbers share a
// scale, their largest magnitude / 127; each is the nearest of its 255 multiples.
// In all of these, REQUIRES: compression is not kNone.

// Bytes that `count` floats become: 2 each, or 1 each and 4 for each 256 begun.
std::size_t CompressedBytes(Compression compression, std::size_t count);

// Writes CompressedBytes(values.size()) to `bytes`, and to left_out[i] what values[i] has more than the
// number that Decompress gives back. What is not finite comes back as not finite; with int8, so do those that
// share its scale.
void Compress(Compression compression, std::span<const float> values, char* bytes, float* left_out);

void Decompress(Compression compression, const char* bytes, std::span<float> values);

}  // namespace winnow::mlp

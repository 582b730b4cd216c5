#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
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

// Sums gradients over ranks in fewer bits (compression.h), with error feedback: the rounding error of a
// message is added to the next one for the same numbers (Seide et al., Interspeech 2014, 2; Karimireddy et
// al., ICML 2019, algorithm 2), both on the way to the rank that sums a piece and on its way back.
//
// A sum sends 2 (ranks - 1) / ranks numbers of 2 bytes (bf16) or 1 (int8, and 4 bytes more for each 256) for
// each of its own, so 1/2 or a little over 1/4 of floats' bytes. The result has the same bits on all ranks,
// and each time for a given number of ranks; another number of ranks gives other bits. One rank neither sends
// nor rounds.
class CompressedSum {
 public:
  // For a flat array of `count` floats. REQUIRES: compression is not kNone.
  CompressedSum(Compression compression, std::size_t count, Communicator* ranks);

  // Replaces data, [begin, begin + data.size()) of the flat array, by approximately its sum over ranks. All
  // ranks call it with the same runs, in the same order; runs that are divided in the same way at every step
  // get their full error feedback. A sum with a part that is not finite is not finite (int8: nor are others
  // of its 256). Errors as the Communicator; Internal if another rank's message has the wrong size.
  absl::Status Sum(std::size_t begin, std::span<float> data);

  // Returns the kept errors, for a checkpoint: all ranks call it; rank 0's result has those of all ranks.
  absl::StatusOr<std::string> Collect();
  // Continues from Collect's result, the same on all ranks: unchanged for as many ranks; for others, the
  // errors are redistributed. "" means none. InvalidArgument if it is not of this array.
  absl::Status Restore(const std::string& collected);

  uint64_t state_bytes() const { return error_.size() * sizeof(float); }

 private:
  const Compression compression_;
  Communicator* const ranks_;
  // This rank's rounding errors so far: for its own pieces on the way back, for others on the way to the
  // summing rank.
  std::vector<float> error_;
  std::vector<float> sum_, decoded_;  // of this rank's piece, within a Sum
  std::vector<char> packed_;          // all ranks' sums, within a Sum
};

}  // namespace winnow::mlp

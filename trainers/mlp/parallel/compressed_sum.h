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

// Sums of gradients over ranks in fewer bits (compression.h), with error feedback: what a message could not
// say is added to what the next one says of the same numbers (Seide et al., Interspeech 2014, 2; Karimireddy
// et al., ICML 2019, algorithm 2), both on the way to the rank that sums a piece and on its way back.
//
// A sum sends 2 (ranks - 1) / ranks numbers of 2 bytes (bf16) or 1 (int8, and 4 bytes more for each 256) for
// each of its own, so 1/2 or a little over 1/4 of what floats take. The result is the same bits on all ranks,
// and the same each time for a given number of ranks; another number of ranks gives other bits. One rank
// neither sends nor rounds.
class CompressedSum {
 public:
  // For a flat array of `count` floats. REQUIRES: compression is not kNone.
  CompressedSum(Compression compression, std::size_t count, Communicator* ranks);

  // data becomes, nearly, its sum over ranks; it stands at [begin, begin + data.size()) of the flat array.
  // All ranks call it with the same runs, in the same order; a run that is cut in the same way every step has
  // its errors fed back in full. A sum of which a part is not finite is not finite (int8: nor are others of
  // its 256). Errors as of the Communicator; Internal if another rank's message is not of the right size.
  absl::Status Sum(std::size_t begin, std::span<float> data);

  // Errors that are kept, for a checkpoint: all ranks call it; rank 0's answer holds those of all ranks.
  absl::StatusOr<std::string> Collect();
  // Goes on from what Collect gave, the same on all ranks: as before for as many ranks; with others, the
  // errors are shared out anew. "" means none. InvalidArgument if it is not of this array.
  absl::Status Restore(const std::string& collected);

  uint64_t state_bytes() const { return error_.size() * sizeof(float); }

 private:
  const Compression compression_;
  Communicator* const ranks_;
  // What this rank's messages have left out so far: of its own pieces on the way back, of others on the way
  // to whom sums them.
  std::vector<float> error_;
  std::vector<float> sum_, decoded_;  // of this rank's piece, within a Sum
  std::vector<char> packed_;          // all ranks' sums, within a Sum
};

}  // namespace winnow::mlp

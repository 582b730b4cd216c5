#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/messenger.h"

namespace winnow::mlp {

// The kinds of messages between ranks of a pipeline.
enum class StageTag : uint32_t { kActivations = 1, kDeltas, kCounts, kParameters };

// Returns the next message of that tag from rank `from`, which must have `bytes` bytes (else Internal).
absl::StatusOr<Message> ReceiveOf(Messenger* messenger, int from, StageTag tag, std::size_t bytes);

// The ranks with the same layers and different rows. Each has a piece of the layers' parameters, whose
// gradients it sums and which it updates for all: reduce-scatter and all-gather, by messages.
class StageReplicas {
 public:
  // Replica r is rank first_rank + r, and its piece is [pieces[r], pieces[r + 1]) of the flat array.
  StageReplicas(Messenger* messenger, int first_rank, int own, std::vector<std::size_t> pieces);

  std::size_t begin() const { return pieces_[own_]; }  // of the own piece
  std::size_t end() const { return pieces_[own_ + 1]; }

  // Sends the other ranks' pieces of counts, this replica's values for [begin, begin + counts.size()) of the
  // flat array.
  absl::Status SendCounts(std::span<const int32_t> counts, std::size_t begin);
  // Adds the others' counts of that run, in the own piece. Runs are received in the order in which they are
  // sent.
  absl::Status AddCounts(std::span<int32_t> counts, std::size_t begin);

  // Replaces all pieces of the flat array `parameters` by those of their owners.
  absl::Status ShareParameters(float* parameters);

 private:
  int replicas() const { return static_cast<int>(pieces_.size()) - 1; }

  Messenger* const messenger_;
  const int first_rank_, own_;
  const std::vector<std::size_t> pieces_;
  std::vector<int32_t> theirs_;
};

}  // namespace winnow::mlp

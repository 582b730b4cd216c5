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

// What the messages between ranks of a pipeline are.
enum class StageTag : uint32_t { kActivations = 1, kDeltas, kCounts, kParameters };

// The next message of that tag from rank `from`, which must have `bytes` bytes (else Internal).
absl::StatusOr<Message> ReceiveOf(Messenger* messenger, int from, StageTag tag, std::size_t bytes);

// The ranks that hold the same layers and work on different rows. Each has a piece of the layers' parameters,
// whose gradients it sums and which it moves for all: reduce-scatter and all-gather, by messages.
class StageReplicas {
 public:
  // Replica r is rank first_rank + r, and its piece is [pieces[r], pieces[r + 1]) of the flat array.
  StageReplicas(Messenger* messenger, int first_rank, int own, std::vector<std::size_t> pieces);

  std::size_t begin() const { return pieces_[own_]; }  // of the own piece
  std::size_t end() const { return pieces_[own_ + 1]; }

  // counts of [begin, begin + counts.size()) of the flat array are as this replica's rows have them: what is
  // of others' pieces is sent.
  absl::Status SendCounts(std::span<const int32_t> counts, std::size_t begin);
  // What the others sent of that stretch is added, in the own piece. Stretches are received in the order that
  // they are sent in.
  absl::Status AddCounts(std::span<int32_t> counts, std::size_t begin);

  // The pieces of all, of the flat array `parameters`, become those of their owners.
  absl::Status ShareParameters(float* parameters);

 private:
  int replicas() const { return static_cast<int>(pieces_.size()) - 1; }

  Messenger* const messenger_;
  const int first_rank_, own_;
  const std::vector<std::size_t> pieces_;
  std::vector<int32_t> theirs_;
};

}  // namespace winnow::mlp

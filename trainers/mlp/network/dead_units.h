#pragma once

#include <cstdint>
#include <vector>

#include "trainers/mlp/network/layer_stack.h"

namespace winnow::mlp {

// Records which units of ReLU layers have been above 0 for any row of this rank: the others no longer learn.
class DeadUnits {
 public:
  explicit DeadUnits(const Network& network);

  // Called after the forward pass of rows [0, rows).
  void Look(LayerStack& stack, int64_t rows);

  // Fraction of all observed hidden units that were never above 0 since the last Forget; 0 before any Look.
  double Share() const;
  void Forget();

 private:
  std::vector<std::vector<uint8_t>>
      alive_;  // [layer][unit]; empty if the stack lacks the layer's outputs
};

}  // namespace winnow::mlp

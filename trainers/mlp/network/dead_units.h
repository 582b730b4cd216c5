#pragma once

#include <cstdint>
#include <vector>

#include "trainers/mlp/network/layer_stack.h"

namespace winnow::mlp {

// Which units of ReLU layers have ever been above 0 for the rows of this rank: the others learn nothing any
// more.
class DeadUnits {
 public:
  explicit DeadUnits(const Network& network);

  // After the rows [0, rows) went forward.
  void Look(LayerStack& stack, int64_t rows);

  // Share of all hidden units looked at that were never above 0 since the last Forget; 0 before any look.
  double Share() const;
  void Forget();

 private:
  std::vector<std::vector<uint8_t>>
      alive_;  // [layer][unit]; empty where the stack has not the layer's outputs
};

}  // namespace winnow::mlp

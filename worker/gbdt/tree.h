#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "worker/data/data_set.h"

namespace winnow {

// A regression tree; node 0 is the root, a node's children are neighbours and come after it.
struct Tree {
  struct Node {
    int32_t feature = -1;  // -1: a leaf
    int32_t left = 0;      // the right child is left + 1
    float threshold = 0;   // values below it go left
    bool missing_left = false;
    float value = 0;  // of a leaf
    float gain = 0;   // of a split
    float cover = 0;  // sum of hessians
  };
  std::vector<Node> nodes;

  // columns: [feature][row], NaN for missing.
  float Predict(const std::vector<std::vector<float>>& columns, int64_t row) const {
    const Node* node = nodes.data();
    while (node->feature >= 0) {
      const float value = columns[node->feature][row];
      const bool left = std::isnan(value) ? node->missing_left : value < node->threshold;
      node = &nodes[node->left + (left ? 0 : 1)];
    }
    return node->value;
  }
};

}  // namespace winnow

#pragma once

#include <cstdint>
#include <vector>

#include "trainers/gbdt/model/model.h"

namespace winnow::gbdt {

// The trees of a model's first rounds, in a layout for the traversal by many rows. Keeps a reference to the
// model.
class Forest {
 public:
  static constexpr int64_t kBlockRows = 64;

  Forest(const Model& model, int64_t rounds);

  // Adds the trees' values to the margins of rows [begin, end), at most kBlockRows, tree after tree for each
  // row, which gives the same bits as training. columns: [feature][row]; margins: [class][row] with `rows`
  // rows per class.
  void AddMargins(const std::vector<std::vector<float>>& columns, int64_t begin, int64_t end, int64_t rows,
                  float* margins) const;

 private:
  // A leaf leads to itself, so that all rows take as many steps as the tree is deep: its threshold is NaN.
  struct Node {
    float threshold = 0;   // values from it on go right
    uint32_t feature = 0;  // of features_
    uint32_t left = 0;
    uint32_t missing_right = 0;  // 0 or 1
  };
  struct Planted {
    uint32_t root = 0;  // of nodes_
    int depth = 0;      // steps to the deepest leaf; -1: traverses the model's own tree by single rows
  };

  void Plant(const Tree& tree);

  const Model& model_;
  std::vector<int32_t> features_;  // those that some tree uses
  std::vector<Node> nodes_;
  std::vector<float> values_;  // of nodes_ that are leaves
  std::vector<Planted> trees_;
};

}  // namespace winnow::gbdt

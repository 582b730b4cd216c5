#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "trainers/data/data_set.h"

namespace winnow::gbdt {

// A regression tree; node 0 is the root; a node's children are neighbours and come after it.
struct Tree {
  struct Node {
    int32_t feature = -1;       // -1: a leaf
    int32_t left = 0;           // the right child is left + 1
    float threshold = 0;        // values below it go left
    bool missing_left = false;  // where a missing value goes
    float value = 0;            // of a leaf
    float gain = 0;             // of a split
    float cover = 0;            // sum of hessians
    // A categorical split sends the listed categories to the right and every other category, known or
    // unknown, to the left.
    bool categorical = false;
    int32_t categories_begin = 0, categories_count = 0;  // of Tree::categories
    float weight = 0;                                    // of a split: its value as a leaf, before eta
  };
  std::vector<Node> nodes;
  std::vector<int32_t> categories;  // of each categorical split ascending, one split after the other

  // Where a row with this value of the node's feature goes. REQUIRES: not a leaf.
  bool GoesLeft(const Node& node, float value) const {
    if (std::isnan(value)) return node.missing_left;
    return node.categorical ? !ListsCategory(node, value) : value < node.threshold;
  }

  // Returns the leaf of a row.
  int32_t Leaf(const DataSet& data, int64_t row) const {
    int32_t at = 0;
    while (nodes[at].feature >= 0)
      at = nodes[at].left + (GoesLeft(nodes[at], data.ValueAt(nodes[at].feature, row)) ? 0 : 1);
    return at;
  }
  float Predict(const DataSet& data, int64_t row) const { return nodes[Leaf(data, row)].value; }

 private:
  // A category is a value without its fraction. Values that cannot be categories are in no list.
  bool ListsCategory(const Node& node, float value) const {
    constexpr float kCategoryLimit = 16777216;  // 2^24: floats are no longer exact from there on
    if (!(value >= 0 && value < kCategoryLimit)) return false;
    const auto begin = categories.begin() + node.categories_begin;
    return std::binary_search(begin, begin + node.categories_count, static_cast<int32_t>(value));
  }
};

}  // namespace winnow::gbdt

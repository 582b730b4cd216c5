#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace winnow {

// The data of a fit: points of the unit cube with a value each.
struct ForestData {
  std::vector<std::vector<double>> x;  // by dimension, then point; 0 to 1
  std::vector<double> y;
};

struct ForestOptions {
  int trees = 48;
  int least_leaf = 3;  // points of a leaf, including repetitions
  uint64_t seed = 0;
};

// Regression trees, each grown on its own bootstrap sample (Breiman, Machine Learning 45, 2001): a node is
// cut where the squared error decreases most, among 5/6 of the dimensions, drawn for each node, as in Hutter,
// Hoos and Leyton-Brown. The same data and seed give the same forest.
class Forest {
 public:
  struct Node {
    int dimension = -1;  // -1: a leaf
    double cut = 0;      // points below go to `below`, the others to `below` + 1
    int below = 0;
    double value = 0;  // mean of a leaf
  };
  using Tree = std::vector<Node>;  // the root first

  // `gone` is polled: true when the forest is no longer needed; then it has fewer trees.
  static Forest Fit(const ForestData& data, const ForestOptions& options,
                    const std::function<bool()>& gone = {});

  const std::vector<Tree>& trees() const { return trees_; }
  size_t dimensions() const { return dimensions_; }

  // A forest of given trees.
  Forest(size_t dimensions, std::vector<Tree> trees) : dimensions_(dimensions), trees_(std::move(trees)) {}

 private:
  size_t dimensions_;
  std::vector<Tree> trees_;
};

}  // namespace winnow

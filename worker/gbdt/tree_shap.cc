#include "worker/gbdt/tree_shap.h"

#include <algorithm>

#include "worker/gbdt/objective.h"

namespace winnow {
namespace {

// The splits above a leaf, those of one feature together.
struct LeafPath {
  struct Step {
    int32_t node;
    bool left;
  };
  struct Element {
    int32_t feature;
    double share = 1;  // of the training rows that pass its splits if all others let them: zero_fraction
    std::vector<Step> steps;
  };
  double value;
  std::vector<Element> elements;
};

struct TreePaths {
  std::vector<LeafPath> leaves;
  double mean = 0;  // of the leaves, weighed with the shares of rows
};

// The share of a node's rows that its left child has.
double LeftShare(const Tree& tree, const Tree::Node& node) {
  const double left = tree.nodes[node.left].cover, right = tree.nodes[node.left + 1].cover;
  return left + right > 0 ? left / (left + right) : 0.5;
}

TreePaths PathsOf(const Tree& tree) {
  struct Position {
    LeafPath path;
    double share = 1;
  };
  TreePaths paths;
  std::vector<Position> positions(tree.nodes.size());
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
    const Tree::Node& node = tree.nodes[n];
    const Position here = std::move(positions[n]);
    if (node.feature < 0) {
      paths.leaves.push_back(here.path);
      paths.leaves.back().value = node.value;
      paths.mean += here.share * node.value;
      continue;
    }
    const double left_share = LeftShare(tree, node);
    for (bool left : {true, false}) {
      Position& child = positions[node.left + (left ? 0 : 1)];
      child = here;
      std::vector<LeafPath::Element>& elements = child.path.elements;
      auto element = std::find_if(elements.begin(), elements.end(),
                                  [&](const auto& known) { return known.feature == node.feature; });
      if (element == elements.end()) element = elements.insert(elements.end(), {node.feature, 1, {}});
      const double share = left ? left_share : 1 - left_share;
      element->share *= share;
      element->steps.push_back({static_cast<int32_t>(n), left});
      child.share *= share;
    }
  }
  return paths;
}

// What is computed for one row after the other.
struct Scratch {
  std::vector<char> goes_left;  // [node]
  std::vector<char> passes;     // [element of a path]
  std::vector<double> weights;  // of the subsets of a path's elements, [their size]: the paper's w
};

// Adds the elements' contributions times `factor` to contributions[feature].
void AddLeaf(const LeafPath& path, double factor, Scratch* scratch, double* contributions) {
  std::vector<double>& weights = scratch->weights;
  const std::size_t size = path.elements.size();
  weights.assign(size + 1, 0);
  scratch->passes.resize(size);
  weights[0] = 1;
  for (std::size_t e = 0; e < size; ++e) {  // EXTEND
    const LeafPath::Element& element = path.elements[e];
    const bool passes =
        std::all_of(element.steps.begin(), element.steps.end(),
                    [&](const LeafPath::Step& step) { return scratch->goes_left[step.node] == step.left; });
    scratch->passes[e] = passes;
    const double scale = 1 / static_cast<double>(e + 2);
    for (std::size_t i = e + 1; i-- > 0;) {
      if (passes) weights[i + 1] += weights[i] * static_cast<double>(i + 1) * scale;
      weights[i] *= element.share * static_cast<double>(e + 1 - i) * scale;
    }
  }
  // The sum of the weights after UNWIND of an element that the row does not pass, times its share, is the
  // same for all of those.
  double failing = 0;
  const auto all = static_cast<double>(size + 1);
  for (std::size_t i = 0; i < size; ++i) failing += weights[i] * all / static_cast<double>(size - i);
  for (std::size_t e = 0; e < size; ++e) {
    const LeafPath::Element& element = path.elements[e];
    if (!scratch->passes[e]) {
      contributions[element.feature] -= failing * path.value * factor;
      continue;
    }
    double sum = 0, next = weights[size];
    for (std::size_t i = size; i-- > 0;) {
      const double unwound = next * all / static_cast<double>(i + 1);
      sum += unwound;
      next = weights[i] - unwound * element.share * static_cast<double>(size - i) / all;
    }
    contributions[element.feature] += sum * (1 - element.share) * path.value * factor;
  }
}

}  // namespace

std::vector<float> PredictContributions(const GbdtModel& model, const DataSet& data, int64_t rounds,
                                        ThreadPool* pool) {
  constexpr int64_t kRowsOfTask = 64;
  const int64_t trees = rounds * model.trees_per_round();
  const int classes = model.parameters.classes();
  const std::size_t width = model.feature_names.size() + 1;
  std::vector<TreePaths> paths;
  for (int64_t t = 0; t < trees; ++t) paths.push_back(PathsOf(model.trees[t]));
  std::vector<float> result(static_cast<std::size_t>(data.rows) * classes * width);
  ForRows(data.rows, kRowsOfTask, pool, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    std::vector<double> sums(classes * width);
    for (int64_t row = begin; row < end; ++row) {
      std::fill(sums.begin(), sums.end(), 0);
      for (int k = 0; k < classes; ++k) sums[(k + 1) * width - 1] = BaseMargin(model.parameters);
      for (int64_t t = 0; t < trees; ++t) {
        const Tree& tree = model.trees[t];
        const double weight = model.tree_weights.empty() ? 1 : model.tree_weights[t];
        double* of_class = sums.data() + model.class_of(t) * width;
        of_class[width - 1] += weight * paths[t].mean;
        scratch.goes_left.resize(tree.nodes.size());
        for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
          const Tree::Node& node = tree.nodes[n];
          if (node.feature >= 0) scratch.goes_left[n] = tree.GoesLeft(node, data.columns[node.feature][row]);
        }
        for (const LeafPath& leaf : paths[t].leaves) AddLeaf(leaf, weight, &scratch, of_class);
      }
      std::copy(sums.begin(), sums.end(), result.begin() + row * classes * width);
    }
  });
  return result;
}

}  // namespace winnow

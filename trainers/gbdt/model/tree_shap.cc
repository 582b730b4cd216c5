#include "trainers/gbdt/model/tree_shap.h"

#include <algorithm>
#include <optional>

#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

// A leaf's part of a row's contributions depends only on which features' splits above it the row passes. For
// up to this many features, and if there are more rows than combinations, all combinations are computed first
// (Yang, "Fast TreeSHAP", 2021, version 2).
constexpr int kMostTabulated = 10;

// The splits above a leaf, grouped by feature.
struct Step {
  int32_t node;
  bool left;
};
struct Element {
  int32_t feature;
  // fraction of the training rows that pass its splits, among those that reach them: zero_fraction
  double share;
  std::vector<Step> steps;
};

// weights are those of the subsets of the elements by size, the paper's w; passes: the elements that the row
// passes. result[element] gets the contributions of a leaf of value 1.
void Contributions(const std::vector<Element>& elements, const std::vector<char>& passes,
                   std::vector<double>* weights_of, double* result) {
  const std::size_t size = elements.size();
  weights_of->assign(size + 1, 0);
  double* const weights = weights_of->data();
  weights[0] = 1;
  for (std::size_t e = 0; e < size; ++e) {  // EXTEND
    const double scale = 1 / static_cast<double>(e + 2);
    for (std::size_t i = e + 1; i-- > 0;) {
      if (passes[e]) weights[i + 1] += weights[i] * static_cast<double>(i + 1) * scale;
      weights[i] *= elements[e].share * static_cast<double>(e + 1 - i) * scale;
    }
  }
  // The sum of the weights after UNWIND of an element that the row does not pass, times its share, is equal
  // for all such elements.
  const auto all = static_cast<double>(size + 1);
  double failing = 0;
  for (std::size_t i = 0; i < size; ++i) failing += weights[i] * all / static_cast<double>(size - i);
  for (std::size_t e = 0; e < size; ++e) {
    double sum = 0, next = weights[size];
    for (std::size_t i = size; i-- > 0 && passes[e];) {
      const double unwound = next * all / static_cast<double>(i + 1);
      sum += unwound;
      next = weights[i] - unwound * elements[e].share * static_cast<double>(size - i) / all;
    }
    result[e] = passes[e] ? sum * (1 - elements[e].share) : -failing;
  }
}

struct Leaf {
  double value = 0;
  std::vector<Element> elements;
  std::vector<double> table;  // [bits of the elements passed][element]; empty: not tabulated

  void Tabulate() {
    const std::size_t size = elements.size();
    std::vector<char> passes(size);
    std::vector<double> weights;
    table.resize(size << size);
    for (std::size_t bits = 0; bits < std::size_t{1} << size; ++bits) {
      for (std::size_t e = 0; e < size; ++e) passes[e] = static_cast<char>(bits >> e & 1);
      Contributions(elements, passes, &weights, &table[bits * size]);
    }
  }
};

// Memory that a thread reuses from row to row.
struct Scratch {
  std::vector<char> goes_left;  // [node]
  std::vector<char> passes;     // [element of a leaf]
  std::vector<double> weights, result;
};

class ShapTree {
 public:
  // rows: the approximate number of later queries.
  ShapTree(const Tree& tree, int64_t rows) : tree_(tree) {
    struct Position {
      std::vector<Element> elements;
      double share = 1;
    };
    std::vector<Position> positions(tree.nodes.size());
    for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
      const Tree::Node& node = tree.nodes[n];
      const Position here = std::move(positions[n]);
      if (node.feature < 0) {
        leaves_.push_back({node.value, here.elements, {}});
        mean_ += here.share * node.value;
        const auto size = static_cast<int>(here.elements.size());
        if (size <= kMostTabulated && rows >= int64_t{1} << size) leaves_.back().Tabulate();
        continue;
      }
      const double left_share = LeftShare(node);
      for (bool left : {true, false}) {
        Position& child = positions[node.left + (left ? 0 : 1)];
        child = here;
        const double share = left ? left_share : 1 - left_share;
        child.share *= share;
        auto element = std::find_if(child.elements.begin(), child.elements.end(),
                                    [&](const Element& known) { return known.feature == node.feature; });
        if (element == child.elements.end())
          element = child.elements.insert(child.elements.end(), {node.feature, 1, {}});
        element->share *= share;
        element->steps.push_back({static_cast<int32_t>(n), left});
      }
    }
  }

  double mean() const { return mean_; }  // of the leaves, weighted by their shares of rows

  // Adds a row's contributions by feature, times `weight`, to contributions[feature].
  void Add(const DataSet& data, int64_t row, double weight, Scratch* scratch, double* contributions) const {
    scratch->goes_left.resize(tree_.nodes.size());
    for (std::size_t n = 0; n < tree_.nodes.size(); ++n) {
      const Tree::Node& node = tree_.nodes[n];
      if (node.feature >= 0) scratch->goes_left[n] = tree_.GoesLeft(node, data.ValueAt(node.feature, row));
    }
    for (const Leaf& leaf : leaves_) {
      const std::size_t size = leaf.elements.size();
      const double* of_elements = nullptr;
      if (!leaf.table.empty()) {
        std::size_t bits = 0;
        for (std::size_t e = 0; e < size; ++e)
          bits |= static_cast<std::size_t>(Passes(leaf.elements[e], *scratch)) << e;
        of_elements = &leaf.table[bits * size];
      } else {
        scratch->passes.resize(size);
        scratch->result.resize(size);
        for (std::size_t e = 0; e < size; ++e) scratch->passes[e] = Passes(leaf.elements[e], *scratch);
        Contributions(leaf.elements, scratch->passes, &scratch->weights, scratch->result.data());
        of_elements = scratch->result.data();
      }
      const double factor = leaf.value * weight;
      for (std::size_t e = 0; e < size; ++e)
        contributions[leaf.elements[e].feature] += of_elements[e] * factor;
    }
  }

 private:
  // Returns the left child's share of a node's rows.
  double LeftShare(const Tree::Node& node) const {
    const double left = tree_.nodes[node.left].cover, right = tree_.nodes[node.left + 1].cover;
    return left + right > 0 ? left / (left + right) : 0.5;
  }

  static bool Passes(const Element& element, const Scratch& scratch) {
    bool passes = true;
    for (const Step& step : element.steps) passes = passes && scratch.goes_left[step.node] == step.left;
    return passes;
  }

  const Tree& tree_;
  std::vector<Leaf> leaves_;
  double mean_ = 0;
};

}  // namespace

std::vector<float> PredictContributions(const Model& model, const DataSet& data, int64_t rounds,
                                        ThreadPool* pool) {
  constexpr int64_t kRowsOfTask = 256;
  constexpr int64_t kRowsAtOnce = 1 << 14;  // bounds the memory of sums
  constexpr int64_t kTreesAtOnce = 16;      // bounds the memory of tables
  const int64_t trees = rounds * model.trees_per_round();
  const int classes = model.parameters.classes();
  const auto width = static_cast<int64_t>(model.feature_names.size()) + 1;
  const int64_t row_width = classes * width;
  std::vector<float> result(static_cast<std::size_t>(data.rows * row_width));
  for (int64_t first_row = 0; first_row < data.rows; first_row += kRowsAtOnce) {
    const int64_t rows = std::min(kRowsAtOnce, data.rows - first_row);
    std::vector<double> sums(static_cast<std::size_t>(rows * row_width));
    for (int64_t c = 1; c <= rows * classes; ++c) sums[c * width - 1] = BaseMargin(model.parameters);
    for (int64_t first = 0; first < trees; first += kTreesAtOnce) {
      const int64_t count = std::min(kTreesAtOnce, trees - first);
      std::vector<std::optional<ShapTree>> planted(count);
      ForRows(count, 1, pool, [&](int64_t t, int64_t) { planted[t].emplace(model.trees[first + t], rows); });
      ForRows(rows, kRowsOfTask, pool, [&](int64_t begin, int64_t end) {
        Scratch scratch;
        for (int64_t t = 0; t < count; ++t) {
          const double weight = model.tree_weights.empty() ? 1 : model.tree_weights[first + t];
          for (int64_t i = begin; i < end; ++i) {
            double* of_class = &sums[i * row_width + model.class_of(first + t) * width];
            of_class[width - 1] += weight * planted[t]->mean();
            planted[t]->Add(data, first_row + i, weight, &scratch, of_class);
          }
        }
      });
    }
    std::copy(sums.begin(), sums.end(), result.begin() + first_row * row_width);
  }
  return result;
}

}  // namespace winnow::gbdt

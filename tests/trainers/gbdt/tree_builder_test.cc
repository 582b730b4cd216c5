#include "trainers/gbdt/tree/tree_builder.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>

#include "tests/catch.h"
#include "tests/trainers/gbdt/feature_histograms.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "tests/trainers/gbdt/training_samples.h"
#include "trainers/gbdt/model/model_file.h"

namespace winnow::gbdt {
namespace {

// Gradients of a squared error: rounded once, so that all trees below are grown from the same.
struct Grower {
  TrainingData data;
  FixedGradients gradients;
  std::unique_ptr<Communicator> sole = MakeSoleRank();
  ThreadPool pool;

  explicit Grower(const DataSet& rows, int threads = 1, int64_t max_bin = 256)
      : data(Binned(rows, max_bin)), pool(threads) {
    std::vector<float> gradient, hessian(rows.rows, 1.0f);
    for (int64_t i = 0; i < rows.rows; ++i)
      gradient.push_back(0.4f - rows.label[i] +
                         static_cast<float>(HashOf(8, static_cast<uint64_t>(i)) % 100) * 0.002f);
    CHECK(QuantiseGradients(gradient.data(), hessian.data(), {0, rows.rows, rows.rows}, 5, false, sole.get(),
                            &pool, &gradients)
              .ok());
  }

  Tree Grow(const GbdtParameters& parameters, std::vector<int64_t>* leaf_rows = nullptr,
            std::size_t histogram_budget = TreeBuilder::kHistogramBudget) {
    const FeatureLimits limits;
    TreeBuilder builder(parameters, data.cuts, data.train.matrix, limits, sole.get(), &pool,
                        histogram_budget);
    RowPartition rows(data.train.matrix);
    std::vector<uint32_t> all(data.train.targets.rows);
    std::iota(all.begin(), all.end(), 0u);
    rows.Reset(all);
    Tree tree = *builder.Build(gradients, 0, &rows, {});
    if (leaf_rows != nullptr) {
      for (std::size_t n = 0; n < tree.nodes.size(); ++n)
        leaf_rows->push_back(rows.count(static_cast<int>(n)));
    }
    return tree;
  }
};

GbdtParameters Deep(GrowPolicy policy, int64_t max_depth = 7, int64_t max_leaves = 0) {
  GbdtParameters p;
  p.grow_policy = policy;
  p.max_depth = max_depth;
  p.max_leaves = max_leaves;
  p.eta = 1;
  return p;
}

// The tree as text that does not depend on how its nodes are numbered.
void Describe(const Tree& tree, int id, std::string* text) {
  const Tree::Node& node = tree.nodes[id];
  *text += std::to_string(node.feature) + " " + std::to_string(node.threshold) + " " +
           std::to_string(node.missing_left) + " " + std::to_string(node.gain) + " " +
           std::to_string(node.value) + " " + std::to_string(node.cover) + "\n";
  if (node.feature < 0) return;
  Describe(tree, node.left, text);
  Describe(tree, node.left + 1, text);
}
std::string Described(const Tree& tree) {
  std::string text;
  Describe(tree, 0, &text);
  return text;
}

int Leaves(const Tree& tree) {
  return static_cast<int>(
      std::count_if(tree.nodes.begin(), tree.nodes.end(), [](const auto& node) { return node.feature < 0; }));
}

TEST_CASE("Tree: level by level and best leaf first are one tree where nothing limits the leaves", "[gbdt]") {
  Grower grower(SampleData(4000));
  for (const int64_t max_depth : {1, 4, 9, 0}) {
    const Tree by_level = grower.Grow(Deep(GrowPolicy::kDepthWise, max_depth));
    CHECK(Described(grower.Grow(Deep(GrowPolicy::kLossGuide, max_depth))) == Described(by_level));
    CHECK(Leaves(by_level) > max_depth);
  }
}

// The splits of the whole tree made by always dividing the open node of the highest gain, until there are
// `leaves` leaves: how often each feature and gain occurs.
std::multiset<std::pair<float, int>> BestSplits(const Tree& whole, int leaves) {
  std::multiset<std::pair<float, int>> made;
  std::priority_queue<std::pair<float, int>> open;
  open.push({whole.nodes[0].gain, 0});
  for (int have = 1; have < leaves && !open.empty(); ++have) {
    const Tree::Node& node = whole.nodes[open.top().second];
    open.pop();
    made.insert({node.gain, node.feature});
    for (int child : {node.left, node.left + 1}) {
      if (whole.nodes[child].feature >= 0) open.push({whole.nodes[child].gain, child});
    }
  }
  return made;
}

TEST_CASE("Tree: best leaf first divides the leaves of the highest gain", "[gbdt]") {
  Grower grower(SampleData(4000));
  const Tree whole = grower.Grow(Deep(GrowPolicy::kDepthWise, 0));
  for (const int leaves : {1, 2, 3, 10, 40}) {
    const Tree tree = grower.Grow(Deep(GrowPolicy::kLossGuide, 0, leaves));
    CHECK(Leaves(tree) == leaves);
    std::multiset<std::pair<float, int>> made;
    for (const Tree::Node& node : tree.nodes) {
      if (node.feature >= 0) made.insert({node.gain, node.feature});
    }
    CHECK(made == BestSplits(whole, leaves));
  }
  // Level by level as many leaves are others.
  CHECK(Described(grower.Grow(Deep(GrowPolicy::kDepthWise, 0, 10))) !=
        Described(grower.Grow(Deep(GrowPolicy::kLossGuide, 0, 10))));
}

TEST_CASE("Tree: rows end in the leaves that their values lead to, with their mean", "[gbdt]") {
  const DataSet data = SampleData(4000);
  Grower grower(data);
  GbdtParameters p = Deep(GrowPolicy::kDepthWise);
  p.lambda = 0;
  std::vector<int64_t> rows;
  const Tree tree = grower.Grow(p, &rows);
  std::vector<GradientSum> sums(tree.nodes.size());
  std::vector<int64_t> counts(tree.nodes.size());
  for (int64_t i = 0; i < data.rows; ++i) {
    const int32_t leaf = tree.Leaf(data, i);
    sums[leaf] += grower.gradients.Of(i);
    ++counts[leaf];
  }
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
    if (tree.nodes[n].feature >= 0) continue;
    CHECK(counts[n] == rows[n]);
    const double gradient =
        std::ldexp(static_cast<double>(sums[n].gradient), -grower.gradients.gradient_exponent);
    const double hessian =
        std::ldexp(static_cast<double>(sums[n].hessian), -grower.gradients.hessian_exponent);
    CHECK(tree.nodes[n].value == static_cast<float>(-gradient / hessian));
    CHECK(tree.nodes[n].cover == static_cast<float>(hessian));
  }
}

TEST_CASE("Tree: with room for few histograms, or none, it is the same tree", "[gbdt]") {
  const DataSet data = SampleData(5000);
  for (const int64_t max_bin : {256, 3000}) {
    Grower grower(data, 2, max_bin);
    const HistogramShape shape(grower.data.train.matrix.layout(), FirstNumbers(6));
    for (const GrowPolicy policy : {GrowPolicy::kDepthWise, GrowPolicy::kLossGuide}) {
      const std::string expected = Described(grower.Grow(Deep(policy, 0)));
      // From some level on histograms are counted again; in portions of several nodes, and of one.
      for (const std::size_t pairs : {64, 16, 3, 0})
        CHECK(Described(grower.Grow(Deep(policy, 0), nullptr, pairs * 2 * WordsOf(shape, false))) ==
              expected);
    }
  }
}

TEST_CASE("Tree: rows beyond what packed sums hold, and any number of threads, are one tree", "[gbdt]") {
  const DataSet data = SampleData(3 * kPackedRows + 1234);
  Grower one(data), three(data, 3);
  for (const GrowPolicy policy : {GrowPolicy::kDepthWise, GrowPolicy::kLossGuide}) {
    const Tree tree = one.Grow(Deep(policy));
    CHECK(Described(three.Grow(Deep(policy))) == Described(tree));
    CHECK(Leaves(tree) > 100);
    // Wide gradients of equal value give the same tree.
    Grower wide(data, 2);
    wide.gradients.is_narrow = false;
    for (int64_t i = 0; i < data.rows; ++i) {
      wide.gradients.is_narrow = true;
      const GradientSum sum = wide.gradients.Of(i);
      wide.gradients.is_narrow = false;
      wide.gradients.wide.push_back({static_cast<int32_t>(sum.gradient), static_cast<int32_t>(sum.hessian)});
    }
    CHECK(Described(wide.Grow(Deep(policy))) == Described(tree));
  }
}

TEST_CASE("Tree: threads that each count some of many columns grow the same tree", "[gbdt]") {
  DataSet data = SampleData(70'000);
  for (int f = 0; f < 100; ++f) {
    data.feature_names.push_back("more_" + std::to_string(f));
    std::vector<float>& column = data.columns.emplace_back();
    for (int64_t i = 0; i < data.rows; ++i)
      column.push_back(
          static_cast<float>(HashOf(static_cast<uint64_t>(f) + 100, static_cast<uint64_t>(i)) % 200));
    data.schema.columns.push_back({data.feature_names.back(), false, {}});
  }
  Grower one(data), two(data, 2), three(data, 3);
  GbdtParameters parameters = Deep(GrowPolicy::kDepthWise, 5);
  for (const double share : {1.0, 0.9}) {  // every slot, and slots from a list
    parameters.colsample_bytree = share;
    const std::string expected = Described(one.Grow(parameters));
    CHECK(Described(two.Grow(parameters)) == expected);
    CHECK(Described(three.Grow(parameters)) == expected);
  }
}

}  // namespace
}  // namespace winnow::gbdt

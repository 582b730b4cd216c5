#include "trainers/gbdt/tree_sums.h"

#include "tests/catch.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "tests/trainers/gbdt/training_samples.h"

namespace winnow::gbdt {
namespace {

constexpr int64_t kRows = 3000;

// Trees of three classes; with `deep`, of more than 256 leaves.
Model DartModel(const DataSet& data, bool deep) {
  GbdtParameters parameters = SampledParameters(8);
  parameters.objective = ObjectiveKind::kSoftProb;
  parameters.num_class = 3;
  parameters.metrics = {MetricKind::kMultiLogLoss};
  parameters.booster = BoosterKind::kDart;
  parameters.rate_drop = 0.3;
  if (deep) {
    parameters.max_depth = 12;
    parameters.min_child_weight = 0;
    parameters.lambda = 0;
  }
  return Train(parameters, data);
}

TEST_CASE("TreeSums: kept leaves give the bits of leaves that are found again", "[gbdt]") {
  const DataSet data = SampleData(kRows, 3);
  const bool deep = GENERATE(false, true);
  const int threads = GENERATE(1, 3);
  const Model model = DartModel(data, deep);
  const TrainingData binned = Binned(data);
  ThreadPool pool(threads);
  TreeSums none(model, binned.cuts, binned.train, &pool, 0);
  const std::vector<float> all = none.Margins(), without = none.Margins({0, 4, 5, 23});
  CHECK(all == PredictMargins(model, data, model.rounds()));
  CHECK(all != without);
  // Room for none, for the first five trees (of a byte a row) and for all.
  for (const int64_t bytes : {int64_t{1}, 5 * kRows, int64_t{1} << 30}) {
    CAPTURE(bytes);
    TreeSums kept(model, binned.cuts, binned.train, &pool, bytes);
    CHECK(kept.Margins() == all);
    CHECK(kept.Margins({0, 4, 5, 23}) == without);
  }
}

TEST_CASE("TreeSums: trees that are added between sums count", "[gbdt]") {
  const DataSet data = SampleData(kRows, 3);
  const Model whole = DartModel(data, false);
  const TrainingData binned = Binned(data);
  ThreadPool pool(2);
  Model growing = whole;
  growing.trees.clear();
  TreeSums kept(growing, binned.cuts, binned.train, &pool, 10 * kRows),
      none(growing, binned.cuts, binned.train, &pool, 0);
  for (const Tree& tree : whole.trees) {
    growing.trees.push_back(tree);
    growing.tree_weights[0] *= 0.9f;
    REQUIRE(kept.Margins({1}) == none.Margins({1}));
  }
}

}  // namespace
}  // namespace winnow::gbdt

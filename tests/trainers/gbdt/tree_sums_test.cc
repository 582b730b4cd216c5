#include "trainers/gbdt/tree_sums.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "tests/trainers/gbdt/table_targets.h"
#include "tests/trainers/gbdt/training_samples.h"
#include "trainers/gbdt/training_input.h"

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

std::vector<int32_t> SplitsOf(const Model& model) {
  std::vector<int32_t> splits(model.feature_names.size());
  for (const Importance& of : FeatureImportance(model, ImportanceKind::kWeight))
    splits[of.feature] = static_cast<int32_t>(of.score);
  return splits;
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

// The model's metrics on train and validation, from predictions.
std::vector<float> MetricsOf(const Model& model, const RawTables& tables) {
  std::vector<float> metrics;
  for (const DataSet* data : {&tables.train, &*tables.validation})
    metrics.push_back(static_cast<float>(EvaluateMetric(model.parameters.metrics[0], model.parameters, *data,
                                                        PredictMargins(model, *data, model.rounds()))));
  return metrics;
}

// The new data have another category of one column, or none.
TEST_CASE("TreeSums: DART goes on from trees of other cuts, by the values of the rows", "[gbdt]") {
  const float new_category = GENERATE(7.0f, std::nanf(""));
  const bool deep = GENERATE(false, true);
  DataSet old = SampleData(kRows, 3);
  RawTables tables{SampleData(2000, 3, 5), SampleData(700, 3, 6)};
  for (DataSet* data : {&old, &tables.train, &*tables.validation}) {
    data->categorical.assign(data->columns.size(), false);
    data->categorical[2] = true;
    if (data != &old) data->columns[2].assign(data->rows, new_category);
  }
  Model model = DartModel(old, deep);
  const std::vector<int32_t> splits = SplitsOf(model);
  REQUIRE(splits[0] > 0);
  REQUIRE(splits[2] > 0);
  const TrainingData coarse = Binned(tables.train, 4, &*tables.validation);
  const std::unique_ptr<Communicator> sole = MakeSoleRank();
  ThreadPool pool(2);
  Booster booster(coarse, {}, &model, sole.get(), &pool);
  booster.Start(&tables);
  CHECK(*booster.Evaluate() == MetricsOf(model, tables));
  for (int round = 0; round < 3; ++round) {
    REQUIRE(booster.TrainRound().ok());
    CHECK(*booster.Evaluate() == MetricsOf(model, tables));
  }
  // Where there is no room for leaves, rows go through the trees again.
  TreeSums none(model, coarse.cuts, coarse.train, &pool, 0);
  none.FollowValues(tables.train);
  CHECK(none.Margins() == PredictMargins(model, tables.train, model.rounds()));
}

}  // namespace
}  // namespace winnow::gbdt

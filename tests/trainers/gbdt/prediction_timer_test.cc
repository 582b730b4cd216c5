#include "trainers/gbdt/prediction_timer.h"

#include "tests/catch.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "tests/trainers/gbdt/training_samples.h"

namespace winnow::gbdt {
namespace {

TEST_CASE("Prediction timer: its rows go to the leaves of the validation data's", "[gbdt]") {
  const DataSet train = SampleData(3000), validation = SampleData(1500, 2, 9);
  const GbdtParameters parameters = SampledParameters(5);
  const TrainingData data = Binned(train, parameters.max_bin, &validation);
  const Model model = Train(parameters, train, {.validation = &validation});
  const PredictionTimer timer(data);
  const int64_t rows = timer.rows().rows;
  REQUIRE(rows == 512);
  const std::vector<int32_t> timed = PredictLeaves(model, timer.rows(), 5),
                             real = PredictLeaves(model, validation, 5);
  for (int64_t tree = 0; tree < 5; ++tree) {
    for (int64_t i = 0; i < rows; ++i) CHECK(timed[tree * rows + i] == real[tree * 1500 + i * 1500 / rows]);
  }
  CHECK(timer.MicrosecondsPerRow(model) > 0);
  CHECK(PredictionTimer(Binned(train)).rows().rows == 512);  // training rows where there are no others
}

TEST_CASE("Leaf count: each tree of a growing model is looked at once", "[gbdt]") {
  Model model;
  const auto add = [&](std::size_t nodes) {  // a split of each of the first nodes
    Tree& tree = model.trees.emplace_back();
    tree.nodes.resize(nodes);
    for (std::size_t n = 0; n < nodes / 2; ++n) tree.nodes[n].feature = 0;
  };
  LeafCounter count;
  CHECK(count.Of(model) == 0);
  add(5);
  add(1);
  CHECK(count.Of(model) == 4);
  model.trees[0].nodes.clear();
  add(3);
  CHECK(count.Of(model) == 6);
  CHECK(count.Of(model) == 6);
  CHECK(LeafCounter().Of(model) == 3);
}

}  // namespace
}  // namespace winnow::gbdt

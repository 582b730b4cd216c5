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
  CHECK(LeavesOf(model) > 5);
  CHECK(PredictionTimer(Binned(train)).rows().rows == 512);  // training rows where there are no others
}

}  // namespace
}  // namespace winnow::gbdt

#include <cmath>
#include <memory>

#include "tests/catch.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "tests/trainers/gbdt/table_targets.h"
#include "trainers/gbdt/objective/metric.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

// A loss of one row, which a metric measures: the metric, or half its square.
struct MeasuredLoss {
  ObjectiveKind objective;
  Metric::Kind metric;
  bool squared;
  std::vector<float> labels;
};

double LossAt(const MeasuredLoss& loss, const GbdtParameters& parameters, const Targets& targets,
              const std::vector<float>& margin) {
  const std::unique_ptr<Communicator> alone = MakeSoleRank();
  const double value = EvaluateMetric(loss.metric, parameters, targets, margin, alone.get()).value();
  return loss.squared ? value * value / 2 : value;
}

TEST_CASE("Objective: the gradient is the slope of the metric that measures the loss", "[gbdt]") {
  const MeasuredLoss kLosses[] = {
      {ObjectiveKind::kBinaryLogistic, Metric::kLogLoss, false, {0, 1, 0.25f}},
      {ObjectiveKind::kBinaryLogitRaw, Metric::kLogLoss, false, {0, 1}},
      {ObjectiveKind::kSquaredError, Metric::kRmse, true, {-3, 0.5f, 8}},
      {ObjectiveKind::kSquaredLogError, Metric::kRmsle, true, {0.25f, 6}},
      {ObjectiveKind::kAbsoluteError, Metric::kMae, false, {-3, 8}},
      {ObjectiveKind::kPseudoHuber, Metric::kPseudoHuber, false, {-3, 0.5f, 8}},
      {ObjectiveKind::kQuantile, Metric::kQuantile, false, {-3, 8}},
      {ObjectiveKind::kPoisson, Metric::kPoissonLoss, false, {0, 1, 7}},
      {ObjectiveKind::kGamma, Metric::kGammaLoss, false, {0.5f, 7}},
      {ObjectiveKind::kTweedie, Metric::kTweedieLoss, false, {0, 1, 7}},
      {ObjectiveKind::kSoftProb, Metric::kMultiLogLoss, false, {0, 1, 2}},
      {ObjectiveKind::kSoftMax, Metric::kMultiLogLoss, false, {2}},
  };
  constexpr float kStep = 1.0f / 64;
  for (const MeasuredLoss& loss : kLosses) {
    GbdtParameters parameters;
    parameters.objective = loss.objective;
    parameters.num_class = 3;
    parameters.quantile_alpha = 0.2;
    parameters.huber_slope = 2;
    for (const float label : loss.labels) {
      for (const float at : {-0.5f, 0.375f, 1.5f}) {
        const std::vector<float> labels = {label};
        const Targets targets{1, labels, {}, {}, 0};
        std::vector<float> margin = {at, 0.5f, -1};
        margin.resize(parameters.classes());
        std::vector<float> gradient(margin.size()), hessian(margin.size());
        ComputeGradients(parameters, targets, margin, 0, 1, gradient.data(), hessian.data());
        std::vector<float> above = margin, below = margin;
        above[0] += kStep;
        below[0] -= kStep;
        const double slope =
            (LossAt(loss, parameters, targets, above) - LossAt(loss, parameters, targets, below)) /
            (2 * kStep);
        INFO(ObjectiveName(loss.objective) << " label " << label << " margin " << at);
        CHECK(gradient[0] == Approx(slope).epsilon(2e-3).margin(2e-4));
        CHECK(hessian[0] > 0);
      }
    }
  }
}

TEST_CASE("Objective: no margin makes derivatives or predictions that are no numbers", "[gbdt]") {
  for (int kind = 0; kind <= static_cast<int>(ObjectiveKind::kSoftProb); ++kind) {
    GbdtParameters parameters;
    parameters.objective = static_cast<ObjectiveKind>(kind);
    parameters.num_class = 2;
    parameters.max_delta_step = 0.7;
    const std::vector<float> labels = {1, 1, 1, 1}, weights = {1e12f, 0, 1, 1e12f};
    const Targets targets{4, labels, weights, {}, 0};
    std::vector<float> margin = {-1e4f, 1e4f, 1e4f, 3e8f};
    if (parameters.multi()) margin.insert(margin.end(), {1e4f, -1e4f, 1e4f, 0});
    std::vector<float> gradient(margin.size()), hessian(margin.size());
    ComputeGradients(parameters, targets, margin, 0, 4, gradient.data(), hessian.data());
    INFO(ObjectiveName(parameters.objective));
    for (std::size_t i = 0; i < margin.size(); ++i) {
      CHECK(std::isfinite(gradient[i]));
      CHECK(std::isfinite(hessian[i]));
      if (i % 4 == 1) {
        CHECK(gradient[i] == 0);  // a row of weight 0
        CHECK(hessian[i] == 0);
      }
    }
    for (const float prediction : PredictionsFrom(parameters, margin, 4)) CHECK(std::isfinite(prediction));
  }
}

TEST_CASE("Objective: blocks of rows together are the whole", "[gbdt]") {
  DataSet data = SampleData(5000, 3);
  AddWeights(&data);
  for (const ObjectiveKind kind : {ObjectiveKind::kSquaredError, ObjectiveKind::kSoftProb}) {
    GbdtParameters parameters;
    parameters.objective = kind;
    parameters.num_class = 3;
    const Targets targets = TargetsOf(data);
    std::vector<float> margin;
    for (int k = 0; k < parameters.classes(); ++k)
      margin.insert(margin.end(), data.columns[k].begin(), data.columns[k].end());
    for (float& value : margin) value = std::isnan(value) ? 0 : value;
    std::vector<float> gradient(margin.size()), hessian(margin.size()), g(margin.size()), h(margin.size());
    ComputeGradients(parameters, targets, margin, 0, data.rows, gradient.data(), hessian.data());
    const std::vector<int64_t> borders = GradientBlocks(targets, 777);
    REQUIRE(borders.size() == 8);
    for (std::size_t b = 0; b + 1 < borders.size(); ++b)
      ComputeGradients(parameters, targets, margin, borders[b], borders[b + 1], g.data(), h.data());
    CHECK(g == gradient);
    CHECK(h == hessian);
  }
}

}  // namespace
}  // namespace winnow::gbdt

#include "trainers/gbdt/objective/objective.h"

#include <cmath>

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "tests/trainers/gbdt/table_targets.h"

namespace winnow::gbdt {
namespace {

GbdtParameters Of(ObjectiveKind objective, Metric metric = Metric::kRmse) {
  GbdtParameters parameters;
  parameters.objective = objective;
  parameters.metrics = {metric};
  return parameters;
}

TEST_CASE("Objective: the portable logarithm is ln x to a few ulp", "[gbdt]") {
  for (double power = -700; power < 700; power += 0.37) {
    const double x = std::exp(power);
    CHECK(PortableLog(x) == Approx(std::log(x)).epsilon(1e-15).margin(1e-15));
  }
  for (float x = 1e-30f; x < 1e30f; x *= 1.37f)
    CHECK(PortableLog(x) == Approx(std::log(static_cast<double>(x))).epsilon(1e-15));
  CHECK(PortableLog(1.0) == 0);
}

TEST_CASE("Objective: the portable exponential is e^x to a few ulp", "[gbdt]") {
  for (float x = -80; x < 80; x += 0.0371f) {
    const double exact = std::exp(static_cast<double>(x));
    CHECK(std::fabs(PortableExp(x) - exact) <= 4e-7 * exact);
  }
  CHECK(PortableExp(0) == 1.0f);
  CHECK(Sigmoid(1000) == 1.0f);
  CHECK(Sigmoid(-1000) < 1e-37f);
  CHECK(Sigmoid(-1000) > 0);
}

TEST_CASE("Objective: logistic derivatives are p - y and p (1 - p), weighted", "[gbdt]") {
  DataSet data = OneColumn({0, 0, 0}, {1, 0, 0.5f});
  data.weight = {2, 3, 1};
  GbdtParameters parameters = LogisticParameters();
  parameters.scale_pos_weight = 10;
  const float margin = std::log(3.0f);  // p = 3/4
  const Derivatives d = DerivativesOf(parameters, data, {margin, margin, margin});
  CHECK(d.gradient[0] == Approx(-0.25 * 20));
  CHECK(d.hessian[0] == Approx(0.1875 * 20));
  CHECK(d.gradient[1] == Approx(0.75 * 3));
  CHECK(d.hessian[1] == Approx(0.1875 * 3));
  CHECK(d.gradient[2] == Approx(0.25));
}

TEST_CASE("Objective: squared error derivatives are the residue and 1", "[gbdt]") {
  DataSet data = OneColumn({0, 0}, {4, -1});
  data.weight = {1, 0.5f};
  const Derivatives d = DerivativesOf(GbdtParameters{}, data, {1, 1});
  CHECK(d.gradient == std::vector<float>{-3, 1});
  CHECK(d.hessian == std::vector<float>{1, 0.5f});
}

TEST_CASE("Objective: softmax derivatives, class by class", "[gbdt]") {
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kSoftProb;
  parameters.num_class = 3;
  const DataSet data = OneColumn({0}, {2});
  const Derivatives d = DerivativesOf(parameters, data, {0, 0, std::log(2.0f)});  // 1/4, 1/4, 1/2
  CHECK(d.gradient[0] == Approx(0.25));
  CHECK(d.gradient[2] == Approx(-0.5));
  CHECK(d.hessian[0] == Approx(2 * 0.25 * 0.75));
  CHECK(d.hessian[2] == Approx(2 * 0.5 * 0.5));
  const std::vector<float> predictions = PredictionsFrom(parameters, {0, 0, std::log(2.0f)}, 1);
  CHECK(predictions[2] == Approx(0.5));
}

TEST_CASE("Objective: margins start where base_score says", "[gbdt]") {
  GbdtParameters parameters = LogisticParameters();
  CHECK(BaseMargin(parameters) == 0);
  parameters.base_score = 0.75;
  CHECK(BaseMargin(parameters) == Approx(std::log(3.0)));
  parameters.objective = ObjectiveKind::kBinaryLogitRaw;
  CHECK(BaseMargin(parameters) == 0.75f);
  CHECK(PredictionsFrom(parameters, {1.5f}, 1)[0] == 1.5f);
  parameters.objective = ObjectiveKind::kPoisson;
  CHECK(BaseMargin(parameters) == Approx(std::log(0.75)));
  CHECK(PredictionsFrom(parameters, {BaseMargin(parameters)}, 1)[0] == Approx(0.75));
}

TEST_CASE("Objective: predictions are of the kind that XGBoost gives", "[gbdt]") {
  GbdtParameters multi = Of(ObjectiveKind::kSoftMax);
  multi.num_class = 3;
  // [class][row]: the second class of row 0, the first of two equals of row 1.
  CHECK(PredictionsFrom(multi, {0, 2, 1, 2, -1, 0}, 2) == std::vector<float>{1, 0});
  CHECK(PredictionsFrom(Of(ObjectiveKind::kBinaryHinge), {-2, 0, 0.5f}, 3) == std::vector<float>{0, 0, 1});
  CHECK(PredictionsFrom(Of(ObjectiveKind::kRankNdcg), {-2, 7}, 2) == std::vector<float>{-2, 7});
  CHECK(PredictionsFrom(Of(ObjectiveKind::kRegLogistic), {0}, 1) == std::vector<float>{0.5f});
  CHECK(LearnsClasses(ObjectiveKind::kBinaryHinge));
  CHECK_FALSE(LearnsClasses(ObjectiveKind::kRegLogistic));
}

TEST_CASE("Objective: labels and weights it cannot take are named with their row", "[gbdt]") {
  GbdtParameters logistic = LogisticParameters();
  GbdtParameters multi;
  multi.objective = ObjectiveKind::kSoftProb;
  multi.num_class = 3;
  const float nan = std::nanf("");
  const struct {
    GbdtParameters parameters;
    std::vector<float> labels, weights;
    const char* expected;
  } kCases[] = {
      {logistic, {0, 1, 2}, {}, "row 3: label = 2: expected 0 to 1"},
      {logistic, {0, -1}, {}, "row 2: label = -1: expected 0 to 1"},
      {logistic, {nan}, {}, "row 1: label = nan: expected a number from -1e15 to 1e15"},
      {multi, {0, 3}, {}, "row 2: label = 3: expected a class from 0 to 2"},
      {multi, {0.5f}, {}, "row 1: label = 0.5: expected a class"},
      {logistic, {0, 1}, {1, -1}, "row 2: weight = -1"},
      {logistic, {0, 1}, {nan, 1}, "row 1: weight = nan"},
      {logistic, {0, 1}, {1}, "weight: 1 values: expected one for each of the 2 rows"},
      {Of(ObjectiveKind::kPoisson), {0, -1}, {}, "row 2: label = -1: expected a number of at least 0"},
      {Of(ObjectiveKind::kTweedie), {-1}, {}, "row 1: label = -1: expected a number of at least 0"},
      {Of(ObjectiveKind::kGamma), {1, 0}, {}, "row 2: label = 0: expected a number above 0"},
      {Of(ObjectiveKind::kSquaredLogError), {-1}, {}, "row 1: label = -1: expected a number above -1"},
      {Of(ObjectiveKind::kSquaredError, Metric::kAuc),
       {0, 1, 2},
       {},
       "row 3: label = 2: expected 0 to 1 with eval"},
  };
  for (const auto& c : kCases) {
    DataSet data = OneColumn(std::vector<float>(c.labels.size()), c.labels);
    data.weight = c.weights;
    CHECK_THAT(MessageOf(CheckLabels(c.parameters, data)), Catch::Contains(c.expected));
  }
  CHECK(CheckLabels(logistic, OneColumn({1, 2}, {0, 1})).ok());
}

}  // namespace
}  // namespace winnow::gbdt

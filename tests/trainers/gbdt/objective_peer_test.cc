#include <map>

#include "tests/catch.h"
#include "trainers/gbdt/hyperparameters/hyperparameter_names.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

GbdtParameters ParametersOf(const std::string& objective) {
  GbdtParameters parameters;
  parameters.objective = *FindObjective(objective);
  if (objective == "binary:logistic") parameters.scale_pos_weight = 3;
  if (objective == "count:poisson") parameters.max_delta_step = 0.7;
  parameters.tweedie_variance_power = 1.3;
  parameters.huber_slope = 0.5;
  return parameters;
}

// A leaf of one row is -gradient / (hessian + lambda), so that two lambdas show both. The leaves are those
// that XGBoost 1.7.4 grows from that row with eta=1, min_child_weight=0 and the margin as base_margin.
TEST_CASE("Objective: gradients and hessians are XGBoost's", "[gbdt]") {
  const struct {
    const char* objective;
    float margin, label, weight, lambda, leaf;
  } kLeaves[] = {
      {"binary:logistic", -2.25, 0, 1.0, 1, -0.0877779275},
      {"binary:logistic", -2.25, 0, 1.0, 10, -0.00945340376},
      {"binary:logistic", 0.5, 0, 1.0, 1, -0.504014134},
      {"binary:logistic", 0.5, 0, 1.0, 10, -0.0608167201},
      {"binary:logistic", 1.75, 0, 2.0, 1, -1.36066592},
      {"binary:logistic", 1.75, 0, 2.0, 10, -0.16619806},
      {"binary:logistic", -2.25, 1, 1.0, 1, 2.15602803},
      {"binary:logistic", -2.25, 1, 1.0, 10, 0.264549315},
      {"binary:logistic", 0.5, 1, 1.0, 1, 0.664290071},
      {"binary:logistic", 0.5, 1, 1.0, 10, 0.105802976},
      {"binary:logistic", 1.75, 1, 2.0, 1, 0.505632937},
      {"binary:logistic", 1.75, 1, 2.0, 10, 0.0825789869},
      {"binary:logistic", -2.25, 0.25, 1.0, 1, 0.14237},
      {"binary:logistic", -2.25, 0.25, 1.0, 10, 0.0153327966},
      {"binary:logistic", 0.5, 0.25, 1.0, 1, -0.301585615},
      {"binary:logistic", 0.5, 0.25, 1.0, 10, -0.0363907404},
      {"binary:logistic", 1.75, 0.25, 2.0, 1, -0.961387277},
      {"binary:logistic", 1.75, 0.25, 2.0, 10, -0.117428318},
      {"reg:logistic", -2.25, 0.5, 1.0, 1, 0.372517914},
      {"reg:logistic", -2.25, 0.5, 1.0, 10, 0.0401189961},
      {"reg:logistic", 0.5, 0.5, 1.0, 1, -0.0991570726},
      {"reg:logistic", 0.5, 0.5, 1.0, 10, -0.0119647589},
      {"reg:logistic", 1.75, 0.5, 2.0, 1, -0.562108755},
      {"reg:logistic", 1.75, 0.5, 2.0, 10, -0.0686585754},
      {"reg:logistic", -2.25, 1, 1.0, 1, 0.83281374},
      {"reg:logistic", -2.25, 1, 1.0, 10, 0.0896913931},
      {"reg:logistic", 0.5, 1, 1.0, 1, 0.305700004},
      {"reg:logistic", 0.5, 1, 1.0, 10, 0.0368872024},
      {"reg:logistic", 1.75, 1, 2.0, 1, 0.236448407},
      {"reg:logistic", 1.75, 1, 2.0, 10, 0.0288809072},
      {"binary:logitraw", -2.25, 0, 1.0, 1, -0.0877779275},
      {"binary:logitraw", -2.25, 0, 1.0, 10, -0.00945340376},
      {"binary:logitraw", 0.5, 0, 1.0, 1, -0.504014134},
      {"binary:logitraw", 0.5, 0, 1.0, 10, -0.0608167201},
      {"binary:logitraw", 1.75, 0, 2.0, 1, -1.36066592},
      {"binary:logitraw", 1.75, 0, 2.0, 10, -0.16619806},
      {"binary:logitraw", -2.25, 1, 1.0, 1, 0.83281374},
      {"binary:logitraw", -2.25, 1, 1.0, 10, 0.0896913931},
      {"binary:logitraw", 0.5, 1, 1.0, 1, 0.305700004},
      {"binary:logitraw", 0.5, 1, 1.0, 10, 0.0368872024},
      {"binary:logitraw", 1.75, 1, 2.0, 1, 0.236448407},
      {"binary:logitraw", 1.75, 1, 2.0, 10, 0.0288809072},
      {"binary:hinge", -2.25, 0, 1.0, 1, 0},
      {"binary:hinge", -2.25, 0, 1.0, 10, 0},
      {"binary:hinge", 0.5, 0, 1.0, 1, -0.5},
      {"binary:hinge", 0.5, 0, 1.0, 10, -0.0909090936},
      {"binary:hinge", 1.75, 0, 2.0, 1, -0.666666687},
      {"binary:hinge", 1.75, 0, 2.0, 10, -0.166666672},
      {"binary:hinge", -2.25, 1, 1.0, 1, 0.5},
      {"binary:hinge", -2.25, 1, 1.0, 10, 0.0909090936},
      {"binary:hinge", 0.5, 1, 1.0, 1, 0.5},
      {"binary:hinge", 0.5, 1, 1.0, 10, 0.0909090936},
      {"binary:hinge", 1.75, 1, 2.0, 1, 0},
      {"binary:hinge", 1.75, 1, 2.0, 10, 0},
      {"reg:squarederror", -2.25, 3, 1.0, 1, 2.625},
      {"reg:squarederror", -2.25, 3, 1.0, 10, 0.477272719},
      {"reg:squarederror", 0.5, 3, 1.0, 1, 1.25},
      {"reg:squarederror", 0.5, 3, 1.0, 10, 0.227272734},
      {"reg:squarederror", 1.75, 3, 2.0, 1, 0.833333313},
      {"reg:squarederror", 1.75, 3, 2.0, 10, 0.208333328},
      {"reg:squarederror", -2.25, -2, 1.0, 1, 0.125},
      {"reg:squarederror", -2.25, -2, 1.0, 10, 0.0227272734},
      {"reg:squarederror", 0.5, -2, 1.0, 1, -1.25},
      {"reg:squarederror", 0.5, -2, 1.0, 10, -0.227272734},
      {"reg:squarederror", 1.75, -2, 2.0, 1, -2.5},
      {"reg:squarederror", 1.75, -2, 2.0, 10, -0.625},
      {"reg:squaredlogerror", -2.25, 3, 1.0, 1, 9.50686854e-07},
      {"reg:squaredlogerror", -2.25, 3, 1.0, 10, 9.50686854e-07},
      {"reg:squaredlogerror", 0.5, 3, 1.0, 1, 0.347743601},
      {"reg:squaredlogerror", 0.5, 3, 1.0, 10, 0.060097795},
      {"reg:squaredlogerror", 1.75, 3, 2.0, 1, 0.199848369},
      {"reg:squaredlogerror", 1.75, 3, 2.0, 10, 0.026294481},
      {"reg:squaredlogerror", -2.25, 0.5, 1.0, 1, 9.46650061e-07},
      {"reg:squaredlogerror", -2.25, 0.5, 1.0, 10, 9.46650061e-07},
      {"reg:squaredlogerror", 0.5, 0.5, 1.0, 1, 0},
      {"reg:squaredlogerror", 0.5, 0.5, 1.0, 10, 0},
      {"reg:squaredlogerror", 1.75, 0.5, 2.0, 1, -0.399240226},
      {"reg:squaredlogerror", 1.75, 0.5, 2.0, 10, -0.0436281636},
      {"reg:pseudohubererror", -2.25, 3, 1.0, 1, 0.49732393},
      {"reg:pseudohubererror", -2.25, 3, 1.0, 10, 0.049770534},
      {"reg:pseudohubererror", 0.5, 3, 1.0, 1, 0.4866198},
      {"reg:pseudohubererror", 0.5, 3, 1.0, 10, 0.0489920788},
      {"reg:pseudohubererror", 1.75, 3, 2.0, 1, 0.842191935},
      {"reg:pseudohubererror", 1.75, 3, 2.0, 10, 0.0919060707},
      {"reg:pseudohubererror", -2.25, -2, 1.0, 1, 0.130341798},
      {"reg:pseudohubererror", -2.25, -2, 1.0, 10, 0.0208675209},
      {"reg:pseudohubererror", 0.5, -2, 1.0, 1, -0.4866198},
      {"reg:pseudohubererror", 0.5, -2, 1.0, 10, -0.0489920788},
      {"reg:pseudohubererror", 1.75, -2, 2.0, 1, -0.986672401},
      {"reg:pseudohubererror", 1.75, -2, 2.0, 10, -0.0990770459},
      {"count:poisson", -2.25, 0, 1.0, 1, -0.0869452655},
      {"count:poisson", -2.25, 0, 1.0, 10, -0.0103208637},
      {"count:poisson", 0.5, 0, 1.0, 1, -0.38163808},
      {"count:poisson", 0.5, 0, 1.0, 10, -0.123776779},
      {"count:poisson", 1.75, 0, 2.0, 1, -0.47604546},
      {"count:poisson", 1.75, 0, 2.0, 10, -0.346906334},
      {"count:poisson", -2.25, 3, 1.0, 10, 0.283444047},
      {"count:poisson", 0.5, 3, 1.0, 1, 0.312787533},
      {"count:poisson", 0.5, 3, 1.0, 10, 0.101446465},
      {"count:poisson", 1.75, 3, 2.0, 1, -0.22787258},
      {"count:poisson", 1.75, 3, 2.0, 10, -0.166056499},
      {"reg:gamma", -2.25, 0.5, 1.0, 1, 0.651802599},
      {"reg:gamma", -2.25, 0.5, 1.0, 10, 0.253927112},
      {"reg:gamma", 0.5, 0.5, 1.0, 1, -0.534606934},
      {"reg:gamma", 0.5, 0.5, 1.0, 10, -0.0676227063},
      {"reg:gamma", 1.75, 0.5, 2.0, 1, -1.55585849},
      {"reg:gamma", 1.75, 0.5, 2.0, 10, -0.179503307},
      {"reg:gamma", -2.25, 3, 1.0, 1, 0.932118714},
      {"reg:gamma", -2.25, 3, 1.0, 10, 0.714012444},
      {"reg:gamma", 0.5, 3, 1.0, 1, 0.290677518},
      {"reg:gamma", 0.5, 3, 1.0, 10, 0.069341816},
      {"reg:gamma", 1.75, 3, 2.0, 1, -0.468684942},
      {"reg:gamma", 1.75, 3, 2.0, 10, -0.0866962969},
      {"reg:tweedie", -2.25, 0, 1.0, 1, -0.180807576},
      {"reg:tweedie", -2.25, 0, 1.0, 10, -0.0204050746},
      {"reg:tweedie", 0.5, 0, 1.0, 1, -0.711901784},
      {"reg:tweedie", 0.5, 0, 1.0, 10, -0.129084215},
      {"reg:tweedie", 1.75, 0, 2.0, 1, -1.1808064},
      {"reg:tweedie", 1.75, 0, 2.0, 10, -0.461086929},
      {"reg:tweedie", -2.25, 3, 1.0, 1, 1.95193934},
      {"reg:tweedie", -2.25, 3, 1.0, 10, 0.477236062},
      {"reg:tweedie", 0.5, 3, 1.0, 1, 0.420181692},
      {"reg:tweedie", 0.5, 3, 1.0, 10, 0.0988322496},
      {"reg:tweedie", 1.75, 3, 2.0, 1, -0.477115393},
      {"reg:tweedie", 1.75, 3, 2.0, 10, -0.205866709},
  };
  for (const auto& c : kLeaves) {
    INFO(c.objective << " margin " << c.margin << " label " << c.label << " lambda " << c.lambda);
    const std::vector<float> label = {c.label}, weight = {c.weight};
    float gradient = 0, hessian = 0;
    ComputeGradients(ParametersOf(c.objective), Targets{1, label, weight, {}, 0}, {c.margin}, 0, 1, &gradient,
                     &hessian);
    CHECK(-gradient / (hessian + c.lambda) == Approx(c.leaf).epsilon(1e-5).margin(1e-9));
  }
}

TEST_CASE("Objective: multi:softprob has XGBoost's gradients, class by class", "[gbdt]") {
  GbdtParameters parameters = ParametersOf("multi:softprob");
  parameters.num_class = 3;
  const std::vector<float> label = {1}, weight = {1.5f}, margin = {0.5f, -1.25f, 2};
  const std::map<float, std::vector<double>> leaves = {{1.0f, {-0.184615344, 1.33466089, -0.795948148}},
                                                       {10.0f, {-0.0254133213, 0.144103453, -0.11327865}}};
  std::vector<float> gradient(3), hessian(3);
  ComputeGradients(parameters, Targets{1, label, weight, {}, 0}, margin, 0, 1, gradient.data(),
                   hessian.data());
  for (const auto& [lambda, of_classes] : leaves) {
    for (int k = 0; k < 3; ++k)
      CHECK(-gradient[k] / (hessian[k] + lambda) == Approx(of_classes[k]).epsilon(1e-5));
  }
  // LightGBM's MulticlassSoftmax multiplies p (1 - p) by 3 / (3 - 1) instead of 2, and has the same
  // gradients.
  parameters.friedman_hessian = true;
  std::vector<float> same(3), smaller(3);
  ComputeGradients(parameters, Targets{1, label, weight, {}, 0}, margin, 0, 1, same.data(), smaller.data());
  CHECK(same == gradient);
  for (int k = 0; k < 3; ++k) CHECK(smaller[k] == Approx(0.75 * hessian[k]).epsilon(1e-6));
}

}  // namespace
}  // namespace winnow::gbdt

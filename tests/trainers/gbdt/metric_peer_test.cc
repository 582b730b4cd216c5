#include <map>
#include <memory>

#include "tests/catch.h"
#include "trainers/gbdt/hyperparameters/hyperparameter_names.h"
#include "trainers/gbdt/objective/metric.h"

namespace winnow::gbdt {
namespace {

const std::vector<float> kMargins = {-1.5f, 0.25f, 0.25f, 2,     -0.75f, 1.125f,
                                     -3,    0.5f,  0.25f, -0.5f, 1,      -0.125f};
const std::vector<float> kWeights = {1, 2, 0.5f, 1.5f, 1, 0, 3, 0.25f, 1, 2, 1, 0.75f};
const std::vector<float> kBinary = {0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1};
const std::vector<float> kSoft = {0, 1, 0.25f, 1, 0.5f, 0, 0, 0.75f, 0, 0, 1, 1};
const std::vector<float> kReal = {-1, 0.5f, 0, 2.5f, -0.25f, 1, -4, 3, 0.75f, -0.125f, 0.5f, 1};
const std::vector<float> kCount = {0, 1, 2, 7, 0, 3, 1, 2, 0, 0, 4, 1};
const std::vector<float> kPositive = {0.5f, 1, 2, 7, 0.25f, 3, 1, 2, 0.125f, 0.5f, 4, 1};

double ValueOf(const std::string& metric, const GbdtParameters& parameters, const Targets& targets,
               const std::vector<float>& margin) {
  const auto parsed = ParseMetric(metric);
  REQUIRE(parsed);
  const std::unique_ptr<Communicator> alone = MakeSoleRank();
  const auto value = EvaluateMetric(*parsed, parameters, targets, margin, alone.get());
  REQUIRE(value.ok());
  return *value;
}

// The values are XGBoost 1.7.4's, of one round with eta=0 and the margins as base_margin.
TEST_CASE("Metric: means over rows and areas are XGBoost's", "[gbdt]") {
  const struct {
    const char* objective;
    const char* metric;
    const std::vector<float>& label;
    bool weighted;
    double value;
  } kValues[] = {
      {"binary:logistic", "auc", kBinary, false, 0.6944444444444444},
      {"binary:logistic", "aucpr", kBinary, false, 0.6881745953721065},
      {"binary:logistic", "logloss", kBinary, false, 0.5972319164623817},
      {"binary:logistic", "error", kBinary, false, 0.4166666666666667},
      {"binary:logistic", "error@0.3", kBinary, false, 0.3333333333333333},
      {"binary:logistic", "rmse", kBinary, false, 0.4604598296029348},
      {"binary:logistic", "mae", kBinary, false, 0.40837972424924374},
      {"binary:logistic", "auc", kBinary, true, 0.8743589743589744},
      {"binary:logistic", "aucpr", kBinary, true, 0.870308858439317},
      {"binary:logistic", "logloss", kBinary, true, 0.429525761199849},
      {"binary:logistic", "error", kBinary, true, 0.23214285714285715},
      {"binary:logistic", "error@0.3", kBinary, true, 0.25},
      {"binary:logistic", "rmse", kBinary, true, 0.37651997731140713},
      {"binary:logistic", "mae", kBinary, true, 0.31560092845133375},
      {"binary:logistic", "auc", kSoft, false, 0.7307692307692307},
      {"binary:logistic", "logloss", kSoft, false, 0.5711902473121881},
      {"binary:logistic", "rmse", kSoft, false, 0.38408351524366047},
      {"binary:logistic", "auc", kSoft, true, 0.9060394512541602},
      {"binary:logistic", "logloss", kSoft, true, 0.40274004318884443},
      {"binary:logistic", "rmse", kSoft, true, 0.31788381605909044},
      {"binary:hinge", "error", kBinary, false, 0.4166666666666667},
      {"binary:hinge", "error", kBinary, true, 0.23214285714285715},
      {"reg:squarederror", "rmse", kReal, false, 0.9150079689999062},
      {"reg:squarederror", "mae", kReal, false, 0.6770833333333334},
      {"reg:squarederror", "mphe", kReal, false, 0.2782917221387227},
      {"reg:squarederror", "rmse", kReal, true, 0.7232969529473058},
      {"reg:squarederror", "mae", kReal, true, 0.6138392857142857},
      {"reg:squarederror", "mphe", kReal, true, 0.20762961038521358},
      {"reg:squarederror", "mape", kPositive, false, 1.7157738109429677},
      {"reg:squarederror", "mape", kPositive, true, 2.127869895526341},
      {"count:poisson", "poisson-nloglik", kCount, false, 1.3169944509863853},
      {"count:poisson", "rmsle", kCount, false, 0.3779492779056828},
      {"count:poisson", "mae", kCount, false, 0.5630032494664192},
      {"count:poisson", "poisson-nloglik", kCount, true, 1.5005238503217697},
      {"count:poisson", "rmsle", kCount, true, 0.4422713384272306},
      {"count:poisson", "mae", kCount, true, 0.6436078622937202},
      {"reg:gamma", "gamma-nloglik", kPositive, false, 2.6127313723166785},
      {"reg:gamma", "gamma-deviance", kPositive, false, 3.064553459485372},
      {"reg:gamma", "gamma-nloglik", kPositive, true, 4.557935278330531},
      {"reg:gamma", "gamma-deviance", kPositive, true, 7.21859228185245},
      {"reg:tweedie", "tweedie-nloglik@1.3", kCount, false, 6.605954349040985},
      {"reg:tweedie", "rmse", kCount, false, 0.6906227614834789},
      {"reg:tweedie", "tweedie-nloglik@1.3", kCount, true, 6.420278906822205},
      {"reg:tweedie", "rmse", kCount, true, 0.7413701262629049},
  };
  for (const auto& c : kValues) {
    INFO(c.objective << " " << c.metric << " weighted " << c.weighted);
    GbdtParameters parameters;
    parameters.objective = *FindObjective(c.objective);
    const Targets targets{
        12, c.label, c.weighted ? std::span<const float>(kWeights) : std::span<const float>(), {}, 0};
    CHECK(ValueOf(c.metric, parameters, targets, kMargins) == Approx(c.value).epsilon(2e-6));
  }
}

TEST_CASE("Metric: those of classes are XGBoost's", "[gbdt]") {
  const std::vector<float> label = {0, 1, 2, 2, 1, 0, 1, 2, 0, 1, 2, 0};
  std::vector<float> margin = kMargins;  // [class][row]
  for (int i = 0; i < 12; ++i) margin.push_back(kMargins[(i * 5 + 3) % 12]);
  for (int i = 0; i < 12; ++i) margin.push_back(kMargins[(i * 7 + 1) % 12]);
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kSoftProb;
  parameters.num_class = 3;
  const Targets plain{12, label, {}, {}, 0}, weighted{12, label, kWeights, {}, 0};
  CHECK(ValueOf("mlogloss", parameters, plain, margin) == Approx(1.4137497345606487).epsilon(2e-6));
  CHECK(ValueOf("merror", parameters, plain, margin) == Approx(0.8333333333333334));
  CHECK(ValueOf("auc", parameters, plain, margin) == Approx(0.4895833333333333));
  CHECK(ValueOf("mlogloss", parameters, weighted, margin) == Approx(1.5398077847702163).epsilon(2e-6));
  CHECK(ValueOf("merror", parameters, weighted, margin) == Approx(0.9642857142857143));
  CHECK(ValueOf("auc", parameters, weighted, margin) == Approx(0.3508490217792543));
}

TEST_CASE("Metric: those of groups are XGBoost's", "[gbdt]") {
  const std::vector<int64_t> groups = {0, 3, 7, 12};
  const std::vector<float> graded = {0, 2, 1, 0, 0, 1, 3, 2, 0, 0, 4, 1};
  const std::vector<float> relevant = {0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0};
  const std::vector<float> first_without = {0, 0, 0, 0, 0, 1, 3, 2, 0, 0, 4, 1};
  const struct {
    const std::vector<float>& label;
    const char* metric;
    double value;
  } kValues[] = {
      {graded, "ndcg", 0.8245875990037662},         {graded, "ndcg@2", 0.6942268624290143},
      {graded, "ndcg@2-", 0.6942268624290143},      {graded, "map", 0.8055555555555555},
      {graded, "map@2", 0.6388888888888888},        {graded, "pre@2", 0.8333333333333334},
      {relevant, "auc", 0.7111111111111112},        {relevant, "aucpr", 0.7885814457560821},
      {relevant, "map", 0.8333333333333334},        {relevant, "map@2", 0.75},
      {relevant, "ndcg", 0.883640309935711},        {first_without, "ndcg", 0.8245875990037662},
      {first_without, "ndcg-", 0.4912542656704327}, {first_without, "map", 0.8055555555555555},
      {first_without, "map-", 0.47222222222222215}, {first_without, "ndcg@2-", 0.36089352909568095},
  };
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kRankPairwise;
  for (const auto& c : kValues) {
    INFO(c.metric);
    CHECK(ValueOf(c.metric, parameters, Targets{12, c.label, {}, groups, 0}, kMargins) ==
          Approx(c.value).epsilon(1e-9));
  }
}

}  // namespace
}  // namespace winnow::gbdt

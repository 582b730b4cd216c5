#include "trainers/gbdt/objective/lambda_gradients.h"

#include <cmath>

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/trainers/gbdt/table_targets.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

GbdtParameters RankingParameters(ObjectiveKind objective) {
  GbdtParameters parameters;
  parameters.objective = objective;
  return parameters;
}

TEST_CASE("Lambda gradients: a pair in the wrong order is pulled together", "[gbdt]") {
  const std::vector<float> label = {1, 0};
  const std::vector<int64_t> groups = {0, 2};
  const Derivatives d =
      DerivativesOf(RankingParameters(ObjectiveKind::kRankNdcg), Targets{2, label, {}, groups, 0}, {-1, 1});
  // By hand: the swap changes NDCG by 1 - 1 / log2(3); the margins are 2 apart; sigmoid(-2) = 0.1192.
  const double delta = (1 - 1 / std::log2(3.0)) / 2.01, sigmoid = 1 / (1 + std::exp(2.0));
  const double sum = 2 * (1 - sigmoid) * delta, norm = std::log2(1 + sum) / sum;
  CHECK(d.gradient[0] == Approx(-(1 - sigmoid) * delta * norm).epsilon(1e-6));
  CHECK(d.gradient[1] == -d.gradient[0]);
  CHECK(d.hessian[0] == Approx(2 * sigmoid * (1 - sigmoid) * delta * norm).epsilon(1e-6));
  CHECK(d.hessian[1] == d.hessian[0]);
}

// One tree of XGBoost 3.2.0 on a feature that tells the rows apart, with eta=1, min_child_weight=0 and the
// margins as base_margin. Rows of equal values share a leaf.
TEST_CASE("Lambda gradients: leaves are XGBoost's", "[gbdt]") {
  const std::vector<float> margin = {0.5f, -1.25f, 2, 0.25f, -0.5f, 1}, label = {2, 0, 1, 3, 1, 0};
  const std::vector<int64_t> groups = {0, 6};
  const struct {
    ObjectiveKind objective;
    int first;
    bool exp_gain;
    double lambda;
    std::vector<double> leaves;
  } kTrees[] = {
      {ObjectiveKind::kRankNdcg,
       32,
       true,
       0.01,
       {0.38832366, -0.40455604, -2.2132189, 1.6948582, -0.0648188, -1.3472705}},
      {ObjectiveKind::kRankNdcg,
       32,
       true,
       0.1,
       {0.23278999, -1.0873129, -1.0873129, 1.2017291, -0.0202108, -0.8359738}},
      {ObjectiveKind::kRankNdcg,
       2,
       true,
       0.1,
       {0.71235764, -0.00830388, -1.2157534, 1.3716588, 1.3716588, -0.87958789}},
      {ObjectiveKind::kRankNdcg,
       32,
       false,
       0.01,
       {0.81601763, -0.42861092, -1.5254587, 1.662748, 0.37164804, -1.3136560}},
      {ObjectiveKind::kRankPairwise,
       32,
       true,
       0.01,
       {-0.01392144, -0.65581536, -0.94710386, 1.1944125, 0.15537232, -1.3787956}},
      {ObjectiveKind::kRankPairwise,
       2,
       true,
       0.1,
       {1.2861389, -0.74062228, -0.74062228, 1.6471990, 1.6471990, -1.2525809}},
  };
  for (const auto& tree : kTrees) {
    GbdtParameters parameters = RankingParameters(tree.objective);
    parameters.lambdarank_num_pair_per_sample = tree.first;
    parameters.ndcg_exp_gain = tree.exp_gain;
    const Derivatives d = DerivativesOf(parameters, Targets{6, label, {}, groups, 0}, margin);
    for (int i = 0; i < 6; ++i) {
      double gradient = 0, hessian = tree.lambda;
      for (int j = 0; j < 6; ++j) {
        gradient += tree.leaves[j] == tree.leaves[i] ? d.gradient[j] : 0;
        hessian += tree.leaves[j] == tree.leaves[i] ? d.hessian[j] : 0;
      }
      INFO(ObjectiveName(tree.objective) << " lambda " << tree.lambda << " row " << i);
      CHECK(-gradient / hessian == Approx(tree.leaves[i]).epsilon(2e-5));
    }
  }
}

TEST_CASE("Lambda gradients: rank:pairwise weighs all pairs alike, ndcg those at the top", "[gbdt]") {
  const std::vector<float> label = {0, 1, 0, 1};  // from the highest margin down
  const std::vector<int64_t> groups = {0, 4};
  const Targets targets{4, label, {}, groups, 0};
  const std::vector<float> margin = {3, 2, 1, 0};
  const Derivatives pairwise =
      DerivativesOf(RankingParameters(ObjectiveKind::kRankPairwise), targets, margin);
  const Derivatives ndcg = DerivativesOf(RankingParameters(ObjectiveKind::kRankNdcg), targets, margin);
  CHECK(pairwise.gradient[1] / pairwise.gradient[3] < ndcg.gradient[1] / ndcg.gradient[3]);
  CHECK(ndcg.gradient[3] < 0);
  CHECK(ndcg.gradient[0] > 0);
  // Not even NDCG looks at labels that are equal, or at groups without a difference.
  const std::vector<float> equal = {2, 2, 2, 2};
  CHECK(DerivativesOf(RankingParameters(ObjectiveKind::kRankNdcg), Targets{4, equal, {}, groups, 0}, margin)
            .gradient == std::vector<float>(4));
}

TEST_CASE("Lambda gradients: only the first rows of a group are paired with those below", "[gbdt]") {
  GbdtParameters parameters = RankingParameters(ObjectiveKind::kRankPairwise);
  parameters.lambdarank_num_pair_per_sample = 1;
  const std::vector<float> label = {0, 0, 1, 1};
  const std::vector<int64_t> groups = {0, 4};
  const Derivatives d = DerivativesOf(parameters, Targets{4, label, {}, groups, 0}, {4, 3, 2, 1});
  CHECK(d.gradient[0] > 0);
  CHECK(d.gradient[1] == 0);
  CHECK(d.gradient[2] < 0);
}

TEST_CASE("Lambda gradients: groups are apart, weighed, and never divided", "[gbdt]") {
  const GbdtParameters parameters = RankingParameters(ObjectiveKind::kRankNdcg);
  const std::vector<float> label = {0, 2, 1, 0, 2, 1, 3}, weight = {1, 0.5f, 2};
  const std::vector<int64_t> groups = {0, 3, 6, 7};
  const std::vector<float> margin = {0.5f, -1, 2, 0.5f, -1, 2, 9};
  const Targets targets{7, label, weight, groups, 0};
  const Derivatives d = DerivativesOf(parameters, targets, margin);
  for (int i = 0; i < 3; ++i) {
    CHECK(d.gradient[i + 3] == Approx(0.5 * d.gradient[i]));
    CHECK(d.hessian[i + 3] == Approx(0.5 * d.hessian[i]));
  }
  CHECK(d.gradient[6] == 0);  // a group of one row has no pairs
  CHECK(GradientBlocks(targets, 1) == groups);
  CHECK(GradientBlocks(targets, 4) == std::vector<int64_t>{0, 6, 7});
  Derivatives parts{std::vector<float>(7), std::vector<float>(7)};
  ComputeGradients(parameters, targets, margin, 3, 7, parts.gradient.data(), parts.hessian.data());
  ComputeGradients(parameters, targets, margin, 0, 3, parts.gradient.data(), parts.hessian.data());
  CHECK(parts.gradient == d.gradient);
  CHECK(parts.hessian == d.hessian);
}

TEST_CASE("Lambda gradients: groups, their weights and their labels are checked", "[gbdt]") {
  GbdtParameters parameters = RankingParameters(ObjectiveKind::kRankNdcg);
  const std::vector<float> label = {0, 2, 1}, rows_weight = {1, 1, 1}, negative = {1, -1},
                           half = {0.5f, 0, 32};
  const std::vector<int64_t> groups = {0, 2, 3}, wrong = {0, 2};
  const auto error = [&parameters](const Targets& targets) {
    return MessageOf(CheckLabels(parameters, targets));
  };
  CHECK(CheckLabels(parameters, Targets{3, label, {}, groups, 0}).ok());
  CHECK_THAT(error({3, label, {}, {}, 0}),
             Catch::Contains("objective = rank:ndcg: expected data that is divided"));
  CHECK_THAT(error({3, label, {}, wrong, 0}), Catch::Contains("groups: expected them to divide 3 rows"));
  CHECK_THAT(error({3, label, rows_weight, groups, 0}),
             Catch::Contains("expected one for each of the 2 groups"));
  CHECK_THAT(error({3, label, negative, groups, 0}), Catch::Contains("group 2: weight = -1: expected"));
  CHECK_THAT(error({3, half, {}, groups, 0}),
             Catch::Contains("row 1: label = 0.5: expected a whole number from 0"));
  parameters.ndcg_exp_gain = false;
  CHECK(CheckLabels(parameters, Targets{3, half, {}, groups, 0}).ok());
  parameters.objective = ObjectiveKind::kBinaryLogistic;
  parameters.metrics = {Metric::kNdcg};
  CHECK_THAT(error({2, negative, {}, {}, 0}), Catch::Contains("label = -1"));
  const std::vector<float> binary = {0, 1};
  CHECK_THAT(error({2, binary, {}, {}, 0}),
             Catch::Contains("eval_metric = ndcg: expected data that is divided"));
}

}  // namespace
}  // namespace winnow::gbdt

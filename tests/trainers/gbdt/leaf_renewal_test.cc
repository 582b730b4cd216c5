#include "trainers/gbdt/objective/leaf_renewal.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/hash.h"
#include "tests/catch.h"
#include "tests/trainers/gbdt/on_ranks.h"
#include "trainers/gbdt/objective/metric.h"

namespace winnow::gbdt {
namespace {

GbdtParameters Parameters(ObjectiveKind objective, double alpha = 0.5) {
  GbdtParameters parameters;
  parameters.objective = objective;
  parameters.quantile_alpha = alpha;
  parameters.eta = 1;
  return parameters;
}

double BaseScore(const GbdtParameters& parameters, const std::vector<float>& label,
                 const std::vector<float>& weight = {}) {
  const std::unique_ptr<Communicator> alone = MakeSoleRank();
  return *EstimateBaseScore(parameters, Targets{static_cast<int64_t>(label.size()), label, weight, {}, 0},
                            alone.get());
}

TEST_CASE("Leaf renewal: base_score is the labels' median, as XGBoost estimates it", "[gbdt]") {
  const GbdtParameters median = Parameters(ObjectiveKind::kAbsoluteError);
  const std::vector<float> labels = {0, 20, 5, 7, 7, 1};
  CHECK(BaseScore(median, labels) == 6);                      // XGBoost 1.7.4's
  CHECK(BaseScore(median, labels, {1, 1, 1, 5, 1, 1}) == 7);  // likewise
  CHECK(BaseScore(median, {-3}) == -3);
  CHECK(BaseScore(median, {}) == 0.5);
  CHECK(BaseScore(median, {4, 8}, {0, 0}) == 0.5);
  GbdtParameters given = median;
  given.base_score_given = true;
  CHECK(BaseScore(given, labels) == 0.5);
  CHECK(BaseScore(Parameters(ObjectiveKind::kSquaredError), labels) == 0.5);
}

TEST_CASE("Leaf renewal: quantiles are interpolated between the values on both sides", "[gbdt]") {
  const std::vector<float> labels = {10, 20, 30, 40};
  CHECK(BaseScore(Parameters(ObjectiveKind::kQuantile, 0.0), labels) == 10);
  CHECK(BaseScore(Parameters(ObjectiveKind::kQuantile, 0.2), labels) == 10);
  CHECK(BaseScore(Parameters(ObjectiveKind::kQuantile, 0.3), labels) == 15);
  CHECK(BaseScore(Parameters(ObjectiveKind::kQuantile, 0.9), labels) == 40);
  CHECK(BaseScore(Parameters(ObjectiveKind::kQuantile, 1.0), labels) == 40);
  CHECK(BaseScore(Parameters(ObjectiveKind::kQuantile, 0.5), {-2, -2, -2, -2}) == -2);
}

TEST_CASE("Leaf renewal: quantiles are XGBoost's", "[gbdt]") {
  // XGBoost 3.2.0's base_score and eval_metric=quantile of reg:quantileerror on these labels.
  const std::vector<float> labels = {3, 1, 4, 1, 5, 9, 2, 6}, weights = {1, 2, 1, 1, 0.5f, 1, 3, 1};
  const struct {
    double alpha;
    std::vector<float> weight;
    float base_score;
    double metric;
  } kCases[] = {{0.2, {}, 1, 0.575},
                {0.2, weights, 1, 0.4380952},
                {0.8, {}, 6.6f, 0.845},
                {0.8, weights, 5, 0.8380952}};
  const std::unique_ptr<Communicator> alone = MakeSoleRank();
  for (const auto& c : kCases) {
    const GbdtParameters parameters = Parameters(ObjectiveKind::kQuantile, c.alpha);
    CHECK(BaseScore(parameters, labels, c.weight) == Approx(c.base_score).epsilon(1e-7));
    const std::vector<float> margin(8, c.base_score);
    CHECK(EvaluateMetric(Metric::kQuantile, parameters, Targets{8, labels, c.weight, {}, 0}, margin,
                         alone.get())
              .value() == Approx(c.metric).epsilon(1e-6));
  }
}

TEST_CASE("Leaf renewal: a leaf becomes the median of what is left to explain in it, times eta", "[gbdt]") {
  GbdtParameters parameters = Parameters(ObjectiveKind::kAbsoluteError);
  parameters.eta = 0.5;
  parameters.num_parallel_tree = 2;
  const std::vector<float> label = {0, 1, 5, 7, 7, 20}, margin = {6, 6, 6, 6, 6, 100};
  const std::vector<int32_t> leaf_of_row = {0, 0, 0, 1, 1, -1};
  const std::unique_ptr<Communicator> alone = MakeSoleRank();
  std::vector<float> values = {9, 9, 9};
  REQUIRE(RenewLeaves(parameters, Targets{6, label, {}, {}, 0}, margin.data(), leaf_of_row, 3, alone.get(),
                      &values)
              .ok());
  CHECK(values == std::vector<float>{-5 * 0.25f, 1 * 0.25f, 9});
  CHECK(RenewsLeaves(ObjectiveKind::kQuantile));
  CHECK_FALSE(RenewsLeaves(ObjectiveKind::kSquaredError));
}

TEST_CASE("Leaf renewal: so many leaves that their sums are made in parts", "[gbdt]") {
  constexpr int kLeaves = 20000;
  std::vector<float> label, margin(kLeaves);
  std::vector<int32_t> leaf_of_row;
  for (int i = 0; i < kLeaves; ++i) {
    label.push_back(static_cast<float>(i));
    leaf_of_row.push_back(kLeaves - 1 - i);
  }
  const std::unique_ptr<Communicator> alone = MakeSoleRank();
  std::vector<float> values(kLeaves, -1);
  REQUIRE(RenewLeaves(Parameters(ObjectiveKind::kAbsoluteError), Targets{kLeaves, label, {}, {}, 0},
                      margin.data(), leaf_of_row, kLeaves, alone.get(), &values)
              .ok());
  CHECK(values == std::vector<float>(label.rbegin(), label.rend()));
}

// Residues with many ties, weights of which some are 0, and leaves of very different sizes.
TEST_CASE("Leaf renewal: any number of ranks gives the same bits, which are those of sorting", "[gbdt]") {
  constexpr int kRows = 3000, kLeaves = 7;
  OwnedTargets data;
  std::vector<float> margin;
  std::vector<int32_t> leaf_of_row;
  for (uint64_t i = 0; i < kRows; ++i) {
    data.label.push_back(static_cast<float>(HashOf(1, i) % 200) * 0.125f - 11);
    margin.push_back(static_cast<float>(HashOf(2, i) % 16) * 0.5f);
    leaf_of_row.push_back(static_cast<int32_t>(HashOf(3, i) % 50 * (HashOf(4, i) % 2)) % (kLeaves + 1) - 1);
  }
  for (const bool weighted : {false, true}) {
    for (uint64_t i = 0; weighted && i < kRows; ++i)
      data.weight.push_back(static_cast<float>(HashOf(5, i) % 4) * 0.3f);
    for (const double alpha : {0.1, 0.5, 0.93}) {
      const GbdtParameters parameters = Parameters(ObjectiveKind::kQuantile, alpha);
      const auto renewed = [&](int ranks) {
        return OnRanks(ranks, [&](int r, Communicator* communicator) {
          const std::size_t begin = data.PartBegin(r, ranks), end = data.PartBegin(r + 1, ranks);
          const OwnedTargets part = data.Part(begin, end);
          std::vector<float> values(kLeaves);
          const absl::Status status =
              RenewLeaves(parameters, part.all(), margin.data() + begin,
                          std::span(leaf_of_row).subspan(begin, end - begin), kLeaves, communicator, &values);
          return status.ok() ? values : std::vector<float>{};
        });
      };
      const std::vector<float> alone = renewed(1)[0];
      REQUIRE(alone.size() == kLeaves);
      for (const int ranks : {2, 3, 4}) {
        for (const std::vector<float>& values : renewed(ranks)) CHECK(values == alone);
      }
      for (int leaf = 0; leaf < kLeaves; ++leaf) {
        std::vector<std::pair<float, double>> sorted;  // residue, weight
        double total = 0, below = 0;
        for (int i = 0; i < kRows; ++i) {
          if (leaf_of_row[i] != leaf) continue;
          sorted.emplace_back(data.label[i] - margin[i], weighted ? data.weight[i] : 1.0);
          total += sorted.back().second;
        }
        std::sort(sorted.begin(), sorted.end());
        if (!weighted) {
          const double x = alpha * static_cast<double>(sorted.size() + 1);
          const auto k = static_cast<std::size_t>(x) - 1;
          const double share = x - std::floor(x);
          CHECK(alone[leaf] ==
                Approx(sorted[k].first * (1 - share) + sorted[k + 1].first * share).margin(1e-5));
          continue;
        }
        std::size_t k = 0;
        while ((below += sorted[k].second) < total * alpha * (1 - 1e-9)) ++k;
        CHECK(alone[leaf] == sorted[k].first);
      }
    }
  }
}

}  // namespace
}  // namespace winnow::gbdt

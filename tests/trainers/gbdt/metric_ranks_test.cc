#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "tests/catch.h"
#include "tests/trainers/gbdt/on_ranks.h"
#include "trainers/common/exact_sum.h"
#include "trainers/gbdt/hyperparameters/hyperparameter_names.h"
#include "trainers/gbdt/objective/metric.h"
#include "trainers/gbdt/objective/run_exchange.h"

namespace winnow::gbdt {
namespace {

struct Sample {
  OwnedTargets targets;
  std::vector<float> margin;  // [class][row]
};

// Margins with ties; labels from 0 to `levels` - 1, or with a fraction where `soft`.
Sample MakeSample(std::size_t rows, int classes, int levels, bool weighted, bool grouped, bool soft) {
  Sample sample;
  for (uint64_t i = 0; i < rows; ++i) {
    const float label = static_cast<float>(HashOf(1, i) % levels);
    sample.targets.label.push_back(soft && i % 3 == 0 ? 0.25f : label);
    if (grouped && (i == 0 || HashOf(2, i) % 9 == 0))
      sample.targets.group_begin.push_back(static_cast<int64_t>(i));
  }
  if (grouped) sample.targets.group_begin.push_back(static_cast<int64_t>(rows));
  for (uint64_t i = 0; weighted && i < sample.targets.units(); ++i)
    sample.targets.weight.push_back(static_cast<float>(HashOf(3, i) % 7) *
                                    0.13f);  // below 1, which rows without weights have
  for (uint64_t i = 0; i < rows * classes; ++i)
    sample.margin.push_back(static_cast<float>(HashOf(4, i) % 700) * 0.01f - 3 +
                            (i < rows ? sample.targets.label[i] : 0));
  return sample;
}

// The value on each rank.
std::vector<double> ValuesOn(int ranks, const Sample& sample, const Metric& metric,
                             const GbdtParameters& parameters) {
  return OnRanks(ranks, [&](int r, Communicator* communicator) {
    const OwnedTargets& all = sample.targets;
    const std::size_t begin = all.PartBegin(r, ranks), end = all.PartBegin(r + 1, ranks);
    const OwnedTargets part = all.Part(begin, end);
    std::vector<float> margin;
    for (int k = 0; k < parameters.classes(); ++k) {
      const auto of_class = sample.margin.begin() + static_cast<std::ptrdiff_t>(k * all.label.size());
      margin.insert(margin.end(), of_class + all.RowOf(begin), of_class + all.RowOf(end));
    }
    return EvaluateMetric(metric, parameters, part.all(), margin, communicator).value_or(-1);
  });
}

TEST_CASE("Metric: any number of ranks gives the same bits", "[gbdt]") {
  const struct {
    const char* objective;
    const char* metrics;
    int levels;
    bool grouped, soft;
  } kCases[] = {
      {"binary:logistic", "auc aucpr logloss error error@0.3 rmse mae", 2, false, false},
      {"binary:logistic", "auc aucpr logloss", 2, false, true},
      {"binary:logistic", "accuracy f1", 2, false, false},
      {"binary:hinge", "accuracy f1", 2, false, false},
      {"binary:logistic", "accuracy f1", 2, false, true},
      {"reg:squarederror", "rmse mse mae mphe quantile", 9, false, false},
      {"count:poisson", "poisson-nloglik rmsle tweedie-nloglik@1.3", 9, false, false},
      {"multi:softprob", "auc aucpr mlogloss merror accuracy f1", 3, false, false},
      {"rank:ndcg", "ndcg ndcg@3- map map@2 pre@2 auc", 4, true, false},
      {"rank:pairwise", "aucpr auc rmse", 2, true, false},
  };
  for (const auto& c : kCases) {
    GbdtParameters parameters;
    parameters.objective = *FindObjective(c.objective);
    parameters.num_class = 3;
    for (const bool weighted : {false, true}) {
      const Sample sample = MakeSample(2500, parameters.classes(), c.levels, weighted, c.grouped, c.soft);
      std::string metrics = c.metrics;
      for (char* name = std::strtok(metrics.data(), " "); name != nullptr; name = std::strtok(nullptr, " ")) {
        INFO(c.objective << " " << name << " weighted " << weighted);
        const double alone = ValuesOn(1, sample, *ParseMetric(name), parameters)[0];
        CHECK(std::isfinite(alone));
        for (const int ranks : {2, 3, 5}) {
          for (const double value : ValuesOn(ranks, sample, *ParseMetric(name), parameters))
            CHECK(value == alone);
        }
      }
    }
  }
}

TEST_CASE("Metric: without rows, without weight or of one class there is no value", "[gbdt]") {
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kBinaryLogistic;
  for (const char* name : {"auc", "aucpr", "logloss", "ndcg", "accuracy", "f1", "mse"}) {
    INFO(name);
    for (const double value : ValuesOn(3, Sample{}, *ParseMetric(name), parameters)) CHECK(std::isnan(value));
  }
  Sample sample = MakeSample(20, 1, 1, false, false, false);
  for (const double value : ValuesOn(3, sample, Metric::kAuc, parameters)) CHECK(std::isnan(value));
  sample.targets.weight.assign(20, 0.0f);
  for (const double value : ValuesOn(3, sample, Metric::kLogLoss, parameters)) CHECK(std::isnan(value));
}

TEST_CASE("Metric: of multi:softprob the auc needs every class", "[gbdt]") {
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kSoftProb;
  parameters.num_class = 3;
  Sample sample = MakeSample(50, 3, 2, false, false, false);
  CHECK(std::isnan(ValuesOn(1, sample, Metric::kAuc, parameters)[0]));
  sample.targets.label[7] = 2;
  CHECK(std::isfinite(ValuesOn(1, sample, Metric::kAuc, parameters)[0]));
}

TEST_CASE("Metric: numbers survive the way as bytes", "[gbdt]") {
  const std::vector<uint64_t> numbers = {0, 1, 127, 128, 0xffffffff, uint64_t{1} << 61, 5};
  NumberWriter writer;
  for (const uint64_t number : numbers) writer.Write(number);
  const std::string bytes = writer.Take();
  CHECK(bytes.size() == 1 + 1 + 1 + 2 + 5 + 9 + 1);
  NumberReader reader(bytes);
  for (const uint64_t number : numbers) CHECK(reader.Read() == number);
  CHECK(reader.done());
  CHECK(reader.Read() == 0);
}

TEST_CASE("Metric: no score is on two ranks, and the higher are on the later", "[gbdt]") {
  const auto exchanged = OnRanks(3, [](int r, Communicator* communicator) {
    PlainKeys keys;
    for (uint32_t i = 0; r < 2 && i < 4000; ++i) {
      keys.negative.push_back(i / 3 * 7);
      keys.positive.push_back(i * 11);
    }
    return ExchangeKeys(keys, communicator).value_or(PlainKeys{});
  });
  std::size_t negatives = 0, positives = 0;
  uint32_t highest = 0;
  for (const PlainKeys& keys : exchanged) {
    REQUIRE(keys.negative.size() + keys.positive.size() > 4000);
    CHECK(std::is_sorted(keys.negative.begin(), keys.negative.end()));
    CHECK(std::min(keys.negative.empty() ? ~0u : keys.negative.front(), keys.positive.front()) >= highest);
    highest = std::max(keys.negative.empty() ? 0 : keys.negative.back(), keys.positive.back()) + 1;
    negatives += keys.negative.size();
    positives += keys.positive.size();
  }
  CHECK(negatives == 8000);
  CHECK(positives == 8000);
}

TEST_CASE("Exact sum: neither order nor ranks change a bit, and it is right", "[gbdt]") {
  std::vector<double> values = {1e10, -1e10, 3.25, 1e-3};
  for (uint64_t i = 0; i < 1000; ++i)
    values.push_back(std::ldexp(static_cast<double>(HashOf(1, i)), -60) - 5);
  long double expected = 0;
  for (const double value : values) expected += value;
  const auto sum_on = [&values](int ranks) {
    return OnRanks(ranks, [&, ranks](int r, Communicator* communicator) {
      const std::size_t begin = values.size() * r / ranks, end = values.size() * (r + 1) / ranks;
      const auto sums = ExactSums({std::span(values).subspan(begin, end - begin), {}}, communicator);
      return sums.ok() ? *sums : std::vector<double>{};
    });
  };
  const std::vector<double> alone = sum_on(1)[0];
  CHECK(std::fabs(alone[0] - static_cast<double>(expected)) < 1e10 * 0x1p-61 * values.size());
  CHECK(alone[1] == 0);
  for (const auto& sums : sum_on(4)) CHECK(sums == alone);
  values.push_back(-std::numeric_limits<double>::infinity());
  for (const auto& sums : sum_on(3)) CHECK(std::isinf(sums[0]));
  values.front() = std::nan("");
  for (const auto& sums : sum_on(3)) CHECK(std::isnan(sums[0]));
}

}  // namespace
}  // namespace winnow::gbdt

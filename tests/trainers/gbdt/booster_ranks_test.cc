#include <algorithm>
#include <cmath>
#include <optional>

#include "tests/catch.h"
#include "tests/trainers/collective/run_ranks.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "tests/trainers/gbdt/training_samples.h"
#include "trainers/gbdt/model/model_file.h"

namespace winnow::gbdt {
namespace {

struct Outcome {
  std::string model;  // or what went wrong
  std::vector<float> metrics;
  bool operator==(const Outcome&) const = default;
};

Outcome TrainedOn(const GbdtParameters& parameters, const TrainingData& data, Communicator* ranks,
                  int threads, const FeatureLimits& limits = {}) {
  Outcome outcome;
  TrainOptions options{.threads = threads, .last_metrics = &outcome.metrics, .limits = limits};
  const absl::StatusOr<Model> model = TrainOnRank(parameters, data, ranks, options);
  outcome.model = model.ok() ? ModelText(*model) : std::string(model.status().message());
  return outcome;
}

// Where rank `rank` of `size` begins: shares differ, and of many ranks one has nothing.
int64_t BorderOf(int64_t rows, int rank, int size) {
  if (rank == 0 || rank == size) return rank == 0 ? 0 : rows;
  if (size >= 4 && rank == 2) return BorderOf(rows, 1, size);
  return rows * (2 * rank - 1) / (2 * size) + rank % 2;
}

BinnedRows Share(const BinnedRows& all, int rank, int size) {
  const int64_t begin = BorderOf(all.targets.rows, rank, size),
                end = BorderOf(all.targets.rows, rank + 1, size);
  BinnedRows part = all;
  part.matrix = all.matrix.Part(begin, end);
  part.targets.rows = end - begin;
  part.targets.first_row = begin;
  part.targets.label = all.targets.label.subspan(begin, end - begin);
  if (!all.targets.weight.empty()) part.targets.weight = all.targets.weight.subspan(begin, end - begin);
  return part;
}

// The model and the metrics must be those of one rank, for any distribution of the rows.
void CheckRanks(const GbdtParameters& parameters, const DataSet& train, const DataSet& validation,
                const FeatureLimits& limits = {}) {
  const TrainingData whole = Binned(train, parameters.max_bin, &validation);
  const std::unique_ptr<Communicator> sole = MakeSoleRank();
  const Outcome expected = TrainedOn(parameters, whole, sole.get(), 1, limits);
  REQUIRE(expected.metrics.size() == 2 * parameters.metrics.size());
  for (const int size : {2, 3, 4, 8}) {
    for (const int threads : {1, 2}) {
      const std::vector<Outcome> outcomes = RunRanks(size, [&](Communicator* ranks) {
        TrainingData mine = whole;
        mine.train = Share(whole.train, ranks->rank(), size);
        mine.validation = Share(*whole.validation, ranks->rank(), size);
        return TrainedOn(parameters, mine, ranks, threads, limits);
      });
      for (const Outcome& outcome : outcomes) {
        INFO("ranks " << size << ", threads " << threads);
        CHECK((outcome.model == expected.model));
        CHECK(outcome.metrics == expected.metrics);
      }
    }
  }
}

TEST_CASE("Ranks: one model to the byte, with samples of rows and columns", "[gbdt]") {
  DataSet train = SampleData(6000);
  AddWeights(&train);
  CheckRanks(SampledParameters(6), train, SampleData(700, 2, 4));
}

TEST_CASE("Ranks: one model to the byte, with parallel trees whose leaves are renewed", "[gbdt]") {
  GbdtParameters parameters = SampledParameters(3);
  parameters.objective = ObjectiveKind::kAbsoluteError;
  parameters.metrics = {MetricKind::kMae};
  parameters.num_parallel_tree = 3;
  CheckRanks(parameters, SampleData(3000), SampleData(300, 2, 4));
}

TEST_CASE("Ranks: one model to the byte, best leaf first and within limits", "[gbdt]") {
  GbdtParameters parameters = LogisticParameters(5);
  parameters.grow_policy = GrowPolicy::kLossGuide;
  parameters.max_leaves = 12;
  parameters.max_depth = 0;
  CheckRanks(parameters, SampleData(5000), SampleData(500, 2, 4),
             {{1, 0, -1, 0, 0, 0}, {{0, 1, 2}, {2, 3, 4, 5}}});
}

TEST_CASE("Ranks: one model to the byte, of several classes and parallel trees", "[gbdt]") {
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kSoftProb;
  parameters.num_class = 3;
  parameters.num_round = 4;
  parameters.num_parallel_tree = 2;
  parameters.subsample = 0.6;
  parameters.metrics = {MetricKind::kMultiLogLoss, MetricKind::kMultiError};
  CheckRanks(parameters, SampleData(3000, 3), SampleData(500, 3, 4));
}

// Weights of queries count in relation to their mean over all ranks, as in XGBoost.
TEST_CASE("Ranks: one model to the byte, of weighted queries, whatever the scale of the weights", "[gbdt]") {
  DataSet train = SampleData(3000);
  for (int64_t row = 0; row <= train.rows; row += 30) train.group_begin.push_back(row);
  GbdtParameters parameters = LogisticParameters(4);
  parameters.objective = ObjectiveKind::kRankNdcg;
  parameters.metrics = {Metric::kNdcg};
  const std::unique_ptr<Communicator> sole = MakeSoleRank();
  // The first queries weigh more, so that ranks have other means.
  const auto trained = [&](std::optional<float> first, float other, int size) {
    DataSet weighted = train;
    if (first) weighted.weight.assign(100, other);
    if (first) std::fill_n(weighted.weight.begin(), 40, *first);
    const TrainingData whole = Binned(weighted);
    if (size == 1) return std::vector<Outcome>{TrainedOn(parameters, whole, sole.get(), 1)};
    return RunRanks(size, [&](Communicator* ranks) {
      return TrainedOn(parameters, PartOf(whole, ranks->rank(), size), ranks, 1);
    });
  };
  const Outcome plain = trained({}, 1, 1)[0], uneven = trained(3, 1, 1)[0];
  REQUIRE(plain.metrics.size() == 1);
  CHECK((trained(10, 10, 1)[0] == plain));
  CHECK((trained(30, 10, 1)[0] == uneven));
  CHECK((uneven.model != plain.model));
  for (const int size : {2, 3}) {
    for (const Outcome& outcome : trained(30, 10, size)) CHECK((outcome == uneven));
  }
}

TEST_CASE("Ranks: one model to the byte, with two bytes a bin", "[gbdt]") {
  GbdtParameters parameters = LogisticParameters(4);
  parameters.max_bin = 2000;
  CheckRanks(parameters, SampleData(4000), SampleData(500, 2, 4));
}

TEST_CASE("Ranks: one model to the byte, where a few rows outweigh the others", "[gbdt]") {
  DataSet train = SampleData(4000);
  train.weight.assign(4000, 1.0f);
  train.weight[17] = train.weight[3333] = 1e6f;  // 16 bits would leave the others nothing
  CheckRanks(LogisticParameters(5), train, SampleData(500, 2, 4));
}

TEST_CASE("Ranks: one model to the byte, with more rows than packed sums hold", "[gbdt]") {
  GbdtParameters parameters = LogisticParameters(3);
  parameters.subsample = 0.9;
  CheckRanks(parameters, SampleData(150'000), SampleData(500, 2, 4));
}

TEST_CASE("Ranks: one model to the byte, where trees are dropped", "[gbdt]") {
  GbdtParameters parameters = SampledParameters(8);
  parameters.booster = BoosterKind::kDart;
  parameters.rate_drop = 0.4;
  CheckRanks(parameters, SampleData(2000), SampleData(500, 2, 4));
}

TEST_CASE("Ranks: one model to the byte, of queries that are ranked", "[gbdt]") {
  DataSet train = SampleData(3000, 4), validation = SampleData(400, 4, 6);
  for (DataSet* data : {&train, &validation}) {
    for (int64_t row = 0; row < data->rows;
         row += 1 + static_cast<int64_t>(HashOf(5, static_cast<uint64_t>(row)) % 30))
      data->group_begin.push_back(row);
    data->group_begin.push_back(data->rows);
  }
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kRankNdcg;
  parameters.num_round = 5;
  parameters.metrics = {MetricKind::kNdcg, MetricKind::kMap};
  const TrainingData whole = Binned(train, 256, &validation);
  const std::unique_ptr<Communicator> sole = MakeSoleRank();
  const Outcome expected = TrainedOn(parameters, whole, sole.get(), 1);
  REQUIRE(expected.metrics.size() == 4);
  CHECK(expected.metrics[2] > 0.8f);
  for (const int size : {2, 3, 8}) {
    const std::vector<Outcome> outcomes = RunRanks(size, [&](Communicator* ranks) {
      return TrainedOn(parameters, PartOf(whole, ranks->rank(), size), ranks, 2);
    });
    for (const Outcome& outcome : outcomes) {
      CHECK((outcome.model == expected.model));
      CHECK(outcome.metrics == expected.metrics);
    }
  }
}

TEST_CASE("Ranks: each with rows of its own, they find one model to the byte", "[gbdt]") {
  DataSet train = SampleData(4000), validation = SampleData(500, 2, 4);
  AddWeights(&train);
  // A feature that only some ranks see vary, and gaps that only the last has.
  for (int64_t i = 0; i < train.rows; ++i) {
    train.columns[2][i] = i < 2500 ? 3.0f : train.columns[2][i];
    if (i > 3800 && i % 7 == 0) train.columns[0][i] = std::nanf("");
  }
  for (const int64_t max_bin : {256, 32}) {
    GbdtParameters parameters = SampledParameters(5);
    parameters.max_bin = max_bin;
    const TrainingData whole = Binned(train, max_bin, &validation);
    const std::unique_ptr<Communicator> sole = MakeSoleRank();
    const Outcome expected = TrainedOn(parameters, whole, sole.get(), 1);
    for (const int size : {1, 2, 3, 4, 8}) {
      struct Found {
        Outcome outcome;
        uint64_t fingerprint = 0;
      };
      const std::vector<Found> found = RunRanks(size, [&](Communicator* ranks) {
        const auto part = [&](const DataSet& all) {
          return RowsOf(all, BorderOf(all.rows, ranks->rank(), size),
                        BorderOf(all.rows, ranks->rank() + 1, size));
        };
        ThreadPool pool(2);
        const absl::StatusOr<TrainingData> mine =
            MakeTrainingData(part(train), part(validation), static_cast<int>(max_bin), ranks, &pool);
        if (!mine.ok()) return Found{{std::string(mine.status().message()), {}}, 0};
        return Found{TrainedOn(parameters, *mine, ranks, 2), mine->fingerprint};
      });
      for (const Found& one : found) {
        INFO("ranks " << size << ", max_bin " << max_bin);
        CHECK((one.outcome.model == expected.model));
        CHECK(one.outcome.metrics == expected.metrics);
        CHECK(one.fingerprint == whole.fingerprint);
      }
    }
  }
}

TEST_CASE("Ranks: more of them than slots, and than rows", "[gbdt]") {
  GbdtParameters parameters = LogisticParameters(3);
  parameters.min_child_weight = 0;
  CheckRanks(parameters, OneColumn({1, 2, 3, 4, 5, 6}, {0, 1, 1, 0, 1, 0}), OneColumn({1, 2, 3}, {0, 1, 0}));
}

}  // namespace
}  // namespace winnow::gbdt

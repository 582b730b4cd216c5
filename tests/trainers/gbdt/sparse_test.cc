#include <cmath>
#include <limits>

#include "base/hash.h"
#include "tests/catch.h"
#include "tests/trainers/collective/run_ranks.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "tests/trainers/gbdt/training_samples.h"
#include "trainers/data/shard.h"
#include "trainers/data/split.h"
#include "trainers/gbdt/model/model_file.h"

namespace winnow::gbdt {
namespace {

constexpr float kGap = std::numeric_limits<float>::quiet_NaN();

// Columns of every kind, most of them nearly empty: few and many values, gaps and zeros, with and without
// rows.
DataSet WideTable(uint64_t seed, int64_t rows, int features) {
  DataSet data;
  data.rows = rows;
  data.columns.assign(features, std::vector<float>(rows));
  std::vector<float> score(rows);
  for (int f = 0; f < features; ++f) {
    const auto kind = HashOf(seed, static_cast<uint64_t>(f)) % 6;
    data.feature_names.push_back("f" + std::to_string(f));
    data.schema.columns.push_back({data.feature_names.back(), false, {}});
    for (int64_t i = 0; i < rows; ++i) {
      const uint64_t draw = HashOf(seed, static_cast<uint64_t>(f), static_cast<uint64_t>(i));
      const float value = static_cast<float>(draw >> 40) / 16777216.0f - 0.4f;
      const bool present = kind == 5 ? false : kind == 0 ? draw % 3 > 0 : draw % 20 == 0;
      float& cell = data.columns[f][i];
      cell = kind == 2 ? 0.0f : kGap;
      if (present) cell = kind == 1 ? std::floor(value * 5) : kind == 2 ? 1.0f : value;
      if (kind == 2 && draw % 50 == 7) cell = kGap;
      if (present && !std::isnan(cell)) score[i] += cell * (f % 2 == 0 ? 1.0f : -0.7f);
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    const float noise = static_cast<float>(HashOf(seed, 1, static_cast<uint64_t>(i)) % 100) / 200.0f;
    data.label.push_back(score[i] + noise > 0.3f ? 1.0f : 0.0f);
  }
  return data;
}

// The same table with every column that has more gaps or zeros than values, or all, in sparse form.
DataSet Sparse(DataSet data, bool all = false) {
  data.sparse.resize(data.columns.size());
  for (std::size_t f = 0; f < data.columns.size(); ++f) {
    const std::vector<float>& column = data.columns[f];
    const auto gaps = std::count_if(column.begin(), column.end(), [](float v) { return std::isnan(v); });
    const auto zeros = std::count(column.begin(), column.end(), 0.0f);
    if (!all && 2 * std::max<int64_t>(gaps, zeros) < data.rows) continue;
    SparseColumn& to = data.sparse[f];
    to.used = true;
    if (zeros > gaps) to.rest = 0;
    for (int64_t i = 0; i < data.rows; ++i) {
      const float value = column[i];
      if (zeros > gaps ? value != 0 : !std::isnan(value)) to.Add(i, value);
    }
    data.columns[f].clear();
  }
  return data;
}

// The same with bins that are dense all the same.
DataSet DenseLater(DataSet data) {
  for (SparseColumn& column : data.sparse) column.dense_later = true;
  return data;
}

// The model of the sparse form must be that of the dense one, in one and in several threads and on ranks.
void CheckSame(const GbdtParameters& parameters, const DataSet& dense, const DataSet& sparse,
               const FeatureLimits& limits = {}) {
  const std::string expected = ModelText(Train(parameters, dense, {.limits = limits}));
  for (const int threads : {1, 3})
    CHECK((ModelText(Train(parameters, sparse, {.threads = threads, .limits = limits})) == expected));
  for (const int size : {2, 5}) {
    const std::vector<std::string> models = RunRanks(size, [&](Communicator* ranks) -> std::string {
      ThreadPool pool(1);
      const DataSet mine = TakeRows(sparse, RowRange(sparse.rows, ranks->rank(), size));
      const auto data =
          MakeTrainingData(mine, std::nullopt, static_cast<int>(parameters.max_bin), ranks, &pool);
      if (!data.ok()) return std::string(data.status().message());
      const auto model = TrainOnRank(parameters, *data, ranks, {.limits = limits});
      return model.ok() ? ModelText(*model) : std::string(model.status().message());
    });
    for (const std::string& model : models) CHECK((model == expected));
  }
}

TEST_CASE("Sparse: the model is that of dense columns, for any table, ranks and threads", "[gbdt]") {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    DataSet dense = WideTable(seed, 150 + static_cast<int64_t>(seed) * 70, 40);
    if (seed % 3 == 1) AddWeights(&dense);
    GbdtParameters parameters = seed % 2 == 0 ? LogisticParameters(6) : SampledParameters(6);
    parameters.max_bin = seed % 4 == 3 ? 8 : 256;
    if (seed % 4 == 2) parameters.objective = ObjectiveKind::kSquaredError;
    FeatureLimits limits;
    if (seed % 3 == 2) {
      for (int f = 0; f < 40; ++f) limits.directions.push_back(f % 3 - 1);
    }
    INFO("seed " << seed);
    CheckSame(parameters, dense, Sparse(dense), limits);
    CheckSame(parameters, dense, Sparse(dense, true), limits);
    CheckSame(parameters, dense, DenseLater(Sparse(dense, true)), limits);
  }
}

TEST_CASE("Sparse: sums that do not fit one word, leaf-wise growth and DART change nothing", "[gbdt]") {
  const DataSet dense = WideTable(5, 70000, 8);
  GbdtParameters parameters = LogisticParameters(2);
  CHECK((ModelText(Train(parameters, Sparse(dense))) == ModelText(Train(parameters, dense))));
  const DataSet small = WideTable(6, 900, 30);
  parameters = SampledParameters(5);
  parameters.grow_policy = GrowPolicy::kLossGuide;
  parameters.max_leaves = 20;
  parameters.max_depth = 0;
  CheckSame(parameters, small, Sparse(small));
  parameters = LogisticParameters(5);
  parameters.booster = BoosterKind::kDart;
  parameters.rate_drop = 0.5;
  CheckSame(parameters, small, Sparse(small));
}

TEST_CASE("Sparse: validation, predictions and splits are those of dense columns", "[gbdt]") {
  const DataSet dense = WideTable(9, 700, 30), sparse = Sparse(dense);
  const auto parts = SplitByFraction(dense, 0.3, 4), sparse_parts = SplitByFraction(sparse, 0.3, 4);
  std::vector<float> expected, found;
  GbdtParameters parameters = LogisticParameters(6);
  parameters.max_depth = 14;  // also trees that are walked row by row
  const Model model =
      Train(parameters, parts->first, {.validation = &parts->second, .last_metrics = &expected});
  Train(parameters, sparse_parts->first, {.validation = &sparse_parts->second, .last_metrics = &found});
  CHECK(found == expected);
  CHECK(PredictMargins(model, sparse, 6) == PredictMargins(model, dense, 6));
  CHECK(PredictLeaves(model, sparse, 6) == PredictLeaves(model, dense, 6));
}

TEST_CASE("Sparse: bins are found again in parts of rows", "[gbdt]") {
  const DataSet dense = WideTable(2, 400, 25);
  const TrainingData expected = Binned(dense), found = Binned(Sparse(dense));
  const BinMatrix part = found.train.matrix.Part(130, 390), same = expected.train.matrix.Part(130, 390);
  int wrong = 0;
  for (int f = 0; f < 25; ++f) {
    for (int64_t i = 0; i < 260; ++i) wrong += part.BinOf(i, f) != same.BinOf(i, f);
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace winnow::gbdt

#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "trainers/data/data_set.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"

namespace winnow::gbdt {

// Data with all cases: two real columns (the second with a quarter missing), one whole, and a one-hot group
// of three. The label depends on all of them; with classes > 2 it is a class.
inline DataSet SampleData(int64_t rows, int classes = 2, uint64_t seed = 1) {
  DataSet data;
  data.rows = rows;
  data.feature_names = {"real", "gappy", "whole", "colour_blue", "colour_green", "colour_red"};
  data.columns.assign(6, std::vector<float>(rows));
  data.label.resize(rows);
  const auto uniform = [&](int64_t row, uint64_t purpose) {
    return static_cast<float>(HashOf(seed, purpose, static_cast<uint64_t>(row)) >> 40) / 16777216.0f;
  };
  for (int64_t i = 0; i < rows; ++i) {
    data.columns[0][i] = uniform(i, 1) * 8 - 4;
    data.columns[1][i] = uniform(i, 2) < 0.25f ? std::nanf("") : uniform(i, 3);
    data.columns[2][i] = std::floor(uniform(i, 4) * 9);
    const int colour = static_cast<int>(uniform(i, 5) * 3);
    data.columns[3 + colour][i] = 1;
    const float gap = std::isnan(data.columns[1][i]) ? 0.9f : data.columns[1][i];
    const float score = data.columns[0][i] * 0.3f + gap + data.columns[2][i] * 0.1f +
                        static_cast<float>(colour) * 0.5f + uniform(i, 6) - 1.9f;
    data.label[i] =
        classes == 2 ? (score > 0 ? 1.0f : 0.0f)
                     : std::fmin(std::fmax(std::floor(score + 1.5f), 0.0f), static_cast<float>(classes - 1));
  }
  for (const std::string& name : data.feature_names) data.schema.columns.push_back({name, false, {}});
  return data;
}

inline void AddWeights(DataSet* data) {
  for (int64_t i = 0; i < data->rows; ++i)
    data->weight.push_back(static_cast<float>(HashOf(7, static_cast<uint64_t>(i)) % 5) * 0.37f);
}

// The rows from `begin` to before `end`, as a rank has them.
inline DataSet RowsOf(const DataSet& all, int64_t begin, int64_t end) {
  DataSet part = all;
  part.rows = end - begin;
  part.first_row = begin;
  const auto cut = [&](std::vector<float>* values) {
    if (!values->empty()) *values = std::vector<float>(values->begin() + begin, values->begin() + end);
  };
  for (std::vector<float>& column : part.columns) cut(&column);
  cut(&part.label);
  cut(&part.weight);
  return part;
}

// A table of one feature.
inline DataSet OneColumn(std::vector<float> values, std::vector<float> labels) {
  DataSet data;
  data.rows = static_cast<int64_t>(values.size());
  data.feature_names = {"x"};
  data.columns = {std::move(values)};
  data.label = std::move(labels);
  data.schema.columns = {{"x", false, {}}};
  return data;
}

inline GbdtParameters LogisticParameters(int64_t rounds = 10) {
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kBinaryLogistic;
  parameters.metrics = {MetricKind::kAuc};
  parameters.num_round = rounds;
  return parameters;
}

}  // namespace winnow::gbdt

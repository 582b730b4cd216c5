#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainers/data/cache/mapped_file.h"
#include "trainers/data/data_set.h"

namespace winnow::mlp {

// The conversion of raw features to a network's inputs: input = (raw - mean) / deviation. Images (bytes, 0 to
// 1 after division by 255) have one mean and deviation for all pixels; tables have one per column, and
// missing values count as the mean.
struct FeatureScaling {
  std::vector<float> mean, deviation;  // one entry for all, or one per feature; deviation > 0
};

// The conversion of labels to a network's targets in regression: target = (label - mean) / deviation.
struct LabelScaling {
  float mean = 0, deviation = 1;  // deviation > 0

  bool scales() const { return mean != 0 || deviation != 1; }
};

// Kept with a model so that other data are read as the training data were.
struct FeatureSchema {
  std::vector<std::string> names;         // [feature]; empty for arrays (images)
  int image_rows = 0, image_columns = 0;  // for images; otherwise 0
  bool of_bytes = false;                  // for arrays: their numbers are bytes, as in DenseData
  DataSchema table;                       // for tables
  FeatureScaling scaling;
  LabelScaling label_scaling;             // of a checkpoint; a model's last layer has it already
  std::vector<std::string> label_levels;  // for a text label: class i is label_levels[i]
  int features = 0;
};

// Training or validation rows, row-major, shared with all processes of the host if they are in a cache.
// Features are bytes (images) or floats (tables), one of the two.
struct DenseData {
  int64_t rows = 0;
  int features = 0;
  std::span<const uint8_t> bytes;  // [row][feature]; input = byte * byte_scale + byte_shift
  float byte_scale = 1, byte_shift = 0;
  std::span<const float> values;      // [row][feature]: scaled inputs, none missing
  std::span<const float> label;       // [row]: class number or target; empty for data to predict
  std::span<const float> weight;      // [row]; or empty: all 1
  std::shared_ptr<const void> owner;  // owner of the spans' memory
};

// Mean and standard deviation of the labels, each row by its weight; deviation 1 if they are all the same.
// The same on every machine. REQUIRES: labels.
LabelScaling LabelScalingOf(const DenseData& data);

// The same rows, with targets as labels.
DenseData WithTargets(const DenseData& data, const LabelScaling& scaling);

// The same rows of another network's outputs, in `values`, as targets.
DenseData WithScaledOutputs(const DenseData& outputs, const LabelScaling& scaling);

// Owns copies; for tests and callers that have the numbers. REQUIRES: values.size() = rows * features.
DenseData MakeDenseData(int features, std::vector<float> values, std::vector<float> label);

}  // namespace winnow::mlp

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainers/data/cache/mapped_file.h"
#include "trainers/data/data_set.h"

namespace winnow::mlp {

// How raw features become a network's inputs: input = (raw - mean) / deviation. Of images (bytes, 0 to 1
// after division by 255) one mean and deviation for all pixels; of tables one for each column, and missing
// values count as the mean.
struct FeatureScaling {
  std::vector<float> mean, deviation;  // one entry for all, or one per feature; deviation > 0
};

// What must be kept with a model so that other data are read as the training data were.
struct FeatureSchema {
  std::vector<std::string> names;         // [feature]; of arrays (images) empty
  int image_rows = 0, image_columns = 0;  // of images; else 0
  bool of_bytes = false;                  // of arrays: their numbers are bytes, as DenseData has them
  DataSchema table;                       // of tables
  FeatureScaling scaling;
  std::vector<std::string> label_levels;  // of a text label: class i is label_levels[i]
  int features = 0;
};

// Rows to train on or to validate with, row-major, shared with all processes of the host where a cache keeps
// them. Features are bytes (images) or floats (tables), one of the two.
struct DenseData {
  int64_t rows = 0;
  int features = 0;
  std::span<const uint8_t> bytes;  // [row][feature]; input = byte * byte_scale + byte_shift
  float byte_scale = 1, byte_shift = 0;
  std::span<const float> values;      // [row][feature]: inputs, scaled already, none missing
  std::span<const float> label;       // [row]: class number or target; empty in data to predict
  std::span<const float> weight;      // [row]; or empty: all 1
  std::shared_ptr<const void> owner;  // of what the spans show
};

// For tests and for callers that have the numbers: owns copies. REQUIRES: values.size() = rows * features.
DenseData MakeDenseData(int features, std::vector<float> values, std::vector<float> label);

}  // namespace winnow::mlp

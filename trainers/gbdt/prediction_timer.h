#pragma once

#include <cstddef>
#include <cstdint>

#include "trainers/data/data_set.h"
#include "trainers/gbdt/model/model.h"
#include "trainers/gbdt/training_data.h"

namespace winnow::gbdt {

// Measures how long predictions take.
class PredictionTimer {
 public:
  // Chooses at most 512 rows of this rank evenly: of the validation data, or if there are none of the
  // training data. Their values are replaced by others of the same bins, which go to the same leaves.
  explicit PredictionTimer(const TrainingData& data);

  // The time of a prediction per row and by one thread with all trees of the model: the median of five passes
  // over the rows. NaN: there are no rows.
  double MicrosecondsPerRow(const Model& model) const;

  const DataSet& rows() const { return rows_; }

 private:
  DataSet rows_;
};

// Counts the leaves of a model that grows, each tree's once.
class LeafCounter {
 public:
  // Returns the leaves of all trees. REQUIRES: the model of the call before, with more trees or as many.
  int64_t Of(const Model& model);

 private:
  std::size_t trees_ = 0;  // that were counted
  int64_t leaves_ = 0;
};

}  // namespace winnow::gbdt

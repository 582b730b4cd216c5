#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "worker/data/data_set.h"
#include "worker/gbdt/bin_matrix.h"
#include "worker/gbdt/histogram.h"
#include "worker/gbdt/model.h"
#include "worker/gbdt/quantile_cuts.h"
#include "worker/gbdt/row_partition.h"
#include "worker/gbdt/thread_pool.h"
#include "worker/gbdt/tree_builder.h"

namespace winnow {

// InvalidArgument unless the data can be trained on or validated with: labels and weights the objective
// takes, no infinite features. `what` names the data ("training data") in the message.
absl::Status CheckTrainable(const GbdtParameters& parameters, const DataSet& data, const std::string& what);

// Boosting, round by round. The model is a function of the parameters and the data: of neither the number of
// threads nor of where training was interrupted.
class Booster {
 public:
  // Keeps references to the data (of which only labels, weights and rows are needed once Start has returned),
  // the pool and *model. validation may be null. REQUIRES: CheckTrainable of both; model->parameters set.
  Booster(const DataSet& train, const DataSet* validation, GbdtModel* model, ThreadPool* pool);

  // Takes up where model->trees ends.
  void Start();

  // Adds one round to model->trees.
  void TrainRound();

  // Names in the order of Evaluate's values: each metric on train, then each on validation
  // ("validation-auc").
  std::vector<std::string> MetricNames() const;
  std::vector<float> Evaluate() const;

  // Changes with any value of the training data that training sees.
  uint64_t DataFingerprint() const;

 private:
  void AddLeaves(const Tree& tree, const RowPartition& rows, float* margin);
  std::vector<uint32_t> DrawRows(int64_t round, bool drawn) const;

  const DataSet& train_;
  const DataSet* const validation_;
  GbdtModel* const model_;
  ThreadPool* const pool_;
  const std::vector<FeatureCuts> cuts_;
  const BinMatrix matrix_;
  const BinMatrix validation_matrix_;
  TreeBuilder builder_;
  RowPartition drawn_, others_, validation_rows_;
  std::vector<float> margin_, validation_margin_;  // [class][row]
  std::vector<float> gradient_, hessian_;          // [class][row]
  FixedGradients fixed_;
};

}  // namespace winnow

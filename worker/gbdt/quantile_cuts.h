#pragma once

#include <vector>

#include "worker/data/data_set.h"
#include "worker/gbdt/thread_pool.h"

namespace winnow {

// Where one feature's values are cut into bins: value v lies in bin (number of thresholds <= v), NaN in none.
struct FeatureCuts {
  std::vector<float> thresholds;  // ascending, distinct; each is a value of the training data
  bool has_missing = false;

  int bins() const { return static_cast<int>(thresholds.size()) + 1; }
  int BinOf(float value) const;
};

// One bin per distinct value where there are at most max_bin of them, else bins of about equal weight. Does
// not depend on the order of the rows. A feature with missing values has one bin less at max_bin = 256, so
// that value bins and the missing one fit a byte.
FeatureCuts MakeCuts(const std::vector<float>& column, const std::vector<float>& weight, int max_bin);

std::vector<FeatureCuts> MakeCuts(const DataSet& data, int max_bin, ThreadPool* pool);

}  // namespace winnow

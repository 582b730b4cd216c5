#pragma once

#include <cstdint>
#include <vector>

#include "worker/data/data_set.h"
#include "worker/gbdt/hyperparameters.h"

namespace winnow {

// The value of a metric, weighted by the rows' weights. It does not depend on the order of the rows.
// margin is [class][row]. auc and aucpr rank by margin, with ties counted half (auc) or as one step (aucpr);
// NaN where only one class has weight. error is the share of rows on the wrong side of probability 0.5. NaN
// for no rows.
double EvaluateMetric(const Metric& metric, const GbdtParameters& parameters, const DataSet& data,
                      const std::vector<float>& margin);

// Whether a larger value is better.
bool HigherIsBetter(const Metric& metric);

// Sorts ascending in linear time. `scratch` is resized as needed.
void RadixSort(std::vector<uint32_t>* keys, std::vector<uint32_t>* scratch);

}  // namespace winnow

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "worker/data/data_set.h"
#include "worker/gbdt/hyperparameters.h"

namespace winnow {

// e^x to about 2 ulp, in plain arithmetic: the same bits on every machine, which the C library's does not
// promise, and simple enough for the compiler to do several at once.
float PortableExp(float x);
float Sigmoid(float x);

// The margin every row starts from: base_score on the objective's own scale.
float BaseMargin(const GbdtParameters& parameters);

// InvalidArgument names the first row (from 1) whose label or weight the objective cannot take.
absl::Status CheckLabels(const GbdtParameters& parameters, const DataSet& data);

// First and second derivatives of the loss at the margins, times the row's weight, for rows [begin, end).
// margin, gradient and hessian are [class][row] with `rows` rows to a class.
void ComputeGradients(const GbdtParameters& parameters, const DataSet& data, const std::vector<float>& margin,
                      int64_t begin, int64_t end, std::vector<float>* gradient, std::vector<float>* hessian);

// Predictions from margins, both [class][row]: probabilities, or the margins themselves for reg:squarederror
// and binary:logitraw.
std::vector<float> PredictionsFrom(const GbdtParameters& parameters, const std::vector<float>& margin,
                                   int64_t rows);

}  // namespace winnow

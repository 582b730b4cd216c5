#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "worker/data/data_set.h"
#include "worker/gbdt/hyperparameters.h"

namespace winnow {

// e^x to about 2 ulp, in plain arithmetic: the same bits on every machine, which the C library's does not
// promise, and simple enough for the compiler to do several at once.
inline float PortableExp(float x) {
  x = std::min(std::max(x, -87.0f), 88.0f);
  const float scaled = x * 1.44269504f;
  const int n = static_cast<int>(scaled + (scaled >= 0 ? 0.5f : -0.5f));
  const float r = (x - static_cast<float>(n) * 0.693359375f) - static_cast<float>(n) * -2.12194440e-4f;
  // Polynomial of Cephes' expf on [-ln(2)/2, ln(2)/2].
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * (r * r) + r + 1.0f;
  return y * std::bit_cast<float>((n + 127) << 23);
}

inline float Sigmoid(float x) { return 1.0f / (1.0f + PortableExp(-x)); }

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

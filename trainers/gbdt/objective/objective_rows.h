#pragma once

#include <cstdint>

#include "trainers/gbdt/hyperparameters/hyperparameters.h"

namespace winnow::gbdt {

// `count` neighbouring rows of one class.
struct GradientRows {
  const float* margin;
  const float* label;
  float* gradient;
  float* hessian;
  int64_t count;
};

// Derivatives of XGBoost 1.7.4's losses (reg:quantileerror: of 2.0) with one prediction per row, without the
// rows' weights. No value exceeds 1e25 in magnitude unless a label or margin does, so that weights up to 1e12
// keep them finite. REQUIRES: an objective that is neither multi nor ranking.
void RowGradients(const GbdtParameters& parameters, const GradientRows& rows);

// Gradients of multi:softprob, class by class: margin, gradient and hessian point to class 0; those of class
// k are k * stride further. Hessians are hessian_factor * p * (1 - p) of the probability p.
void SoftmaxGradients(const GradientRows& rows, int64_t stride, int classes, float hessian_factor);

// value[i] *= by[i]
void MultiplyRows(const float* by, int64_t count, float* value);

// Computes out[i] from in[i], which may be the same.
void SigmoidRows(const float* in, int64_t count, float* out);
void ExpRows(const float* in, int64_t count, float* out);

// Computes probabilities from margins, class by class as above.
void SoftmaxRows(const float* margin, int64_t stride, int classes, int64_t count, float* out,
                 int64_t out_stride);

}  // namespace winnow::gbdt

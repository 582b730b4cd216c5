#pragma once

#include <cstdint>

#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// A loss with all its parameters, except the rows' outputs and labels.
struct LossRule {
  LossKind kind = LossKind::kCrossEntropy;
  int outputs = 1;           // 1 for all but kCrossEntropy
  float smoothing = 0;       // the label has 1 - smoothing, and each class smoothing / classes (kLogistic has
                             // two classes)
  float huber_delta = 1;     // residues up to it count as squares
  float teacher_weight = 0;  // with a teacher: its weight in the loss, see distillation.h
  float temperature = 1;
};

// Returns the rule of these hyperparameters; `taught`: rows have a teacher's outputs.
LossRule MakeLossRule(const MlpParameters& parameters, int outputs, bool taught);

// One batch's rows, or a part of them. Row r has its outputs at outputs + r * stride, its teacher's at
// teacher + r * stride, and its delta at delta + r * stride (which may be outputs itself). Strides are
// multiples of 16 and at least rule.outputs. Floats after the outputs, up to a multiple of 16, are read and
// may have any value; in delta they become 0.
struct LossBatch {
  int64_t rows = 0;
  int64_t stride = 16;
  const float* outputs = nullptr;
  const float* label = nullptr;    // [rows]: a class number, 0 or 1, or a target
  const float* weight = nullptr;   // [rows], factor of deltas; null: 1 each
  const float* teacher = nullptr;  // null: none
  float scale = 1;                 // further factor of deltas, such as 1 / rows
  // Results; each may be null if it is not wanted.
  float* delta = nullptr;  // d(loss) / d(outputs) * weight * scale
  float* loss = nullptr;   // [rows], not weighted; NaN or infinite if an output is not finite
  // [rows], for classes: the number of outputs that are larger than the label's, or equal and before it: 0 if
  // the row is right, below K if its label is in the top K. For kLogistic 0 if the output is above 0 exactly
  // when the label is 1, otherwise 1. For others 0.
  int32_t* before = nullptr;
};

// Computes PyTorch's CrossEntropyLoss(label_smoothing), BCEWithLogitsLoss, MSELoss and HuberLoss for each
// row. The same bits on every machine and for any division of rows into batches. Allocates nothing.
void LossRows(const LossRule& rule, const LossBatch& batch);

}  // namespace winnow::mlp

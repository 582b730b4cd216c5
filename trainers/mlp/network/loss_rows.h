#pragma once

#include <cstdint>

#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// A loss with all that it depends on, of which the rows' outputs and labels are not part.
struct LossRule {
  LossKind kind = LossKind::kCrossEntropy;
  int outputs = 1;           // 1 for all but kCrossEntropy
  float smoothing = 0;       // the label's share is 1 - smoothing, and smoothing / classes is everyone's (of
                             // kLogistic there are two classes)
  float huber_delta = 1;     // residues up to it count as squares
  float teacher_weight = 0;  // with a teacher: its share of the loss, see distillation.h
  float temperature = 1;
};

// The rule of these hyperparameters; `taught`: rows come with a teacher's outputs.
LossRule MakeLossRule(const MlpParameters& parameters, int outputs, bool taught);

// One batch's rows, or a part of them. Row r's outputs stand at outputs + r * stride, its teacher's at
// teacher + r * stride, and its delta goes to delta + r * stride (which may be outputs itself). Strides are
// multiples of 16 and at least rule.outputs. Floats beyond the outputs, up to a multiple of 16, are read and
// may be anything; in delta they become 0.
struct LossBatch {
  int64_t rows = 0;
  int64_t stride = 16;
  const float* outputs = nullptr;
  const float* label = nullptr;    // [rows]: a class's number, 0 or 1, or a target
  const float* weight = nullptr;   // [rows], by which deltas are multiplied; null: 1 each
  const float* teacher = nullptr;  // null: none
  float scale = 1;                 // deltas are multiplied by it too, as 1 / rows
  // Results; each may be null where it is not wanted.
  float* delta = nullptr;  // d(loss) / d(outputs) * weight * scale
  float* loss = nullptr;   // [rows], not weighted; NaN or infinite where an output is not finite
  // [rows], of classes: outputs that are larger than the label's, or as large and stand before it: 0 where
  // the row is right, below K where its label is in the top K. Of kLogistic 0 where the output is above 0
  // just as the label is 1, else 1. Of others 0.
  int32_t* before = nullptr;
};

// Losses as PyTorch's CrossEntropyLoss(label_smoothing), BCEWithLogitsLoss, MSELoss and HuberLoss have them
// for one row. The same bits on every machine and however rows are cut into batches. Allocates nothing.
void LossRows(const LossRule& rule, const LossBatch& batch);

}  // namespace winnow::mlp

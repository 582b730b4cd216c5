#pragma once

#include "absl/status/status.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/network/loss_rows.h"

namespace winnow::mlp {

// Knowledge distillation (Hinton, Vinyals and Dean 2015, section 2): of a row with the teacher's outputs t,
//   loss = (1 - w) * label's loss + w * T^2 * KL(softmax(t / T) || softmax(outputs / T)),
// so that gradients keep their size whatever T. Of kLogistic the two classes are softmax's; of kSquared and
// kHuber the teacher's output is a second target, with the same loss, and T has no part.

// OK if a teacher with this loss and so many inputs and outputs can teach a network of `parameters`;
// InvalidArgument otherwise: "teacher: ...".
absl::Status CheckTeacher(const MlpParameters& parameters, int inputs, int outputs, LossKind teacher_loss,
                          int teacher_inputs, int teacher_outputs);

// LossRows of classes that have a teacher; callers use LossRows. REQUIRES: rule.kind is kCrossEntropy;
// batch.teacher is there.
void DistilledRows(const LossRule& rule, const LossBatch& batch);

}  // namespace winnow::mlp

#pragma once

#include "absl/status/status.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/network/loss_rows.h"

namespace winnow::mlp {

// Knowledge distillation (Hinton, Vinyals and Dean 2015, section 2). With the teacher's outputs t, a row's
//   loss = (1 - w) * label's loss + w * T^2 * KL(softmax(t / T) || softmax(outputs / T)),
// so that gradients keep their size for any T. For kLogistic, softmax is over two classes. For kSquared and
// kHuber the teacher's output is a second target with the same loss, and T has no effect.

// OK if a teacher with this loss and these inputs and outputs can teach a network of `parameters`; otherwise
// InvalidArgument: "teacher: ...".
absl::Status CheckTeacher(const MlpParameters& parameters, int inputs, int outputs, LossKind teacher_loss,
                          int teacher_inputs, int teacher_outputs);

// LossRows for classes with a teacher; call LossRows instead. REQUIRES: rule.kind is kCrossEntropy;
// batch.teacher is set.
void DistilledRows(const LossRule& rule, const LossBatch& batch);

}  // namespace winnow::mlp

#pragma once

#include <cstddef>
#include <cstdint>

#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/network/network.h"

namespace winnow::mlp {

// One step's rule, with all values that depend on the step number.
struct StepRule {
  OptimizerKind kind = OptimizerKind::kSgd;
  float learning_rate = 0;
  float momentum = 0;
  bool nesterov = false;
  float beta1 = 0, beta2 = 0, epsilon = 0;
  float correction1 = 1, correction2 = 1;  // 1 / (1 - beta^t)
  float weight_decay = 0;
  float gradient_scale = 1;  // from clipping, or from staleness
};

// Returns the rule of step `step` (from 0). `schedule_step`: the position of the learning rate's schedule, in
// steps; differs if some batches are left out.
StepRule RuleAt(const MlpParameters& parameters, int64_t step, int64_t schedule_step, int64_t epoch_steps,
                int ranks);

int SlotCount(OptimizerKind kind);  // arrays of optimizer state, each as long as the parameters; SGD has one,
                                    // the momentum

// Updates `count` parameters by their gradients; `decays`: weight decay applies to them. SGD as PyTorch's: g
// += decay * w; v = momentum * v + g; w -= rate * (nesterov ? g + momentum * v : v). Adam: decay is added to
// g; AdamW: w -= rate * decay * w separately (Loshchilov and Hutter 2019). slot1 is null for SGD. The same
// bits for any division of the parameters. REQUIRES: not LAMB; count is a multiple of 16.
void UpdateRun(const StepRule& rule, bool decays, float* parameters, float* slot0, float* slot1,
               const float* gradient, std::size_t count);

// First pass of LAMB (You et al. 2020, algorithm 2), which needs the norms of a whole tensor between two
// passes: updates the slots, replaces the gradient by the direction u = m / (sqrt(v) + epsilon) + decay * w.
// REQUIRES as above.
void LambDirection(const StepRule& rule, bool decays, const float* parameters, float* slot0, float* slot1,
                   float* gradient, std::size_t count);
// Second pass: w -= rate * trust * u, trust = |w| / |u| (1 if one of them is 0).
void LambApply(const StepRule& rule, float trust, float* parameters, const float* direction,
               std::size_t count);

// Computes sums of squares of runs of 1,024 floats (the last may be shorter), in double, in a fixed order,
// from which norms over several ranks are combined. sums has (count + 1023) / 1024 entries.
constexpr std::size_t kNormRun = 1024;
void SquareSums(const float* values, std::size_t count, double* sums);

}  // namespace winnow::mlp

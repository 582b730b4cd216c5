#include "trainers/mlp/network/optimizer.h"

#include <array>
#include <cmath>

#include "tests/catch.h"

namespace winnow::mlp {
namespace {

constexpr std::size_t kCount = 16;
using Numbers = std::array<float, kCount>;

Numbers All(float value) {
  Numbers numbers;
  numbers.fill(value);
  return numbers;
}

TEST_CASE("Optimizer: moments without gradients end as 0, not as denormal numbers", "[mlp]") {
  constexpr int kSteps = 100'000;
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW, OptimizerKind::kLamb}) {
    for (const bool nesterov : {false, true}) {
      MlpParameters p;
      p.optimizer = kind;
      p.momentum = 0.9;
      p.nesterov = nesterov;
      Numbers weights = All(1), first = All(1), second = All(1);
      int denormal = 0;
      for (int step = 0; step < kSteps; ++step) {
        const StepRule rule = RuleAt(p, step, step, kSteps, 1);
        Numbers gradient = All(0);
        if (kind == OptimizerKind::kLamb)
          LambDirection(rule, false, weights.data(), first.data(), second.data(), gradient.data(), kCount);
        else
          UpdateRun(rule, false, weights.data(), first.data(), second.data(), gradient.data(), kCount);
        denormal += std::fpclassify(first[0]) == FP_SUBNORMAL || std::fpclassify(second[0]) == FP_SUBNORMAL;
      }
      INFO(static_cast<int>(kind) << " nesterov " << nesterov);
      CHECK(denormal == 0);
      CHECK(first == All(0));
      if (SlotCount(kind) == 2) CHECK(second == All(0));
    }
  }
}

TEST_CASE("Optimizer: a second moment that is tiny for a tiny gradient stays", "[mlp]") {
  MlpParameters p;
  p.optimizer = OptimizerKind::kAdam;
  Numbers weights = All(1), first = All(0), second = All(0);
  const Numbers gradient = All(1e-20f);  // its square is denormal
  UpdateRun(RuleAt(p, 0, 0, 1, 1), false, weights.data(), first.data(), second.data(), gradient.data(),
            kCount);
  CHECK(first[0] > 0);
  CHECK(second[0] > 0);
}

}  // namespace
}  // namespace winnow::mlp

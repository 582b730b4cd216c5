#pragma once

#include <vector>

namespace winnow::mlp {

// A stage's pass over one micro-batch: forward, or backward through inputs.
struct StagePass {
  bool forward = true;
  int micro_batch = 0;
  bool operator==(const StagePass&) const = default;
};

// Returns the order in which stage `stage` of `stages` processes a batch's micro-batches: "one forward, one
// backward" (Narayanan et al. 2019, PipeDream; 2021, section 2.2.1). Forward passes until the first
// micro-batch can come back from the last stage, then alternating, then the remaining backward passes. A
// stage has at most stages - stage unfinished micro-batches.
std::vector<StagePass> OneForwardOneBackward(int stage, int stages, int micro_batches);

}  // namespace winnow::mlp

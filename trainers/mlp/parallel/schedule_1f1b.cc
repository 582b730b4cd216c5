#include "trainers/mlp/parallel/schedule_1f1b.h"

#include <algorithm>

namespace winnow::mlp {

std::vector<StagePass> OneForwardOneBackward(int stage, int stages, int micro_batches) {
  std::vector<StagePass> passes;
  const int ahead = std::min(stages - 1 - stage, micro_batches);
  for (int forward = 0; forward < ahead; ++forward) passes.push_back({true, forward});
  for (int backward = 0; backward < micro_batches; ++backward) {
    if (backward + ahead < micro_batches) passes.push_back({true, backward + ahead});
    passes.push_back({false, backward});
  }
  return passes;
}

}  // namespace winnow::mlp

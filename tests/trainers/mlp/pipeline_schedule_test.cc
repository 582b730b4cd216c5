#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "tests/catch.h"
#include "trainers/mlp/parallel/pipeline_step.h"
#include "trainers/mlp/parallel/pipeline_trainer.h"

namespace winnow::mlp {
namespace {

// Returns when the last pass of all stages ends, if each takes one unit of time and begins when its stage is
// free and its neighbour has sent what it needs; absent if some stage waits for ever.
std::optional<int> TimeOf(int stages, int micro_batches) {
  std::vector<std::vector<StagePass>> left;
  for (int stage = 0; stage < stages; ++stage) {
    left.push_back(OneForwardOneBackward(stage, stages, micro_batches));
    std::reverse(left.back().begin(), left.back().end());
  }
  std::map<std::pair<int, int>, int> forward_ends, backward_ends;  // by stage and micro-batch
  std::vector<int> free(static_cast<std::size_t>(stages), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (int stage = 0; stage < stages; ++stage) {
      if (left[stage].empty()) continue;
      const auto [forward, m] = left[stage].back();
      const int neighbour = forward ? stage - 1 : stage + 1;
      auto& ends = forward ? forward_ends : backward_ends;
      int begin = free[stage];
      if (neighbour >= 0 && neighbour < stages) {
        if (ends.count({neighbour, m}) == 0) continue;
        begin = std::max(begin, ends[{neighbour, m}]);
      }
      if (!forward && forward_ends.count({stage, m}) == 0) return std::nullopt;
      ends[{stage, m}] = free[stage] = begin + 1;
      left[stage].pop_back();
      moved = true;
    }
  }
  if (backward_ends.size() != static_cast<std::size_t>(stages * micro_batches)) return std::nullopt;
  return *std::max_element(free.begin(), free.end());
}

TEST_CASE("OneForwardOneBackward: all passes are done, with the bubble of stages - 1 micro-batches",
          "[mlp]") {
  for (const int stages : {1, 2, 3, 4, 7}) {
    for (const int micro_batches : {1, 2, 3, 4, 12}) {
      CAPTURE(stages, micro_batches);
      CHECK(TimeOf(stages, micro_batches) == 2 * (micro_batches + stages - 1));
    }
  }
}

TEST_CASE("OneForwardOneBackward: begins at most stages - stage that are not finished", "[mlp]") {
  constexpr int kStages = 4, kMicroBatches = 12;
  for (int stage = 0; stage < kStages; ++stage) {
    int begun = 0, most = 0;
    for (const StagePass& pass : OneForwardOneBackward(stage, kStages, kMicroBatches)) {
      begun += pass.forward ? 1 : -1;
      most = std::max(most, begun);
    }
    CHECK(most == kStages - stage);
  }
}

TEST_CASE("SplitLayers: the costliest stage costs as little as it can", "[mlp]") {
  CHECK(SplitLayers(std::vector<double>{5, 1, 1, 1, 1}, 2) == std::vector<int>{0, 1, 5});
  CHECK(SplitLayers(std::vector<double>{1, 2, 3, 4, 5, 6}, 3) == std::vector<int>{0, 3, 5, 6});
  CHECK(SplitLayers(std::vector<double>{1, 1, 9}, 3) == std::vector<int>{0, 1, 2, 3});
  CHECK(SplitLayers(std::vector<double>{0, 0, 0}, 2).size() == 3);
  CHECK(SplitLayers(std::vector<double>{4}, 1) == std::vector<int>{0, 1});
}

}  // namespace
}  // namespace winnow::mlp

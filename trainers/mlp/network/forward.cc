#include "trainers/mlp/network/forward.h"

#include <algorithm>
#include <numeric>

#include "trainers/mlp/network/batch_norm.h"
#include "trainers/mlp/network/kernels.h"
#include "trainers/mlp/network/layer_stack.h"

namespace winnow::mlp {
namespace {

constexpr int64_t kRowsAtOnce = 128;

}  // namespace

std::vector<float> ForwardRows(const Network& network, const MlpParameters& parameters,
                               const NetworkState& state, const DenseData& data, int64_t begin, int64_t end,
                               Crew* crew) {
  const std::size_t outputs = static_cast<std::size_t>(network.outputs());
  std::vector<float> results(static_cast<std::size_t>(end - begin) * outputs);
  MlpParameters plain = parameters;
  plain.precision = Precision::kF32;
  const int layers = static_cast<int>(network.layers.size());
  crew->Run([&](int thread) {
    const Part part = PartOf(end - begin, thread, crew->threads(), kRowsAtOnce);
    if (part.begin >= part.end) return;
    const int64_t capacity = std::min(kRowsAtOnce, part.end - part.begin);
    LayerStack stack(network, plain, ChosenKernels(), 0, layers, capacity, false);
    std::vector<int64_t> rows(static_cast<std::size_t>(capacity));
    for (int64_t at = part.begin; at < part.end; at += kRowsAtOnce) {
      const int64_t count = std::min(kRowsAtOnce, part.end - at);
      std::iota(rows.begin(), rows.begin() + count, begin + at);
      stack.Load(data, rows, Pass(), 0, count);
      for (int l = 0; l < layers; ++l) {
        stack.Linear(state.parameters.data(), l, 0, count);
        if (network.layers[l].batch_norm)
          NormaliseByRunning(network.layers[l], state.parameters.data(), state.statistics, 0, count,
                             &stack.linear(l));
        stack.Activated(l, Pass(), 0, count);
      }
      for (int64_t r = 0; r < count; ++r)
        std::copy_n(stack.outputs().row(r), outputs,
                    results.data() + static_cast<std::size_t>(at + r) * outputs);
    }
  });
  return results;
}

}  // namespace winnow::mlp

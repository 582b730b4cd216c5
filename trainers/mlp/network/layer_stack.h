#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "trainers/mlp/data/dense_data.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/kernels.h"
#include "trainers/mlp/network/network.h"

namespace winnow::mlp {

// Memory aligned to a cache line.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, kLine); }
  template <typename U>
  bool operator==(const CacheLineAllocator<U>&) const {
    return true;
  }
};

template <typename T>
using Aligned = std::vector<T, CacheLineAllocator<T>>;

// Rows of floats, of which the first `width` are used; the rest are zeros.
struct Matrix {
  Aligned<float> values;
  std::size_t stride = 0;
  int width = 0;

  void Resize(int64_t rows, int columns);
  float* row(int64_t r) { return values.data() + static_cast<std::size_t>(r) * stride; }
  const float* row(int64_t r) const { return values.data() + static_cast<std::size_t>(r) * stride; }
};

// The position of the current rows, from which dropout is drawn. Local row r is row first + r of the step's
// batch.
struct Pass {
  bool training = false;
  int64_t step = 0;
  int64_t first = 0;
};

// A part of one layer's weights whose gradient is computed at once: inputs [first_input, first_input +
// inputs) of panels [first_panel, first_panel + panels). first_input is even.
struct GradientTask {
  int layer = 0;
  int first_input = 0, inputs = 0;
  int first_panel = 0, panels = 0;
};

// The layers [first, last) of a network for some rows: inputs, products, gradients. It neither owns the
// parameters nor determines the order of operations; the caller does. Functions on disjoint rows, or on
// disjoint parts of weights, may run concurrently; rows are given as [begin, end) with begin even.
class LayerStack {
 public:
  static constexpr int kTaskInputs = 56;
  static constexpr int kTaskPanels = 8;

  // For up to `capacity` rows. `learns`: gradients will be computed.
  LayerStack(const Network& network, const MlpParameters& parameters, const Kernels& kernels, int first,
             int last, int64_t capacity, bool learns);

  int first() const { return first_; }
  int last() const { return last_; }
  const Layer& layer(int l) const { return network_.layers[l]; }
  int64_t capacity() const { return capacity_; }

  // --- Weights in other layouts than the flat array's: made after parameters have changed, before use. For
  // inputs [begin, begin + count) of one panel; begin even. Only bf16 needs it.
  void RefreshPanel(const float* parameters, int layer, int panel, int first_input, int inputs);
  void RefreshLayer(const float* parameters, int layer);
  // For 16 inputs: needed for gradients with respect to inputs. REQUIRES, also for bf16: parameters are
  // final.
  int TransposedPanels(int layer) const { return (network_.layers[layer].inputs + kPanel - 1) / kPanel; }
  void RefreshTransposed(const float* parameters, int layer, int input_panel);

  // --- Rows.
  // Loads the network's inputs: row rows[r] of `data` becomes local row r, for r in [begin, end). REQUIRES:
  // first() == 0.
  void Load(const DenseData& data, std::span<const int64_t> rows, const Pass& pass, int64_t begin,
            int64_t end);
  // For a layer that is not the network's first: accepts another stack's outputs, written to inputs(first())
  // before.
  void TakeInputs(int64_t begin, int64_t end);
  // inputs(l) * weights + bias, into linear(l).
  void Linear(const float* parameters, int l, int64_t begin, int64_t end);
  // Applies activation and dropout to linear(l), which batch norm may have changed, of hidden layers; the
  // result goes to inputs(l + 1), or for the stack's last layer to outputs().
  void Activated(int l, const Pass& pass, int64_t begin, int64_t end);
  // Runs all layers in order. REQUIRES: no batch norm in training.
  void Forward(const float* parameters, const Pass& pass, int64_t begin, int64_t end);

  // delta(l) * weights^T, into the gradient of inputs(l) (delta(l - 1), or input_delta() for the stack's
  // first layer). REQUIRES: l > 0.
  void Back(int l, int64_t begin, int64_t end);
  // Converts that to the gradient of linear(l), through dropout and activation.
  void Deactivated(int l, const Pass& pass, int64_t begin, int64_t end);
  // From delta(last() - 1), the gradient of linear(): runs all layers. REQUIRES: no batch norm.
  void Backward(const Pass& pass, int64_t begin, int64_t end);

  Matrix& inputs(int l) { return stages_[l - first_].input; }
  // Products before the activation; for the network's last layer its outputs.
  Matrix& linear(int l);
  Matrix& outputs() { return outputs_; }
  Matrix& delta(int l) { return stages_[l - first_].delta; }
  Matrix& input_delta() { return input_delta_; }

  // --- Gradients of weights and biases.
  float LargestInput(int l, int64_t begin, int64_t end) const;
  // An upper bound of the network's inputs: LargestInput(0) then returns it without reading them.
  void BoundNetworkInputs(float bound) { input_bound_ = bound; }
  float LargestDelta(int l, int64_t begin, int64_t end) const;
  // delta(l) *= 2^exponent, and the layouts of it that products need.
  void ScaleDelta(int l, int exponent, int64_t begin, int64_t end);
  // An odd number of rows ends with a pair of which one is 0. Call it before ScaleDelta for the same rows.
  const std::vector<GradientTask>& tasks() const { return tasks_; }
  // counts[p * panel_stride + 16 i + c], as in kernels.h, for the rows in shards [begins[s], begins[s + 1]).
  void WeightCounts(const GradientTask& task, std::span<const int> begins, int32_t* counts,
                    std::size_t panel_stride) const;
  // counts[layer.padded()]
  void BiasCounts(int l, std::span<const int> begins, int32_t* counts) const;

 private:
  struct Stage {
    Matrix input;   // of this layer, after the activation before it
    Matrix linear;  // if the activation must not overwrite it
    Matrix delta;   // gradient of linear
    Aligned<uint32_t> input_pairs, input_row_pairs, delta_pairs, delta_row_pairs;  // bf16
    std::size_t input_pair_stride = 0, delta_pair_stride = 0;
    Aligned<uint32_t> panels;            // bf16 weights: [panel][pair of inputs][16]
    Aligned<float> transposed;           // [panel of inputs][output][16]
    Aligned<uint32_t> transposed_pairs;  // [panel of inputs][pair of outputs][16]
  };

  bool bf16() const { return parameters_.precision == Precision::kBf16; }
  bool KeepsLinear(int l) const;
  void PackInputs(int l, int64_t begin, int64_t end);
  void Drop(int l, const Pass& pass, int64_t begin, int64_t end, Matrix* values, double rate) const;

  const Network& network_;
  const MlpParameters& parameters_;
  const Kernels& kernels_;
  const int first_, last_;
  const int64_t capacity_;
  const bool learns_;
  std::vector<Stage> stages_;
  Matrix outputs_, input_delta_;
  std::vector<GradientTask> tasks_;
  float input_bound_ = 0;  // 0: unknown
};

// Returns the last layer's outputs for rows [begin, end) of `data`, before softmax or logistic: [row -
// begin][output], in evaluation mode: no dropout, running statistics. Always f32, whatever
// parameters.precision. The same bits for any division of rows and any number of threads.
std::vector<float> ForwardRows(const Network& network, const MlpParameters& parameters,
                               const NetworkState& state, const DenseData& data, int64_t begin, int64_t end,
                               Crew* crew);

}  // namespace winnow::mlp

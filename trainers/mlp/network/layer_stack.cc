#include "trainers/mlp/network/layer_stack.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trainers/mlp/network/batch_norm.h"
#include "trainers/mlp/network/row_math.h"

namespace winnow::mlp {
namespace {

// An odd number of cache lines between rows avoids conflicts in the cache's sets.
std::size_t StrideOf(int width) {
  std::size_t lines = static_cast<std::size_t>(PaddedTo(width, kPanel) / kPanel);
  if (lines % 2 == 0) ++lines;
  return lines * kPanel;
}

constexpr int kRowsAhead = 4;
constexpr int kNetworkInputs = -1;  // instead of a layer's number, for dropout
constexpr int kCacheLine = 64;

constexpr int64_t kRowsAtOnce = 128;

}  // namespace

void Matrix::Resize(int64_t rows, int columns) {
  width = columns;
  stride = StrideOf(columns);
  values.assign(static_cast<std::size_t>(rows) * stride, 0.0f);
}

LayerStack::LayerStack(const Network& network, const MlpParameters& parameters, const Kernels& kernels,
                       int first, int last, int64_t capacity, bool learns)
    : network_(network),
      parameters_(parameters),
      kernels_(kernels),
      first_(first),
      last_(last),
      capacity_(capacity + capacity % 2),
      learns_(learns),
      stages_(static_cast<std::size_t>(last - first)) {
  for (int l = first; l < last; ++l) {
    const Layer& layer = network.layers[l];
    Stage& stage = stages_[l - first];
    stage.input.Resize(capacity_, layer.inputs);
    if (KeepsLinear(l)) stage.linear.Resize(capacity_, layer.outputs);
    if (learns) stage.delta.Resize(capacity_, layer.outputs);
    if (bf16()) {
      const std::size_t pairs = static_cast<std::size_t>(capacity_ / 2);
      stage.input_pair_stride = stage.input.stride / 2;
      stage.input_pairs.assign(static_cast<std::size_t>(capacity_) * stage.input_pair_stride, 0);
      stage.panels.assign(static_cast<std::size_t>(layer.padded()) * ((layer.inputs + 1) / 2), 0);
      if (learns) {
        stage.input_row_pairs.assign(pairs * stage.input.stride, 0);
        stage.delta_pair_stride = stage.delta.stride / 2;
        stage.delta_pairs.assign(static_cast<std::size_t>(capacity_) * stage.delta_pair_stride, 0);
        stage.delta_row_pairs.assign(pairs * stage.delta.stride, 0);
      }
    }
    if (!learns) continue;
    if (l > 0) {
      const std::size_t size = static_cast<std::size_t>(TransposedPanels(l)) * kPanel * layer.padded();
      if (bf16())
        stage.transposed_pairs.assign(size / 2, 0);
      else
        stage.transposed.assign(size, 0.0f);
    }
    for (int input = 0; input < layer.inputs; input += kTaskInputs) {
      for (int panel = 0; panel < layer.padded() / kPanel; panel += kTaskPanels)
        tasks_.push_back({l, input, std::min(kTaskInputs, layer.inputs - input), panel,
                          std::min(kTaskPanels, layer.padded() / kPanel - panel)});
    }
  }
  outputs_.Resize(capacity_, network.layers[last - 1].outputs);
  if (learns && first > 0) input_delta_.Resize(capacity_, network.layers[first].inputs);
}

bool LayerStack::KeepsLinear(int l) const {
  const Layer& layer = network_.layers[l];
  return layer.activated && learns_ && (parameters_.activation == Activation::kGelu || layer.batch_norm);
}

Matrix& LayerStack::linear(int l) {
  if (KeepsLinear(l)) return stages_[l - first_].linear;
  return l + 1 < last_ ? stages_[l + 1 - first_].input : outputs_;
}

void LayerStack::RefreshPanel(const float* parameters, int l, int panel, int first_input, int inputs) {
  if (!bf16()) return;
  const Layer& layer = network_.layers[l];
  const float* weights = parameters + layer.WeightAt(first_input, panel * kPanel);
  uint32_t* pairs = stages_[l - first_].panels.data() +
                    (static_cast<std::size_t>(panel) * ((layer.inputs + 1) / 2) + first_input / 2) * kPanel;
  for (int i = 0; i < inputs; i += 2) {
    const float* lower = weights + static_cast<std::size_t>(i) * kPanel;
    PackBf16Pairs(lower, i + 1 < inputs ? lower + kPanel : nullptr, 1.0f, kPanel,
                  pairs + static_cast<std::size_t>(i) / 2 * kPanel);
  }
}

void LayerStack::RefreshLayer(const float* parameters, int l) {
  const Layer& layer = network_.layers[l];
  for (int panel = 0; panel < layer.padded() / kPanel; ++panel)
    RefreshPanel(parameters, l, panel, 0, layer.inputs);
}

void LayerStack::RefreshTransposed(const float* parameters, int l, int input_panel) {
  const Layer& layer = network_.layers[l];
  Stage& stage = stages_[l - first_];
  const int first_input = input_panel * kPanel, rows = std::min(kPanel, layer.inputs - first_input);
  const std::size_t size = static_cast<std::size_t>(layer.padded()) * kPanel;
  for (int panel = 0; panel < layer.padded() / kPanel; ++panel) {
    const float* block = parameters + layer.WeightAt(first_input, panel * kPanel);
    if (!bf16()) {
      TransposeBlock(block, rows, stage.transposed.data() + input_panel * size + panel * kPanel * kPanel);
      continue;
    }
    alignas(kCacheLine) float turned[kPanel * kPanel];
    TransposeBlock(block, rows, turned);
    uint32_t* pairs = stage.transposed_pairs.data() + (input_panel * size + panel * kPanel * kPanel) / 2;
    for (int output = 0; output < kPanel; output += 2)
      PackBf16Pairs(turned + output * kPanel, turned + (output + 1) * kPanel, 1.0f, kPanel,
                    pairs + output / 2 * kPanel);
  }
}

void LayerStack::Load(const DenseData& data, std::span<const int64_t> rows, const Pass& pass, int64_t begin,
                      int64_t end) {
  Matrix& input = inputs(0);
  const std::size_t features = static_cast<std::size_t>(data.features);
  for (int64_t r = begin; r < end; ++r) {
    const std::size_t at = static_cast<std::size_t>(rows[r]) * features;
    if (!data.bytes.empty()) {
      if (r + kRowsAhead < end) {
        const uint8_t* ahead = data.bytes.data() + static_cast<std::size_t>(rows[r + kRowsAhead]) * features;
        for (std::size_t i = 0; i < features; i += kCacheLine) __builtin_prefetch(ahead + i);
      }
      BytesToFloats(data.bytes.data() + at, features, data.byte_scale, data.byte_shift, input.row(r));
    } else {
      std::copy_n(data.values.data() + at, features, input.row(r));
    }
  }
  Drop(kNetworkInputs, pass, begin, end, &input, parameters_.input_dropout);
  PackInputs(0, begin, end);
}

void LayerStack::TakeInputs(int64_t begin, int64_t end) { PackInputs(first_, begin, end); }

// An odd last row is paired with zeros.
void LayerStack::PackInputs(int l, int64_t begin, int64_t end) {
  if (!bf16()) return;
  Stage& stage = stages_[l - first_];
  const std::size_t count = static_cast<std::size_t>(PaddedTo(stage.input.width, kPanel));
  for (int64_t r = begin; r < end; ++r)
    PackBf16(stage.input.row(r), count,
             stage.input_pairs.data() + static_cast<std::size_t>(r) * stage.input_pair_stride);
  if (!learns_) return;
  for (int64_t r = begin; r < end; r += 2)
    PackBf16Pairs(stage.input.row(r), r + 1 < end ? stage.input.row(r + 1) : nullptr, 1.0f, count,
                  stage.input_row_pairs.data() + static_cast<std::size_t>(r / 2) * stage.input.stride);
}

void LayerStack::Drop(int l, const Pass& pass, int64_t begin, int64_t end, Matrix* values,
                      double rate) const {
  if (!pass.training || rate <= 0) return;
  for (int64_t r = begin; r < end; ++r) {
    const DropoutRow row{DropoutKey(parameters_.seed, pass.step, l, pass.first + r),
                         static_cast<float>(rate)};
    mlp::Drop(row, static_cast<std::size_t>(values->width), values->row(r));
  }
}

void LayerStack::Linear(const float* parameters, int l, int64_t begin, int64_t end) {
  const Layer& layer = network_.layers[l];
  Stage& stage = stages_[l - first_];
  Matrix& y = linear(l);
  const int rows = static_cast<int>(end - begin), panels = layer.padded() / kPanel;
  if (bf16())
    kernels_.product_bf16(
        stage.input_pairs.data() + static_cast<std::size_t>(begin) * stage.input_pair_stride,
        stage.input_pair_stride, rows, (layer.inputs + 1) / 2, stage.panels.data(), panels,
        parameters + layer.bias, y.row(begin), y.stride);
  else
    kernels_.product(stage.input.row(begin), stage.input.stride, rows, layer.inputs,
                     parameters + layer.weights, panels, parameters + layer.bias, y.row(begin), y.stride);
}

void LayerStack::Activated(int l, const Pass& pass, int64_t begin, int64_t end) {
  if (!network_.layers[l].activated) return;
  Matrix& from = linear(l);
  Matrix& to = l + 1 < last_ ? inputs(l + 1) : outputs_;
  const std::size_t count = static_cast<std::size_t>(PaddedTo(from.width, kPanel));
  for (int64_t r = begin; r < end; ++r)
    Activate(parameters_.activation, static_cast<float>(parameters_.leaky_slope), from.row(r), count,
             to.row(r));
  Drop(l, pass, begin, end, &to, parameters_.dropout);
  if (l + 1 < last_) PackInputs(l + 1, begin, end);
}

void LayerStack::Forward(const float* parameters, const Pass& pass, int64_t begin, int64_t end) {
  for (int l = first_; l < last_; ++l) {
    Linear(parameters, l, begin, end);
    Activated(l, pass, begin, end);
  }
}

void LayerStack::Back(int l, int64_t begin, int64_t end) {
  const Layer& layer = network_.layers[l];
  Stage& stage = stages_[l - first_];
  Matrix& y = l > first_ ? delta(l - 1) : input_delta_;
  const int rows = static_cast<int>(end - begin);
  if (!bf16())
    return kernels_.product(stage.delta.row(begin), stage.delta.stride, rows, layer.padded(),
                            stage.transposed.data(), TransposedPanels(l), nullptr, y.row(begin), y.stride);
  for (int64_t r = begin; r < end; ++r)
    PackBf16(stage.delta.row(r), static_cast<std::size_t>(layer.padded()),
             stage.delta_pairs.data() + static_cast<std::size_t>(r) * stage.delta_pair_stride);
  kernels_.product_bf16(stage.delta_pairs.data() + static_cast<std::size_t>(begin) * stage.delta_pair_stride,
                        stage.delta_pair_stride, rows, layer.padded() / 2, stage.transposed_pairs.data(),
                        TransposedPanels(l), nullptr, y.row(begin), y.stride);
}

void LayerStack::Deactivated(int l, const Pass& pass, int64_t begin, int64_t end) {
  if (!network_.layers[l].activated) return;
  Matrix& d = delta(l);
  // A dropped unit has a gradient of 0, whatever the activation's; a kept one was scaled, which must not
  // affect tanh's slope.
  const bool dropped = pass.training && parameters_.dropout > 0;
  Drop(l, pass, begin, end, &d, parameters_.dropout);
  Matrix& a = l + 1 < last_ ? inputs(l + 1) : outputs_;
  const std::size_t count = static_cast<std::size_t>(PaddedTo(d.width, kPanel));
  const float keep = dropped ? 1.0f - static_cast<float>(parameters_.dropout) : 1.0f;
  Aligned<float> undropped;
  for (int64_t r = begin; r < end; ++r) {
    const float* activated = a.row(r);
    if (dropped && parameters_.activation == Activation::kTanh) {
      undropped.assign(activated, activated + count);
      Scale(keep, count, undropped.data());
      activated = undropped.data();
    }
    ActivationGradient(parameters_.activation, static_cast<float>(parameters_.leaky_slope),
                       KeepsLinear(l) ? linear(l).row(r) : nullptr, activated, count, d.row(r));
  }
}

void LayerStack::Backward(const Pass& pass, int64_t begin, int64_t end) {
  for (int l = last_ - 1; l > 0 && l >= first_; --l) {
    Back(l, begin, end);
    if (l > first_) Deactivated(l - 1, pass, begin, end);
  }
}

float LayerStack::LargestInput(int l, int64_t begin, int64_t end) const {
  if (l == 0 && input_bound_ > 0) return input_bound_;
  const Matrix& input = stages_[l - first_].input;
  float largest = 0;
  for (int64_t r = begin; r < end; ++r)
    largest = std::max(largest, LargestMagnitude(input.row(r), static_cast<std::size_t>(input.width)));
  return largest;
}

float LayerStack::LargestDelta(int l, int64_t begin, int64_t end) const {
  const Matrix& d = stages_[l - first_].delta;
  float largest = 0;
  for (int64_t r = begin; r < end; ++r)
    largest = std::max(largest, LargestMagnitude(d.row(r), static_cast<std::size_t>(d.width)));
  return largest;
}

void LayerStack::ScaleDelta(int l, int exponent, int64_t begin, int64_t end) {
  Stage& stage = stages_[l - first_];
  const std::size_t count = static_cast<std::size_t>(PaddedTo(stage.delta.width, kPanel));
  const float factor = std::ldexp(1.0f, exponent);
  if (!bf16()) {
    for (int64_t r = begin; r < end; ++r) Scale(factor, count, stage.delta.row(r));
    return;
  }
  for (int64_t r = begin; r < end; r += 2)
    PackBf16Pairs(stage.delta.row(r), r + 1 < end ? stage.delta.row(r + 1) : nullptr, factor, count,
                  stage.delta_row_pairs.data() + static_cast<std::size_t>(r / 2) * stage.delta.stride);
}

void LayerStack::WeightCounts(const GradientTask& task, std::span<const int> begins, int32_t* counts,
                              std::size_t panel_stride) const {
  const Stage& stage = stages_[task.layer - first_];
  const int shards = static_cast<int>(begins.size()) - 1, column = task.first_panel * kPanel;
  if (bf16())
    kernels_.weight_gradient_bf16(stage.input_row_pairs.data() + task.first_input, stage.input.stride,
                                  stage.delta_row_pairs.data() + column, stage.delta.stride, begins.data(),
                                  shards, task.inputs, task.panels, counts, panel_stride);
  else
    kernels_.weight_gradient(stage.input.row(0) + task.first_input, stage.input.stride,
                             stage.delta.row(0) + column, stage.delta.stride, begins.data(), shards,
                             task.inputs, task.panels, counts, panel_stride);
}

// The gradient of an input that is always 1.
void LayerStack::BiasCounts(int l, std::span<const int> begins, int32_t* counts) const {
  const Stage& stage = stages_[l - first_];
  const int shards = static_cast<int>(begins.size()) - 1, panels = network_.layers[l].padded() / kPanel;
  const float one = 1;
  constexpr uint32_t kOnes = 0x3f803f80;
  if (bf16())
    kernels_.weight_gradient_bf16(&kOnes, 0, stage.delta_row_pairs.data(), stage.delta.stride, begins.data(),
                                  shards, 1, panels, counts, kPanel);
  else
    kernels_.weight_gradient(&one, 0, stage.delta.row(0), stage.delta.stride, begins.data(), shards, 1,
                             panels, counts, kPanel);
}

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

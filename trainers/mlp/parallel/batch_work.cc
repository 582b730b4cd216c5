#include "trainers/mlp/parallel/batch_work.h"

#include <algorithm>
#include <cmath>

#include "trainers/common/fixed_point.h"
#include "trainers/mlp/network/batch_order.h"
#include "trainers/mlp/network/row_math.h"

namespace winnow::mlp {
namespace {

// A bound times 2^exponent is below 2^30: sums of rounded shards then fit 32 bits with a bit to spare.
constexpr int kCountBits = 30;
constexpr int kMostExponent = 100;  // 2^it and its inverse are normal floats, and so are their products here

}  // namespace

DeadUnits::DeadUnits(const Network& network) : alive_(network.layers.size()) {}

void DeadUnits::Look(LayerStack& stack, int64_t rows) {
  for (int l = stack.first(); l + 1 < stack.last(); ++l) {
    const Matrix& activated = stack.inputs(l + 1);
    std::vector<uint8_t>& alive = alive_[static_cast<std::size_t>(l)];
    alive.resize(static_cast<std::size_t>(activated.width));
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = activated.row(r);
      for (std::size_t unit = 0; unit < alive.size(); ++unit) alive[unit] |= row[unit] > 0;
    }
  }
}

double DeadUnits::Share() const {
  std::size_t dead = 0, all = 0;
  for (const std::vector<uint8_t>& alive : alive_) {
    dead += static_cast<std::size_t>(std::count(alive.begin(), alive.end(), 0));
    all += alive.size();
  }
  return all == 0 ? 0 : static_cast<double>(dead) / static_cast<double>(all);
}

void DeadUnits::Forget() {
  for (std::vector<uint8_t>& alive : alive_) std::fill(alive.begin(), alive.end(), uint8_t{0});
}

LocalBatch PartOfBatch(const TrainingContext& context, std::span<const int64_t> rows, int shards, int taker,
                       int takers, int64_t step) {
  LocalBatch batch;
  const int64_t count = static_cast<int64_t>(rows.size());
  const Part mine = ShardsOf(shards, taker, takers);
  const int64_t begin = ShardBegin(count, shards, static_cast<int>(mine.begin)),
                end = ShardBegin(count, shards, static_cast<int>(mine.end));
  batch.rows = rows.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  for (int64_t s = mine.begin; s <= mine.end; ++s)
    batch.begins.push_back(static_cast<int>(ShardBegin(count, shards, static_cast<int>(s)) - begin));
  batch.pass = {true, step, begin};
  batch.batch_rows = count;
  batch.weight_sum = static_cast<double>(count);
  if (!context.train.weight.empty()) {
    batch.weight_sum = 0;
    for (const int64_t row : rows) batch.weight_sum += context.train.weight[static_cast<std::size_t>(row)];
    if (!(batch.weight_sum > 0)) batch.weight_sum = 1;  // no row has weight: all gradients are 0
  }
  return batch;
}

BatchWork::BatchWork(const TrainingContext& context, const Kernels& kernels, int64_t capacity)
    : BatchWork(context, kernels, capacity, 0, static_cast<int>(context.network.layers.size())) {}

BatchWork::BatchWork(const TrainingContext& context, const Kernels& kernels, int64_t capacity, int first,
                     int last)
    : context_(context),
      network_(context.network),
      stack_(context.network, context.parameters, kernels, first, last, capacity, true),
      batch_norm_(context.network, context.parameters, context.ranks, context.crew, stack_.capacity()),
      rule_(MakeLossRule(context.parameters, context.network.outputs(), context.teacher_outputs != nullptr)),
      label_(static_cast<std::size_t>(stack_.capacity())),
      losses_(label_.size()),
      before_(label_.size()),
      bounds_(3 * network_.layers.size()),
      exponents_(2 * network_.layers.size()),
      thread_bounds_(static_cast<std::size_t>(context.crew->threads()),
                     std::vector<float>(2 * network_.layers.size())),
      dead_units_(context.network) {
  if (!context.train.weight.empty()) weight_.resize(label_.size());
  if (context.teacher_outputs != nullptr && has_loss())
    teacher_.Resize(stack_.capacity(), network_.outputs());
  if (!context.train.bytes.empty() && stack_.first() == 0) {
    constexpr float kLargestByte = 255;
    const float shift = context.train.byte_shift, top = kLargestByte * context.train.byte_scale + shift;
    const float kept = 1.0f - static_cast<float>(context.parameters.input_dropout);
    stack_.BoundNetworkInputs(std::max(std::fabs(shift), std::fabs(top)) / kept);
  }
}

void BatchWork::ForRows(int64_t first, int64_t last,
                        const std::function<void(int64_t begin, int64_t end, int thread)>& work) {
  context_.crew->Run([&](int thread) {
    const Part part = PartOf(last - first, thread, context_.crew->threads(), 2);
    if (part.begin < part.end) work(first + part.begin, first + part.end, thread);
  });
}

void BatchWork::RefreshAll(const float* parameters) {
  context_.crew->Run([&](int thread) {
    for (int l = stack_.first(); l < stack_.last(); ++l) {
      const Layer& layer = network_.layers[l];
      for (int panel = thread; panel < layer.padded() / kPanel; panel += context_.crew->threads())
        stack_.RefreshPanel(parameters, l, panel, 0, layer.inputs);
    }
  });
}

void BatchWork::GatherLabels(std::span<const int64_t> rows, int64_t begin, int64_t end) {
  const DenseData& data = context_.train;
  for (int64_t r = begin; r < end; ++r) {
    const std::size_t row = static_cast<std::size_t>(rows[r]);
    label_[r] = data.label[row];
    if (!weight_.empty()) weight_[r] = data.weight[row];
    if (context_.teacher_outputs == nullptr) continue;
    const int outputs = network_.outputs();
    std::copy_n(context_.teacher_outputs->values.data() + row * outputs, outputs, teacher_.row(r));
  }
}

void BatchWork::LossOf(const LocalBatch& batch, int64_t begin, int64_t end) {
  const int last = static_cast<int>(network_.layers.size()) - 1;
  LossBatch loss;
  loss.rows = end - begin;
  loss.stride = static_cast<int64_t>(stack_.outputs().stride);
  loss.outputs = stack_.outputs().row(begin);
  loss.label = label_.data() + begin;
  loss.weight = weight_.empty() ? nullptr : weight_.data() + begin;
  loss.teacher = context_.teacher_outputs == nullptr ? nullptr : teacher_.row(begin);
  loss.scale = static_cast<float>(1 / batch.weight_sum);
  loss.delta = batch.pass.training ? stack_.delta(last).row(begin) : nullptr;
  loss.loss = losses_.data() + begin;
  loss.before = before_.data() + begin;
  LossRows(rule_, loss);
}

void BatchWork::Begin(const float* parameters, const LocalBatch& batch) {
  rows_ = batch.rows.size();
  for (std::vector<float>& bounds : thread_bounds_) std::fill(bounds.begin(), bounds.end(), 0.0f);
  ProfileScope scope(context_.profile, Phase::kUpdate, batch.pass.step);
  context_.crew->Run([&](int thread) {
    for (int l = std::max(1, stack_.first()); l < stack_.last(); ++l) {
      for (int panel = thread; panel < stack_.TransposedPanels(l); panel += context_.crew->threads())
        stack_.RefreshTransposed(parameters, l, panel);
    }
  });
}

void BatchWork::LoadRows(const LocalBatch& batch, int64_t begin, int64_t end) {
  if (has_loss()) GatherLabels(batch.rows, begin, end);
  if (stack_.first() == 0)
    stack_.Load(context_.train, batch.rows, batch.pass, begin, end);
  else
    stack_.TakeInputs(begin, end);
}

void BatchWork::ForwardRows(const float* parameters, const LocalBatch& batch, int64_t begin, int64_t end,
                            int thread) {
  Profile* const profile = ProfileOf(thread);
  {
    ProfileScope scope(profile, Phase::kLoad, batch.pass.step);
    LoadRows(batch, begin, end);
  }
  ProfileScope scope(profile, Phase::kForward, batch.pass.step);
  stack_.Forward(parameters, batch.pass, begin, end);
  if (has_loss()) LossOf(batch, begin, end);
}

void BatchWork::BackwardRows(const LocalBatch& batch, int64_t begin, int64_t end, int thread) {
  ProfileScope scope(ProfileOf(thread), Phase::kBackward, batch.pass.step);
  if (!has_loss()) stack_.Deactivated(stack_.last() - 1, batch.pass, begin, end);
  stack_.Backward(batch.pass, begin, end);
  Measure(begin, end, thread);
}

void BatchWork::Forward(const float* parameters, const LocalBatch& batch, int64_t first, int64_t last) {
  ForRows(first, last, [&](int64_t begin, int64_t end, int thread) {
    ForwardRows(parameters, batch, begin, end, thread);
  });
}

void BatchWork::Measure(int64_t begin, int64_t end, int thread) {
  for (int l = stack_.first(); l < stack_.last(); ++l) {
    float* bounds = thread_bounds_[thread].data() + 2 * l;
    bounds[0] = std::max(bounds[0], stack_.LargestInput(l, begin, end));
    bounds[1] = std::max(bounds[1], stack_.LargestDelta(l, begin, end));
  }
}

void BatchWork::Backward(const LocalBatch& batch, int64_t first, int64_t last) {
  ForRows(first, last,
          [&](int64_t begin, int64_t end, int thread) { BackwardRows(batch, begin, end, thread); });
}

void BatchWork::Finish() {
  const int layers = static_cast<int>(network_.layers.size());
  for (int l = stack_.first(); l < stack_.last(); ++l) {
    float input = 1, delta = 0;  // at least 1: a bias is a weight of an input that is 1
    for (const std::vector<float>& bounds : thread_bounds_) {
      input = std::max(input, bounds[2 * l]);
      delta = std::max(delta, bounds[2 * l + 1]);
    }
    bounds_[l] = input;
    bounds_[layers + l] = delta;
    if (!network_.layers[l].batch_norm) continue;
    double largest = 0;
    for (const auto& gradients : {batch_norm_.gamma_gradient(l), batch_norm_.beta_gradient(l)}) {
      for (const double gradient : gradients) largest = std::max(largest, std::fabs(gradient));
    }
    // With synchronised batch norm all ranks have the same sums, which count once.
    bounds_[2 * layers + l] =
        static_cast<float>(batch_norm_.synchronised() ? largest : largest * context_.ranks->size());
  }
}

absl::Status BatchWork::PropagateNormalised(const float* parameters, std::span<float> statistics,
                                            const LocalBatch& batch) {
  const int layers = static_cast<int>(network_.layers.size());
  const int64_t rows = static_cast<int64_t>(batch.rows.size());
  {
    ProfileScope scope(context_.profile, Phase::kLoad, batch.pass.step);
    ForRows(0, rows, [&](int64_t begin, int64_t end, int) { LoadRows(batch, begin, end); });
  }
  {
    ProfileScope scope(context_.profile, Phase::kForward, batch.pass.step);
    for (int l = 0; l < layers; ++l) {
      ForRows(0, rows, [&](int64_t begin, int64_t end, int) { stack_.Linear(parameters, l, begin, end); });
      if (network_.layers[l].batch_norm) {
        if (absl::Status status = batch_norm_.Forward(l, batch.begins, parameters, statistics, &stack_);
            !status.ok())
          return status;
      }
      ForRows(0, rows, [&](int64_t begin, int64_t end, int) { stack_.Activated(l, batch.pass, begin, end); });
    }
    ForRows(0, rows, [&](int64_t begin, int64_t end, int) { LossOf(batch, begin, end); });
  }
  ProfileScope scope(context_.profile, Phase::kBackward, batch.pass.step);
  for (int l = layers - 1; l > 0; --l) {
    ForRows(0, rows, [&](int64_t begin, int64_t end, int) {
      stack_.Back(l, begin, end);
      stack_.Deactivated(l - 1, batch.pass, begin, end);
    });
    if (!network_.layers[l - 1].batch_norm) continue;
    if (absl::Status status = batch_norm_.Backward(l - 1, batch.begins, parameters, &stack_); !status.ok())
      return status;
  }
  ForRows(0, rows, [&](int64_t begin, int64_t end, int thread) { Measure(begin, end, thread); });
  return absl::OkStatus();
}

absl::Status BatchWork::Propagate(const float* parameters, std::span<float> statistics,
                                  const LocalBatch& batch) {
  const int64_t rows = static_cast<int64_t>(batch.rows.size());
  Begin(parameters, batch);
  if (batch_norm_.any()) {
    if (absl::Status status = PropagateNormalised(parameters, statistics, batch); !status.ok()) return status;
  } else {
    ForRows(0, rows, [&](int64_t begin, int64_t end, int thread) {
      ForwardRows(parameters, batch, begin, end, thread);
      BackwardRows(batch, begin, end, thread);
    });
  }
  if (context_.profile != nullptr && context_.parameters.activation == Activation::kRelu)
    dead_units_.Look(stack_, rows);
  Finish();
  return absl::OkStatus();
}

void BatchWork::AddSums(const LocalBatch& batch, ShardSums* sums) const {
  std::size_t row = 0;
  for (std::size_t s = 0; s + 1 < batch.begins.size(); ++s) {
    double loss = 0, weight = 0, right = 0;
    for (; row < static_cast<std::size_t>(batch.begins[s + 1]); ++row) {
      const auto data_row = static_cast<std::size_t>(batch.rows[row]);
      const double w = context_.train.weight.empty() ? 1.0 : context_.train.weight[data_row];
      loss += w * losses_[row];
      weight += w;
      if (is_right(row)) right += w;
    }
    sums->losses.push_back(loss);
    sums->weights.push_back(weight);
    sums->right.push_back(right);
  }
}

void BatchWork::Losses(const float* parameters, std::span<const float> statistics,
                       std::span<const int64_t> rows) {
  rows_ = rows.size();
  LocalBatch batch;
  batch.rows = rows;
  ForRows(0, static_cast<int64_t>(rows.size()), [&](int64_t begin, int64_t end, int) {
    GatherLabels(rows, begin, end);
    stack_.Load(context_.train, rows, batch.pass, begin, end);
    for (int l = 0; l < static_cast<int>(network_.layers.size()); ++l) {
      stack_.Linear(parameters, l, begin, end);
      if (network_.layers[l].batch_norm)
        NormaliseByRunning(network_.layers[l], parameters, statistics, begin, end, &stack_.linear(l));
      stack_.Activated(l, batch.pass, begin, end);
    }
    LossOf(batch, begin, end);
  });
}

void BatchWork::Quantise(std::span<const float> bounds, const LocalBatch& batch) {
  const std::size_t layers = network_.layers.size();
  const auto exponent = [](double bound) {
    return std::clamp(ScaleExponent(bound, kCountBits), -kMostExponent, kMostExponent);
  };
  for (std::size_t l = 0; l < layers; ++l) {
    exponents_[l] = exponent(static_cast<double>(bounds[l]) * static_cast<double>(bounds[layers + l]) *
                             static_cast<double>(batch.batch_rows));
    exponents_[layers + l] = exponent(static_cast<double>(bounds[2 * layers + l]));
  }
  ForRows(0, static_cast<int64_t>(batch.rows.size()), [&](int64_t begin, int64_t end, int) {
    for (int l = stack_.first(); l < stack_.last(); ++l) stack_.ScaleDelta(l, exponents_[l], begin, end);
  });
}

void BatchWork::ForTasks(std::span<const GradientTask> tasks,
                         const std::function<void(int thread, const GradientTask& task)>& work) {
  std::atomic<std::size_t> next{0};
  context_.crew->Run([&](int thread) {
    for (std::size_t t = next.fetch_add(1, std::memory_order_relaxed); t < tasks.size();
         t = next.fetch_add(1, std::memory_order_relaxed))
      work(thread, tasks[t]);
  });
}

void BatchWork::WeightCounts(std::span<const GradientTask> tasks, const LocalBatch& batch, std::size_t first,
                             int32_t* counts) {
  ForTasks(tasks, [&](int, const GradientTask& task) {
    const Layer& layer = network_.layers[task.layer];
    const std::size_t at = layer.WeightAt(task.first_input, task.first_panel * kPanel);
    stack_.WeightCounts(task, batch.begins, counts + (at - first),
                        static_cast<std::size_t>(layer.inputs) * kPanel);
  });
}

void BatchWork::Decode(std::size_t begin, std::size_t end, const int32_t* counts, float* gradient) const {
  const auto decode = [&](std::size_t first, std::size_t last, int exponent) {
    const std::size_t low = std::max(first, begin), high = std::min(last, end);
    if (low < high)
      CountsToFloats(counts + (low - begin), std::ldexp(1.0f, -exponent), high - low,
                     gradient + (low - begin));
  };
  for (int l = stack_.first(); l < stack_.last(); ++l) {
    const Layer& layer = network_.layers[l];
    const std::size_t norm = layer.bias + static_cast<std::size_t>(layer.padded());
    decode(layer.begin(), norm, exponents_[l]);
    decode(norm, layer.end, exponents_[network_.layers.size() + l]);
  }
}

void BatchWork::OtherCounts(int l, const LocalBatch& batch, int32_t* counts) const {
  const Layer& layer = network_.layers[l];
  std::fill_n(counts, layer.end - layer.bias, 0);
  stack_.BiasCounts(l, batch.begins, counts);
  if (!layer.batch_norm || (batch_norm_.synchronised() && context_.ranks->rank() > 0)) return;
  const double scale = std::ldexp(1.0, exponents_[network_.layers.size() + l]);
  const auto count = [&](double gradient) { return static_cast<int32_t>(std::nearbyint(gradient * scale)); };
  for (int c = 0; c < layer.outputs; ++c) {
    counts[layer.gamma - layer.bias + c] = count(batch_norm_.gamma_gradient(l)[c]);
    counts[layer.beta - layer.bias + c] = count(batch_norm_.beta_gradient(l)[c]);
  }
}

}  // namespace winnow::mlp

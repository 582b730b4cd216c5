// The cost of an epoch's matrix products alone in winnow-mlp's kernels, without the rest of training:
//   bench-mlp-products [--layers 784,256,128,10] [--rows 60000] [--batch 128] [--threads 1,2] [--repeats 5]
// The products have the shapes and tiles of one rank: for each batch the layers' outputs, the gradients of
// hidden layers' outputs, and the gradients of the weights by virtual shards. Seconds are processor seconds
// of the slowest thread, the least over the repeats. An operation is a multiplication or an addition of the
// network itself, without its padding.

#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/network/batch_order.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/kernels.h"
#include "trainers/mlp/network/layer_stack.h"
#include "trainers/mlp/network/network.h"

namespace winnow::mlp {
namespace {

enum Kind { kForward, kInputGradient, kWeightGradient };
constexpr int kKinds = 3;

// Processor seconds of the calling thread, without waiting for a busy machine.
double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Work {
  std::vector<int> widths = {784, 256, 128, 10};
  int64_t rows = 60000;
  int64_t batch = 128;
};

// An epoch's products in f32 (Element float) or bf16 (Element uint32_t, a pair), of normal numbers.
template <typename Element>
class Products {
  static constexpr bool kPairs = !std::is_same_v<Element, float>;
  static constexpr int kPerElement = kPairs ? 2 : 1;

 public:
  Products(const Work& work, const Network& network, const Kernels& kernels, Crew* crew)
      : work_(work), network_(network), kernels_(kernels), crew_(*crew), seconds_(crew->threads()) {
    const int64_t capacity = work.batch + work.batch % 2;
    for (const Layer& layer : network.layers) {
      Arrays& arrays = layers_.emplace_back();
      arrays.x.Resize(capacity, layer.inputs);
      arrays.delta.Resize(capacity, layer.outputs);
      Fill(arrays.x.values.size(), &arrays.x.values);
      Fill(arrays.delta.values.size(), &arrays.delta.values);
      Fill(static_cast<std::size_t>(layer.padded()) * Elements(layer.inputs), &arrays.panels);
      Fill(static_cast<std::size_t>(PaddedTo(layer.inputs, kPanel)) * Elements(layer.padded()),
           &arrays.transposed);
      arrays.bias.assign(static_cast<std::size_t>(layer.padded()), 0.0f);
      if constexpr (kPairs) {
        Fill(arrays.x.values.size() / 2, &arrays.x_pairs);
        Fill(arrays.x.values.size() / 2, &arrays.x_row_pairs);
        Fill(arrays.delta.values.size() / 2, &arrays.delta_pairs);
        Fill(arrays.delta.values.size() / 2, &arrays.delta_row_pairs);
      }
    }
    outputs_.Resize(capacity, network.outputs());
    MlpParameters parameters;
    tasks_ =
        LayerStack(network, parameters, kernels, 0, static_cast<int>(network.layers.size()), 2, true).tasks();
    counts_.assign(static_cast<std::size_t>(crew->threads()),
                   Aligned<int32_t>(std::size_t{LayerStack::kTaskInputs} * LayerStack::kTaskPanels * kPanel));
  }

  // Returns the seconds of one epoch by kind, of the thread with the largest sum.
  std::vector<double> Epoch() {
    for (std::vector<double>& seconds : seconds_) seconds.assign(kKinds, 0.0);
    for (int64_t at = 0; at < work_.rows; at += work_.batch) Batch(std::min(work_.batch, work_.rows - at));
    return *std::max_element(seconds_.begin(), seconds_.end(), [](const auto& a, const auto& b) {
      return a[0] + a[1] + a[2] < b[0] + b[1] + b[2];
    });
  }

 private:
  struct Arrays {
    Matrix x, delta;
    Aligned<uint32_t> x_pairs, x_row_pairs, delta_pairs, delta_row_pairs;  // bf16
    Aligned<Element> panels, transposed;
    Aligned<float> bias;
  };

  static int Elements(int count) { return (count + kPerElement - 1) / kPerElement; }

  template <typename T>
  static void Fill(std::size_t count, Aligned<T>* values) {
    constexpr uint32_t kPairOf128th = 0x3c003c00;
    if constexpr (std::is_same_v<T, float>)
      values->assign(count, 0x1p-7f);
    else
      values->assign(count, kPairOf128th);
  }

  void Timed(Kind kind, const std::function<void(int thread)>& work) {
    crew_.Run([&](int thread) {
      const double start = ThreadSeconds();
      work(thread);
      seconds_[thread][kind] += ThreadSeconds() - start;
    });
  }

  void Batch(int64_t rows) {
    const auto part = [&](int thread) { return PartOf(rows, thread, crew_.threads(), 2); };
    const int layers = static_cast<int>(layers_.size());
    Timed(kForward, [&](int thread) {
      for (int l = 0; l < layers; ++l) Forward(l, part(thread));
    });
    Timed(kInputGradient, [&](int thread) {
      for (int l = layers - 1; l > 0; --l) Back(l, part(thread));
    });
    std::vector<int> begins;
    const int shards = DefaultVirtualShards(work_.batch);
    for (int s = 0; s <= shards; ++s) begins.push_back(static_cast<int>(ShardBegin(rows, shards, s)));
    std::atomic<std::size_t> next{0};
    Timed(kWeightGradient, [&](int thread) {
      for (std::size_t t = next.fetch_add(1); t < tasks_.size(); t = next.fetch_add(1))
        WeightGradient(tasks_[t], begins, thread);
    });
  }

  void Forward(int l, const Part& rows) {
    Arrays& from = layers_[l];
    Matrix& to = l + 1 < static_cast<int>(layers_.size()) ? layers_[l + 1].x : outputs_;
    const Layer& layer = network_.layers[l];
    const int count = static_cast<int>(rows.end - rows.begin), panels = layer.padded() / kPanel;
    if constexpr (kPairs)
      kernels_.product_bf16(from.x_pairs.data() + rows.begin * from.x.stride / 2, from.x.stride / 2, count,
                            Elements(layer.inputs), from.panels.data(), panels, from.bias.data(),
                            to.row(rows.begin), to.stride);
    else
      kernels_.product(from.x.row(rows.begin), from.x.stride, count, layer.inputs, from.panels.data(), panels,
                       from.bias.data(), to.row(rows.begin), to.stride);
  }

  void Back(int l, const Part& rows) {
    Arrays& from = layers_[l];
    Matrix& to = layers_[l - 1].delta;
    const Layer& layer = network_.layers[l];
    const int count = static_cast<int>(rows.end - rows.begin),
              panels = PaddedTo(layer.inputs, kPanel) / kPanel;
    if constexpr (kPairs)
      kernels_.product_bf16(from.delta_pairs.data() + rows.begin * from.delta.stride / 2,
                            from.delta.stride / 2, count, layer.padded() / 2, from.transposed.data(), panels,
                            nullptr, to.row(rows.begin), to.stride);
    else
      kernels_.product(from.delta.row(rows.begin), from.delta.stride, count, layer.padded(),
                       from.transposed.data(), panels, nullptr, to.row(rows.begin), to.stride);
  }

  void WeightGradient(const GradientTask& task, const std::vector<int>& begins, int thread) {
    const Arrays& of = layers_[task.layer];
    const int shards = static_cast<int>(begins.size()) - 1, column = task.first_panel * kPanel;
    const std::size_t run = static_cast<std::size_t>(task.inputs) * kPanel;
    if constexpr (kPairs)
      kernels_.weight_gradient_bf16(of.x_row_pairs.data() + task.first_input, of.x.stride,
                                    of.delta_row_pairs.data() + column, of.delta.stride, begins.data(),
                                    shards, task.inputs, task.panels, counts_[thread].data(), run);
    else
      kernels_.weight_gradient(of.x.row(0) + task.first_input, of.x.stride, of.delta.row(0) + column,
                               of.delta.stride, begins.data(), shards, task.inputs, task.panels,
                               counts_[thread].data(), run);
  }

  const Work& work_;
  const Network& network_;
  const Kernels& kernels_;
  Crew& crew_;
  std::vector<Arrays> layers_;
  Matrix outputs_;
  std::vector<GradientTask> tasks_;
  std::vector<Aligned<int32_t>> counts_;      // [thread]
  std::vector<std::vector<double>> seconds_;  // [thread][kind]
};

template <typename Element>
void PrintRow(const char* precision, const Work& work, const Network& network, const Kernels& kernels,
              int threads, int repeats) {
  Crew crew(threads);
  Products<Element> products(work, network, kernels, &crew);
  std::vector<double> best;
  double best_sum = 1e300;
  for (int repeat = 0; repeat <= repeats; ++repeat) {  // the first warms up
    const std::vector<double> seconds = products.Epoch();
    const double sum = seconds[kForward] + seconds[kInputGradient] + seconds[kWeightGradient];
    if (repeat == 0 || sum >= best_sum) continue;
    best = seconds;
    best_sum = sum;
  }
  double forward = 0, inner = 0;  // operations
  for (const Layer& layer : network.layers) {
    const double count = 2.0 * static_cast<double>(work.rows) * layer.inputs * layer.outputs;
    forward += count;
    if (layer.weights > 0) inner += count;
  }
  fmt::print("| {} | {} | {} | {:.4f} | {:.0f} | {:.0f} | {:.0f} | {:.0f} |\n", kernels.name, precision,
             threads, best_sum, 1e-9 * (2 * forward + inner) / best_sum, 1e-9 * forward / best[kForward],
             inner > 0 ? 1e-9 * inner / best[kInputGradient] : 0, 1e-9 * forward / best[kWeightGradient]);
}

int Main(int argc, char** argv) {
  Work work;
  std::vector<int> threads = {1, 2};
  int repeats = 5;
  CLI::App app("The matrix products of an epoch alone.");
  app.add_option("--layers", work.widths, "Inputs, widths of hidden layers, outputs")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--rows", work.rows)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--batch", work.batch)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--threads", threads)->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--repeats", repeats)->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (work.widths.size() < 3) return fmt::print(stderr, "--layers: expected a hidden layer\n"), 2;

  MlpParameters parameters;
  parameters.hidden_layers.assign(work.widths.begin() + 1, work.widths.end() - 1);
  const Network network = MakeNetwork(parameters, work.widths.front(), work.widths.back());
  const Kernels& kernels = ChosenKernels();
  fmt::print(
      "| kernels | precision | threads | seconds an epoch | GFLOP/s | forward | input gradients | weight "
      "gradients "
      "|\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const int count : threads) {
    PrintRow<float>("f32", work, network, kernels, count, repeats);
    PrintRow<uint32_t>("bf16", work, network, kernels, count, repeats);
  }
  return 0;
}

}  // namespace
}  // namespace winnow::mlp

int main(int argc, char** argv) { return winnow::mlp::Main(argc, argv); }

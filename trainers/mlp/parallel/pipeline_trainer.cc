#include "trainers/mlp/parallel/pipeline_trainer.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "fmt/format.h"
#include "trainers/collective/messenger.h"
#include "trainers/mlp/network/layer_stack.h"
#include "trainers/mlp/parallel/pipeline_step.h"
#include "trainers/mlp/parallel/synchronous_trainer.h"

namespace winnow::mlp {
namespace {

// The first run warms caches; the fastest of the others is the least disturbed.
constexpr int kMeasurements = 4;

template <typename Work>
double SecondsOf(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Returns the ranks of one copy of the network.
absl::StatusOr<int> StagesOf(const TrainingContext& context) {
  const int ranks = context.ranks->size(), layers = static_cast<int>(context.network.layers.size());
  const int asked = context.parameters.pipeline_stages;
  if (ranks == 1) return 1;
  if (asked == 0) {
    int stages = std::min(ranks, layers);
    while (ranks % stages != 0) --stages;
    return stages;
  }
  if (ranks % asked != 0)
    return absl::InvalidArgumentError(
        fmt::format("hyperparameter pipeline_stages = {}: expected a divisor of the {} ranks", asked, ranks));
  if (asked > layers)
    return absl::InvalidArgumentError(fmt::format(
        "hyperparameter pipeline_stages = {}: expected at most the network's {} layers", asked, layers));
  return asked;
}

}  // namespace

// least[s][l]: the cost of the most expensive of s runs of the first l layers.
std::vector<int> SplitLayers(std::span<const double> costs, int stages) {
  const std::size_t layers = costs.size(), runs = static_cast<std::size_t>(stages);
  std::vector<double> sums(layers + 1, 0.0);
  std::partial_sum(costs.begin(), costs.end(), sums.begin() + 1);
  std::vector<std::vector<double>> least(
      runs + 1, std::vector<double>(layers + 1, std::numeric_limits<double>::infinity()));
  std::vector<std::vector<std::size_t>> cut(runs + 1, std::vector<std::size_t>(layers + 1, 0));
  least[0][0] = 0;
  for (std::size_t s = 1; s <= runs; ++s) {
    for (std::size_t l = s; l <= layers; ++l) {
      for (std::size_t from = s - 1; from < l; ++from) {
        const double costliest = std::max(least[s - 1][from], sums[l] - sums[from]);
        if (costliest >= least[s][l]) continue;
        least[s][l] = costliest;
        cut[s][l] = from;
      }
    }
  }
  std::vector<int> begins(runs + 1, static_cast<int>(layers));
  for (std::size_t s = runs; s > 0; --s) begins[s - 1] = static_cast<int>(cut[s][begins[s]]);
  return begins;
}

std::vector<double> MeasuredLayerCosts(const TrainingContext& context, const Kernels& kernels,
                                       const NetworkState& state, int64_t rows) {
  const int layers = static_cast<int>(context.network.layers.size());
  const float* const parameters = state.parameters.data();
  LayerStack stack(context.network, context.parameters, kernels, 0, layers, rows, true);
  for (int l = 0; l < layers; ++l) {
    stack.RefreshLayer(parameters, l);
    for (int panel = 0; l > 0 && panel < stack.TransposedPanels(l); ++panel)
      stack.RefreshTransposed(parameters, l, panel);
  }
  std::vector<int64_t> numbers(static_cast<std::size_t>(rows));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  Aligned<int32_t> counts(context.network.parameters);
  const int begins[] = {0, static_cast<int>(rows)};
  const Pass pass{true, 0, 0};
  std::vector<double> costs(static_cast<std::size_t>(layers), std::numeric_limits<double>::infinity());
  for (int measurement = 0; measurement < kMeasurements; ++measurement) {
    std::vector<double> seconds(costs.size(), 0.0);
    seconds[0] += SecondsOf([&] { stack.Load(context.train, numbers, pass, 0, rows); });
    for (int l = 0; l < layers; ++l) {
      seconds[l] += SecondsOf([&] {
        stack.Linear(parameters, l, 0, rows);
        stack.Activated(l, pass, 0, rows);
      });
    }
    for (int l = layers - 1; l >= 0; --l) {
      seconds[l] += SecondsOf([&] {
        stack.Deactivated(l, pass, 0, rows);
        if (l > 0) stack.Back(l, 0, rows);
        stack.ScaleDelta(l, 0, 0, rows);
        for (const GradientTask& task : stack.tasks()) {
          if (task.layer != l) continue;
          const Layer& layer = context.network.layers[l];
          stack.WeightCounts(task, begins,
                             counts.data() + layer.WeightAt(task.first_input, task.first_panel * kPanel),
                             static_cast<std::size_t>(layer.inputs) * kPanel);
        }
      });
    }
    for (std::size_t l = 0; l < costs.size(); ++l) costs[l] = std::min(costs[l], seconds[l]);
  }
  return costs;
}

absl::StatusOr<std::vector<int>> AgreedStages(const TrainingContext& context, const Kernels& kernels,
                                              const NetworkState& state, int64_t rows, int stages) {
  std::vector<int> begins(static_cast<std::size_t>(stages) + 1);
  std::string bytes;
  if (context.ranks->rank() == 0) {
    begins = SplitLayers(MeasuredLayerCosts(context, kernels, state, rows), stages);
    bytes.assign(reinterpret_cast<const char*>(begins.data()), begins.size() * sizeof(int));
  }
  if (absl::Status status = context.ranks->Broadcast(0, &bytes); !status.ok()) return status;
  if (bytes.size() != begins.size() * sizeof(int))
    return absl::InternalError("rank 0 splits the layers into another number of stages");
  std::memcpy(begins.data(), bytes.data(), bytes.size());
  return begins;
}

absl::StatusOr<std::unique_ptr<EpochTrainer>> MakePipelineTrainer(const TrainingContext& context,
                                                                  NetworkState state,
                                                                  const std::string& extra) {
  const MlpParameters& parameters = context.parameters;
  if (parameters.batch_norm != BatchNorm::kNone)
    return absl::InvalidArgumentError(
        "hyperparameter batch_norm: expected none with distribution PIPELINE, where no layer sees all rows "
        "of a batch at once");
  const absl::StatusOr<int> stages = StagesOf(context);
  if (!stages.ok()) return stages.status();
  if (*stages == 1) return MakeSynchronousTrainer(context, std::move(state), extra);
  const int replicas = context.ranks->size() / *stages;
  const absl::StatusOr<BatchCut> cut = CutOfBatches(context, replicas);
  if (!cut.ok()) return cut.status();
  const int shards = cut->shards / replicas;  // of the replica with the fewest
  if (parameters.micro_batches > shards)
    return absl::InvalidArgumentError(fmt::format(
        "hyperparameter micro_batches = {}: expected at most {}, as a batch is cut into {} virtual shards "
        "(hyperparameter virtual_shards){}",
        parameters.micro_batches, shards, cut->shards,
        replicas > 1 ? fmt::format(" for {} copies of the pipeline", replicas) : ""));
  const absl::StatusOr<const Kernels*> kernels = AgreedKernels(parameters.precision, context.ranks);
  if (!kernels.ok()) return kernels.status();
  PipelineLayout layout;
  layout.replicas = replicas;
  layout.micro_batches = parameters.micro_batches;
  const int micro_batches = parameters.micro_batches > 0 ? parameters.micro_batches : shards;
  absl::StatusOr<std::vector<int>> begins = AgreedStages(
      context, **kernels, state, std::max<int64_t>(1, cut->rows / replicas / micro_batches), *stages);
  if (!begins.ok()) return begins.status();
  layout.layer_begins = *std::move(begins);
  absl::StatusOr<std::unique_ptr<Messenger>> messenger = ConnectMessenger(context.ranks);
  if (!messenger.ok()) return messenger.status();
  return MakeTrainerOf(context, *cut,
                       std::make_unique<PipelineStep>(context, std::move(state), **kernels, *cut,
                                                      std::move(layout), *std::move(messenger)),
                       extra);
}

}  // namespace winnow::mlp

#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "tests/trainers/collective/run_ranks.h"
#include "trainers/mlp/parallel/epoch_trainer.h"

namespace winnow::mlp {

// Numbers with mean 0 and deviation 1, each a function of its indices.
inline float NoiseAt(uint64_t a, uint64_t b) {
  constexpr int kTerms = 12;
  double sum = -kTerms / 2.0;
  for (uint64_t term = 0; term < kTerms; ++term)
    sum += static_cast<double>(HashOf(a, b, term) >> 11) * 0x1p-53;
  return static_cast<float>(sum);
}

// Four classes around different centres in `features` dimensions.
inline DenseData ClassesAround(int64_t rows, int features) {
  constexpr int kClasses = 4;
  constexpr uint64_t kCentres = 1u << 30;
  std::vector<float> values, label;
  for (int64_t row = 0; row < rows; ++row) {
    const uint64_t of = HashOf(17, static_cast<uint64_t>(row)) % kClasses;
    label.push_back(static_cast<float>(of));
    for (int f = 0; f < features; ++f) values.push_back(NoiseAt(row, f) + NoiseAt(kCentres + of, f));
  }
  return MakeDenseData(features, std::move(values), std::move(label));
}

// Hyperparameters under which a test is repeated.
struct Variant {
  std::string name;
  std::function<void(MlpParameters*)> change;
};

// A small classification task for ranks that are threads.
struct ShareTask {
  DenseData train = ClassesAround(1600, 12);
  MlpParameters parameters = [] {
    MlpParameters p;
    p.hidden_layers = {16};
    p.num_class = 4;
    p.batch_size = 20;
    p.learning_rate = 0.05;
    p.seed = 3;
    return p;
  }();
  const std::atomic<bool>* stop = nullptr;
  int threads = 1;
};

// One rank's results after its epochs, or the first error.
struct ShareOutcome {
  absl::Status status;
  std::vector<EpochResult> epochs;
  NetworkState state, collected;
  std::string extra;
  uint64_t state_bytes = 0;
};

using ShareMaker =
    std::function<absl::StatusOr<std::unique_ptr<EpochTrainer>>(const TrainingContext&, NetworkState)>;

// Trains epochs [first, end) on `ranks` ranks from `from`, or from the initial weights.
inline std::vector<ShareOutcome> TrainShares(const ShareTask& task, int ranks, int first, int end,
                                             const ShareMaker& make, const NetworkState* from = nullptr) {
  const Network network = MakeNetwork(task.parameters, task.train.features, task.parameters.num_class);
  const NetworkState begin = from != nullptr ? *from : InitialState(network, task.parameters);
  return RunRanks(ranks, [&](Communicator* communicator) {
    ShareOutcome outcome;
    Crew crew(task.threads);
    TrainingContext context{task.parameters, network, task.train};
    context.ranks = communicator;
    context.crew = &crew;
    context.stop = task.stop;
    absl::StatusOr<std::unique_ptr<EpochTrainer>> trainer = make(context, begin);
    outcome.status = trainer.status();
    for (int epoch = first; epoch < end && outcome.status.ok(); ++epoch) {
      const absl::StatusOr<EpochResult> result = (*trainer)->Train(epoch);
      outcome.status = result.status();
      if (result.ok()) outcome.epochs.push_back(*result);
    }
    if (!outcome.status.ok()) return outcome;
    outcome.state = (*trainer)->state();
    outcome.state_bytes = (*trainer)->state_bytes();
    outcome.status = (*trainer)->Collect(&outcome.collected, &outcome.extra);
    return outcome;
  });
}

}  // namespace winnow::mlp

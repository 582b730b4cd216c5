#include "trainers/mlp/parallel/server_shard.h"

#include <algorithm>
#include <utility>

#include "trainers/common/instruction_sets.h"
#include "trainers/mlp/network/optimizer.h"

namespace winnow::mlp {
namespace {

WINNOW_EACH_INSTRUCTION_SET
void CompensateDelay(float lambda, const float* __restrict now, const float* __restrict pulled,
                     float* __restrict gradient, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float g = gradient[i];
    gradient[i] = g + lambda * (g * g) * (now[i] - pulled[i]);
  }
}

}  // namespace

ServerShard::ServerShard(const MlpParameters& parameters, const Network& network, int workers, Part run,
                         const NetworkState& state)
    : parameters_(parameters),
      run_(run),
      decay_runs_(DecayRuns(network, static_cast<std::size_t>(run.begin), static_cast<std::size_t>(run.end))),
      pulled_(static_cast<std::size_t>(workers)),
      version_(state.step) {
  const auto part = [&](const std::vector<float>& all) {
    return all.empty() ? std::vector<float>{}
                       : std::vector<float>(all.begin() + run.begin, all.begin() + run.end);
  };
  values_ = part(state.parameters);
  for (int slot = 0; slot < 2; ++slot) slots_[slot] = part(state.slots[slot]);
  for (DecayRun& each : decay_runs_) {
    each.begin -= static_cast<std::size_t>(run.begin);
    each.end -= static_cast<std::size_t>(run.begin);
  }
  for (int worker = 0; worker < workers; ++worker) Pull(worker);
}

void ServerShard::Push(int worker, int64_t step, int64_t epoch_steps, std::span<float> gradient) {
  const Pulled& pulled = pulled_[static_cast<std::size_t>(worker)];
  const int workers = static_cast<int>(pulled_.size());
  const int64_t staleness = version_ - pulled.version;
  staleness_.sum += staleness;
  staleness_.most = std::max(staleness_.most, staleness);
  ++staleness_.pushes;

  if (parameters_.delay_compensation != 0) {
    CompensateDelay(static_cast<float>(parameters_.delay_compensation), values_.data(), pulled.values.data(),
                    gradient.data(), gradient.size());
  }
  // Adam's bias corrections count updates; the rate's schedule counts the worker's steps.
  StepRule rule = RuleAt(parameters_, version_, step, epoch_steps, workers);
  const double implicit = parameters_.implicit_momentum_correction * (1 - 1.0 / workers);
  rule.momentum = static_cast<float>(std::max(0.0, parameters_.momentum - implicit));
  if (parameters_.staleness_aware && staleness > 1) {
    // In SGD's momentum each gradient keeps its own rate; Adam cancels any scale of gradients.
    float& scaled = rule.kind == OptimizerKind::kSgd ? rule.gradient_scale : rule.learning_rate;
    scaled /= static_cast<float>(staleness);
  }

  for (const DecayRun& each : decay_runs_) {
    const auto slot = [&](int number) {
      return slots_[number].empty() ? nullptr : slots_[number].data() + each.begin;
    };
    UpdateRun(rule, each.decays, values_.data() + each.begin, slot(0), slot(1), gradient.data() + each.begin,
              each.end - each.begin);
  }
  ++version_;
}

std::span<const float> ServerShard::Pull(int worker) {
  Pulled& pulled = pulled_[static_cast<std::size_t>(worker)];
  pulled.version = version_;
  if (parameters_.delay_compensation != 0) pulled.values = values_;
  return values_;
}

uint64_t ServerShard::state_bytes() const {
  std::size_t floats = values_.size() + slots_[0].size() + slots_[1].size();
  for (const Pulled& pulled : pulled_) floats += pulled.values.size();
  return floats * sizeof(float);
}

StalenessCount ServerShard::TakeStaleness() { return std::exchange(staleness_, {}); }

}  // namespace winnow::mlp

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/network.h"
#include "trainers/mlp/parallel/rank_share.h"

namespace winnow::mlp {

// Updates by others between a worker's pull and its push.
struct StalenessCount {
  int64_t sum = 0, most = 0, pushes = 0;
};

// One server's state of an asynchronous parameter server: a run of the parameters, their optimizer state, and
// the version that each worker computes at. A version is an update, of any worker.
class ServerShard {
 public:
  // For `run` of network's flat array and `workers` workers, which all have state's parameters already.
  // REQUIRES: not LAMB.
  ServerShard(const MlpParameters& parameters, const Network& network, int workers, Part run,
              const NetworkState& state);

  // Updates the parameters by a gradient that `worker` computed at its last Pull, as its step `step` of
  // `epoch_steps` per epoch, in this order:
  // - delay_compensation = l: g + l g g (w - w as pulled) replaces g (Zheng et al., ICML 2017, equation 10);
  // - implicit_momentum_correction = c: SGD's momentum minus c (1 - 1 / workers), at least 0 (asynchrony acts
  //   as such a momentum: Mitliagkas et al., Allerton 2016);
  // - staleness_aware: the gradient's learning rate divided by its staleness, if that is above 1 (Zhang et
  //   al., IJCAI 2016): for SGD the gradient's part of the momentum, for Adam the step.
  // Overwrites `gradient`.
  void Push(int worker, int64_t step, int64_t epoch_steps, std::span<float> gradient);

  // Returns the newest parameters, at which `worker` will compute; valid until the next Push.
  std::span<const float> Pull(int worker);

  Part run() const { return run_; }
  int64_t version() const { return version_; }
  int64_t pulled_version(int worker) const { return pulled_[static_cast<std::size_t>(worker)].version; }
  std::span<const float> parameters() const { return values_; }
  std::span<const float> slot(int number) const { return slots_[number]; }
  uint64_t state_bytes() const;

  // For pushes since the last call.
  StalenessCount TakeStaleness();

 private:
  struct Pulled {
    int64_t version = 0;
    std::vector<float> values;  // for delay_compensation; otherwise empty
  };

  const MlpParameters& parameters_;
  const Part run_;
  std::vector<DecayRun> decay_runs_;  // relative to the run's start
  std::vector<float> values_;
  std::vector<float> slots_[2];
  std::vector<Pulled> pulled_;  // [worker]
  int64_t version_;
  StalenessCount staleness_;
};

}  // namespace winnow::mlp

#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "trainers/collective/communicator.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/layer_stack.h"

namespace winnow::mlp {

// Replaces linear rows [begin, end) by gamma * (linear - running mean) / sqrt(running variance + epsilon) +
// beta.
void NormaliseByRunning(const Layer& layer, const float* parameters, std::span<const float> statistics,
                        int64_t begin, int64_t end, Matrix* linear);

// Batch norm (Ioffe and Szegedy 2015) of a step's rows. Synchronised: means and variances are of all ranks'
// rows, summed in double by shard, in order of shard, so that they do not depend on the number of ranks.
// Otherwise they are of the rank's own rows.
class BatchNormLayers {
 public:
  BatchNormLayers(const Network& network, const MlpParameters& parameters, Communicator* ranks, Crew* crew,
                  int64_t capacity);

  bool any() const { return any_; }

  // Replaces stack.linear(l) of all rows by gamma * normalised + beta; updates the running statistics, if
  // there are two rows or more.
  absl::Status Forward(int l, std::span<const int> begins, const float* parameters,
                       std::span<float> statistics, LayerStack* stack);
  // Replaces stack.delta(l) by the gradient of Forward's input.
  absl::Status Backward(int l, std::span<const int> begins, const float* parameters, LayerStack* stack);

  // From the last Backward: [output].
  std::span<const double> gamma_gradient(int l) const { return work_[l].gamma_gradient; }
  std::span<const double> beta_gradient(int l) const { return work_[l].beta_gradient; }
  // Whether each rank has the complete sums; otherwise they are this rank's alone.
  bool synchronised() const { return synchronised_; }

 private:
  struct Work {
    Matrix normalised;
    std::vector<double> mean, inverse;  // 1 / sqrt(variance + epsilon)
    std::vector<double> gamma_gradient, beta_gradient;
    int64_t rows = 0;  // of the batch
  };
  // Sums mine[s][column] of this rank's shards over all shards, and the rows over all ranks.
  absl::Status SumShards(std::vector<double> mine, std::size_t columns, int64_t my_rows,
                         std::vector<double>* sums, int64_t* rows);

  const Network& network_;
  const MlpParameters& parameters_;
  Communicator* const ranks_;
  Crew* const crew_;
  const bool synchronised_;
  bool any_ = false;
  std::vector<Work> work_;
};

}  // namespace winnow::mlp

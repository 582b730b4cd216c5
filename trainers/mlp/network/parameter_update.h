#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "trainers/collective/communicator.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/network.h"
#include "trainers/mlp/network/optimizer.h"

namespace winnow::mlp {

// At most kNormRun parameters of one tensor: the unit of norms and of divided updates.
struct ParameterRun {
  std::size_t begin = 0, count = 0;
  int tensor = 0;  // a layer's weights, bias, gamma and beta are one each
  bool decays = false;
};

// A step's update of the parameters in cases that need the whole gradient first: a clipped norm, LAMB, or a
// gradient distributed over ranks.
class ParameterUpdate {
 public:
  ParameterUpdate(const Network& network, const MlpParameters& parameters, Communicator* ranks, Crew* crew);

  const std::vector<ParameterRun>& runs() const { return runs_; }

  // Returns the starts of the ranks' pieces of the flat array, as nearly equal as runs allow; [ranks + 1].
  std::vector<std::size_t> Pieces(int ranks) const;

  // Updates parameters [begin, end) of the flat array (borders of runs) and their slots. `gradient`, which is
  // undefined afterwards, and slots[s], or null, point to entry `begin`. `partial`: each rank has another
  // piece, in order of rank, and ranks exchange norms. Then gradient_norm() is the whole gradient's, if it
  // was needed.
  absl::Status Apply(const StepRule& rule, std::size_t begin, std::size_t end, bool partial, float* gradient,
                     float* parameters, float* const slots[2]);
  double gradient_norm() const { return gradient_norm_; }  // 0: not needed

 private:
  // values: of run `first` and those after it.
  absl::Status RunSums(std::size_t first, std::size_t last, bool partial, const float* values,
                       std::vector<double>* sums) const;
  void ForRuns(std::size_t first, std::size_t last,
               const std::function<void(const ParameterRun& run)>& work) const;
  absl::Status ApplyLamb(const StepRule& rule, std::size_t first, std::size_t last, std::size_t begin,
                         bool partial, float* gradient, float* parameters, float* const slots[2]);

  const MlpParameters& parameters_;
  Communicator* const ranks_;
  Crew* const crew_;
  std::vector<ParameterRun> runs_;
  int tensors_ = 0;
  double gradient_norm_ = 0;
};

}  // namespace winnow::mlp

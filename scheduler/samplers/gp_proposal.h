#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/models/acquisition.h"
#include "scheduler/samplers/sampler.h"
#include "scheduler/samplers/trial_model.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// What a proposal maximises over points of the space (UnitPoints).
class Desire {
 public:
  virtual ~Desire() = default;
  virtual const UnitPoints& points() const = 0;
  // The known points, best first.
  virtual std::vector<Eigen::VectorXd> BestFirst() const = 0;
  // Around how many of these half of the candidates are drawn.
  virtual size_t centres() const { return 5; }
  // For every row of `points`.
  virtual Eigen::VectorXd Scores(const Eigen::MatrixXd& points) const = 0;
  // At one point, with the gradient.
  virtual Acquisition ScoreOf(const Eigen::VectorXd& point) const = 0;
};

struct Proposal {
  Configuration configuration;
  Eigen::VectorXd point;
  double score = 0;    // with what priors and times add
  std::string priors;  // PriorWeights::Text
};

// The configuration of the largest score that was found, weighted by the job's priors (samplers/priors.h),
// and where time alone limits the job, by how long its units take (samplers/unit_times.h).
// Many candidates are drawn over the whole space and around the best known ones, and the most promising are
// improved: numbers by L-BFGS along the gradient, categories by trying each. It keeps conditions and
// constraints, was not tried before, and is not so near to a known one that it would repeat its reports
// (samplers/indifference.h); absent: no such one was found. A function of the state: candidates are drawn by
// the job's seed and the number of facts.
std::optional<Proposal> Propose(const JobState& state, const Desire& desire);

// The same for the logarithm of the expected improvement over the model's bar. REQUIRES !model.empty().
std::optional<Proposal> Propose(const JobState& state, const TrialModel& model);

}  // namespace winnow

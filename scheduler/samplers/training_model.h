#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/samplers/gp_proposal.h"
#include "scheduler/samplers/trial_model.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// What FREEZE_THAW asks a search model: what further training of a trial promises. One for jobs whose trials
// are ranked by one number (TrialModel), and one for several objectives or metric constraints (ParetoModel).
class TrainingModel {
 public:
  // What the end of a trial is worth, as the model predicts it.
  struct Worth {
    double log_improvement = 0;  // of the expected improvement over what is known
    double chance = 0;           // of an improvement
    // What is expected, for the sentence of the decision; the model has to live.
    std::function<std::string()> text;
  };

  virtual ~TrainingModel() = default;
  // No trial has given a finite value: nothing else but refitted may be asked.
  virtual bool empty() const = 0;
  virtual std::vector<double> refitted() const = 0;
  virtual int64_t results() const = 0;
  // The trials of the job that the model rests on.
  virtual const std::vector<TrialModel::Known>& known() const = 0;
  // What the trials at these places of known() are worth.
  virtual std::vector<Worth> WorthsOfKnown(const std::vector<size_t>& places) const = 0;
  virtual Worth WorthOf(const Configuration& configuration) const = 0;
  // The new configuration of the largest expected improvement; absent: none was found.
  virtual std::optional<Proposal> Propose() const = 0;
  // Why no paused trial is worth going on: "has a 5 % chance of …".
  virtual std::string Unlikely(double chance) const = 0;
};

// The model for the job; `state` has to outlive it.
std::unique_ptr<TrainingModel> TrainingModelOf(const JobState& state,
                                               TrialModel::Basis basis = TrialModel::Basis::kAll);

}  // namespace winnow

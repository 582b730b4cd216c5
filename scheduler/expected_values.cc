#include "scheduler/expected_values.h"

#include <algorithm>
#include <cmath>

#include "scheduler/samplers/trial_model.h"
#include "scheduler/state/standing.h"

namespace winnow {

ExpectedValues::ExpectedValues(const JobState& state) : state_(state) {
  if (state.spec().has_several_objectives() || state.trials().size() > kMostJobTrials) return;
  auto model = std::make_shared<const TrialModel>(state);
  if (!model->empty() && model->results() >= kLeastResults) model_ = std::move(model);
}

ExpectedResult ExpectedValues::ToValue(TrialNumber trial, const Prediction& end) const {
  const double deviation = std::sqrt(std::max(end.variance, 0.0));
  const double upper = model_->ToObjective(end.mean + deviation);
  const double lower = model_->ToObjective(end.mean - deviation);
  return {trial, model_->ToObjective(end.mean), std::abs(upper - lower) / 2};
}

std::optional<ExpectedResult> ExpectedValues::Of(TrialNumber trial) const {
  if (!model_) return std::nullopt;
  const auto known = std::find_if(model_->known().begin(), model_->known().end(),
                                  [trial](const TrialModel::Known& each) { return each.trial == trial; });
  const ExpectedResult value = ToValue(
      trial, known != model_->known().end()
                 ? known->end
                 : model_->process().Predict(model_->points().PointOf(state_.trial(trial).configuration)));
  if (!std::isfinite(value.value) || !std::isfinite(value.error)) return std::nullopt;
  return value;
}

std::optional<ExpectedResult> ExpectedValues::Best() const {
  if (!model_) return std::nullopt;
  const TrialModel::Known* best = nullptr;
  for (const TrialModel::Known& known : model_->known()) {
    const TrialState& trial = state_.trial(known.trial);
    if (trial.phase != TrialPhase::kCompleted || !std::isfinite(known.end.mean)) continue;
    if (!FinalStanding(state_.spec(), trial).feasible()) continue;
    const bool better = best == nullptr || known.end.mean > best->end.mean ||
                        (known.end.mean == best->end.mean && known.trial < best->trial);
    if (better) best = &known;
  }
  return best == nullptr ? std::nullopt : Of(best->trial);
}

}  // namespace winnow

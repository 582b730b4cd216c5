#include "scheduler/state/repeat_effects.h"

#include <cmath>
#include <cstddef>

namespace winnow {
namespace {

constexpr size_t kMostTrials = 100;  // the newest

double Squared(double value) { return value * value; }

}  // namespace

RepeatEffects::RepeatEffects(const JobState& state) : effects_(static_cast<size_t>(state.spec().repeats)) {
  std::vector<const TrialState*> completed;
  for (auto trial = state.trials().rbegin(); trial != state.trials().rend(); ++trial) {
    if (completed.size() == kMostTrials) break;
    if (trial->phase == TrialPhase::kCompleted && trial->curve.size() == effects_.size())
      completed.push_back(&*trial);
  }
  if (completed.empty() || effects_.size() < 2) return;
  const auto trials = static_cast<int64_t>(completed.size());
  if (trials > 1) {
    for (size_t repeat = 0; repeat < effects_.size(); ++repeat) {
      for (const TrialState* trial : completed)
        effects_[repeat] += (trial->curve[repeat].second - trial->curve.mean()) / static_cast<double>(trials);
    }
  }
  double squares = 0;
  for (const TrialState* trial : completed) {
    for (size_t repeat = 0; repeat < effects_.size(); ++repeat)
      squares += Squared(trial->curve[repeat].second - trial->curve.mean() - effects_[repeat]);
  }
  freedom_ = (trials > 1 ? trials - 1 : 1) * (static_cast<int64_t>(effects_.size()) - 1);
  variance_ = squares / static_cast<double>(freedom_);
}

double RepeatEffects::MeanOf(const TrialState& trial) const {
  double sum = 0;
  for (const auto& [repeat, value] : trial.curve) sum += value - effects_[static_cast<size_t>(repeat) - 1];
  return sum / static_cast<double>(trial.curve.size());
}

double StandardError(const Curve& curve) {
  const auto count = static_cast<double>(curve.size());
  if (curve.size() < 2) return 0;
  double squares = 0;
  for (const auto& [level, value] : curve) squares += Squared(value - curve.mean());
  return std::sqrt(squares / (count - 1) / count);
}

}  // namespace winnow

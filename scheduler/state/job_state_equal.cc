#include <algorithm>

#include "scheduler/state/job_state.h"

namespace winnow {
namespace {

bool Same(const TrialState& a, const TrialState& b) {
  const auto same_point = [](const auto& p, const auto& q) {
    return p.first == q.first && Identical(p.second, q.second);
  };
  return a.number == b.number && Identical(a.configuration, b.configuration) && a.nodes == b.nodes &&
         a.phase == b.phase && a.reason == b.reason && a.bracket == b.bracket && a.rung == b.rung && a.to == b.to &&
         a.checkpoint == b.checkpoint && a.at_own_end == b.at_own_end &&
         std::equal(a.curve.begin(), a.curve.end(), b.curve.begin(), b.curve.end(), same_point) &&
         a.best_resource == b.best_resource && Identical(a.best_objective, b.best_objective) &&
         Identical(a.curve_sum, b.curve_sum) && a.value_resource == b.value_resource && Identical(a.value, b.value) &&
         a.attempts == b.attempts && a.failures == b.failures && a.losses == b.losses && a.live == b.live &&
         a.attempt_from == b.attempt_from && a.attempt_reached == b.attempt_reached &&
         a.attempt_started_us == b.attempt_started_us &&
         a.attempt_first == b.attempt_first && a.attempt_last == b.attempt_last && a.created_us == b.created_us &&
         a.started_us == b.started_us && a.ended_us == b.ended_us && a.training_us == b.training_us &&
         a.trained_resource == b.trained_resource;
}

bool Same(const RungState& a, const RungState& b) {
  return a.resource == b.resource && a.entered == b.entered && a.arrived == b.arrived && a.cut == b.cut &&
         a.promoted == b.promoted && Identical(a.cutoff, b.cutoff) && a.top == b.top;
}

bool Same(const BracketState& a, const BracketState& b);

template <typename T>
bool AllSame(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return Same(x, y); });
}

bool Same(const BracketState& a, const BracketState& b) {
  return a.plan == b.plan && a.ended == b.ended && AllSame(a.rungs, b.rungs);
}

}  // namespace

bool operator==(const JobState& a, const JobState& b) {
  const auto same_end = [](const JobEnded& x, const JobEnded& y) {
    return x.end == y.end && x.reason == y.reason;
  };
  const auto same_priors = [](const PriorObserved& x, const PriorObserved& y) {
    return Identical(FactBody(x), y);
  };
  const auto same_notice = [](const auto& x, const auto& y) {
    return Identical(FactBody(x.first), y.first) && x.second == y.second;
  };
  const auto same_suggestion = [](const std::optional<Suggested>& x, const std::optional<Suggested>& y) {
    return x.has_value() == y.has_value() && (!x || Identical(FactBody(*x), *y));
  };
  return a.spec_ == b.spec_ && a.table_ == b.table_ && a.last_sequence_ == b.last_sequence_ &&
         AllSame(a.trials_, b.trials_) && AllSame(a.brackets_, b.brackets_) && a.pending_ == b.pending_ &&
         a.totals_ == b.totals_ && a.stop_requested_ == b.stop_requested_ && a.time_limit_ == b.time_limit_ &&
         a.completion_met_.has_value() == b.completion_met_.has_value() &&
         std::equal(a.priors_.begin(), a.priors_.end(), b.priors_.begin(), b.priors_.end(), same_priors) &&
         std::equal(a.notices_.begin(), a.notices_.end(), b.notices_.begin(), b.notices_.end(), same_notice) &&
         a.identical_curves_ == b.identical_curves_ &&
         same_suggestion(a.suggestion_, b.suggestion_) && a.model_ == b.model_ && a.suggested_units_ == b.suggested_units_ &&
         a.suggested_parts_ == b.suggested_parts_ && a.startup_ == b.startup_ && a.tried_ == b.tried_ &&
         a.stop_reason_ == b.stop_reason_ && a.ended_.has_value() == b.ended_.has_value() &&
         (!a.ended_ || same_end(*a.ended_, *b.ended_)) && a.best_ == b.best_ && a.best_completed_ == b.best_completed_ &&
         a.undecided_ == b.undecided_ && a.completion_index_ == b.completion_index_ &&
         a.first_failures_ == b.first_failures_ && a.failures_ == b.failures_ &&
         a.without_value_ == b.without_value_ &&
         a.completed_averages_ == b.completed_averages_;
}

}  // namespace winnow

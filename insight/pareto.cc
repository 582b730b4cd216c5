#include "insight/pareto.h"

#include <algorithm>

namespace winnow {
namespace {

// Whether `a` is nowhere worse than `b` and somewhere better. REQUIRES: both have a best value.
bool Dominates(const Outcome& a, const Outcome& b, Goal goal) {
  const double sign = goal == Goal::kMaximize ? -1 : 1;
  const double a_best = sign * *a.best, b_best = sign * *b.best;
  const bool no_worse =
      a_best <= b_best && a.elapsed_seconds <= b.elapsed_seconds && a.node_seconds <= b.node_seconds;
  return no_worse &&
         (a_best < b_best || a.elapsed_seconds < b.elapsed_seconds || a.node_seconds < b.node_seconds);
}

}  // namespace

std::vector<bool> ParetoFront(const std::vector<Outcome>& outcomes, Goal goal) {
  std::vector<bool> front;
  for (const Outcome& outcome : outcomes) {
    front.push_back(outcome.best && std::none_of(outcomes.begin(), outcomes.end(), [&](const Outcome& other) {
                      return other.best && Dominates(other, outcome, goal);
                    }));
  }
  return front;
}

}  // namespace winnow

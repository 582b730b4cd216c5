#include "scheduler/pruners/standing_text.h"

#include <vector>

#include "scheduler/space/rounded.h"

namespace winnow {

std::string StandingText(const JobState& state, const Standing& standing, std::optional<size_t> front) {
  const std::vector<Objective> objectives = state.spec().AllObjectives();
  std::string text;
  for (size_t i = 0; i < standing.keys.size(); ++i) {
    // A key becomes the value again as the value became the key.
    text +=
        (i == 0 ? "" : ", ") + objectives[i].metric + " = " + SixDigits(objectives[i].Key(standing.keys[i]));
  }
  if (text.empty()) text = "no value";
  if (!standing.feasible())
    return text + " (violates metric_constraints by " + SixDigits(standing.violation) + ")";
  return front && objectives.size() > 1 ? text + " (front " + std::to_string(*front + 1) + ")" : text;
}

}  // namespace winnow

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler/state/facts.h"

namespace winnow {

// What each rule that chooses trainings (SuggestionRule) has earned: the records that its trainings set at
// rungs, beside those that chance would have given them. If all trainings were equally good, the one that
// arrives at a rung after n others would set a record with probability 1 / (n + 1), whoever chose it. A
// record and its expectation count half for the rule that created the trial, and half for the rule that chose
// the part that arrived. What was earned long ago counts less: each arrival multiplies what was earned at its
// rung by n / (n + 1).
class Earnings {
 public:
  // A trial has arrived at a rung at which `before` others arrived before it. `record`: 1 for a record, 0 for
  // none, and with several objectives, where a record has parts, the trial's part.
  void Arrived(size_t rung, SuggestionRule created, SuggestionRule chose, int64_t before, double record);

  // Records over expected records, both with one added: 1 without evidence, above 1 if the rule earns more
  // than chance.
  double Ratio(SuggestionRule rule) const;

  bool operator==(const Earnings&) const = default;

 private:
  struct AtRung {
    std::array<double, kSuggestionRules> records{}, expected{};

    bool operator==(const AtRung&) const = default;
  };
  std::vector<AtRung> rungs_;
};

}  // namespace winnow

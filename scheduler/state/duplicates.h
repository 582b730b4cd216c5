#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "scheduler/space/types.h"
#include "scheduler/state/curve.h"

namespace winnow {

// Detects trials that report the same to the bit although their configurations differ: what differs has no
// effect there, so that the end of one is known once the other has been trained. A duplicate is a trial that
// has arrived at a rung with the reports of an earlier one, its original, where duplicates are believed to
// remain such. The original is the first to arrive of those that may still show how all of them go on.
//
// Reports may also be the same by chance, as where a metric has few values. So what happened to those that
// were the same at a rung and went on counts: whether they were still the same at the next one. Duplicates at
// a rung are believed if this rung, or rungs from a lower one up to it, saw at least two more trials stay the
// same than twice as many as parted there or above. Curves that never change say nothing.
class Duplicates {
 public:
  // The reports of a trial so far.
  struct Print {
    uint64_t bits = 0;   // the same for the same reports, and otherwise different but for a chance of 2^-64
    bool moves = false;  // not all values are the same
  };
  // The print of all curves of a trial up to a level.
  static Print PrintOf(const std::vector<const Curve*>& curves, int64_t level);

  // The trial has arrived at a rung. The answer: which trials are duplicates now and were not before. O(1),
  // but O(trials) where that changes what is believed of a rung.
  std::vector<TrialNumber> Arrived(size_t rung, TrialNumber number, const Print& print);

  // The trial has ended, and not because it was trained to its end or failed: it shows no more, and is
  // nobody's original. The answer: which trials are duplicates no more. O(those that have reported the same).
  std::vector<TrialNumber> Left(TrialNumber number);

  // The trial's original at the highest rung at which it has arrived; itself: it is no duplicate.
  TrialNumber OriginalOf(TrialNumber number) const;
  bool IsDuplicate(TrialNumber number) const { return OriginalOf(number) != number; }

  bool operator==(const Duplicates&) const = default;

 private:
  struct AtRung {
    std::unordered_map<TrialNumber, uint64_t> prints;
    // By print, in the order of arrival, those that have not left.
    std::unordered_map<uint64_t, std::vector<TrialNumber>> same;
    int64_t stayed = 0, parted = 0;  // of those that were the same here, at the next rung
    bool believed = false;

    // The original of a trial that came with these bits.
    TrialNumber FirstOf(uint64_t bits, TrialNumber number) const;
    bool operator==(const AtRung&) const = default;
  };

  // What those that go on from below show about staying the same.
  void Learn(size_t rung, TrialNumber number, const Print& print);
  bool Believes(size_t rung) const;

  std::vector<AtRung> rungs_;
  bool any_ = false;  // whether any rung's duplicates are believed
};

}  // namespace winnow

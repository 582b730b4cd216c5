#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "scheduler/space/types.h"
#include "scheduler/state/curve.h"

namespace winnow {

// Detects that different configurations give one curve, to the bit: then the program hardly reads its
// arguments. Every part that a trainer finished is compared; of curves of different length, the common
// beginning. One curve that differs or holds a value that is not finite settles the question for the job: not
// identical.
class IdenticalCurves {
 public:
  static constexpr size_t kTrials = 5;

  // A part of the trial was finished. O(levels), and O(1) once it is settled.
  void OnPart(const SearchSpec& spec, TrialNumber trial, const Configuration& configuration,
              const Curve& curve);

  // kTrials of them, and no other one.
  bool seen() const { return !differs_ && trials_.size() == kTrials; }
  const std::vector<TrialNumber>& trials() const { return trials_; }

  bool operator==(const IdenticalCurves&) const = default;

 private:
  bool differs_ = false;
  std::vector<TrialNumber> trials_;            // of different configurations
  std::vector<Configuration> configurations_;  // theirs
  Curve longest_;
};

}  // namespace winnow

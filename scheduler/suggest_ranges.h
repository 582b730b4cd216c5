#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// A trial of an earlier job, its values in the order of the new job's parameters; Inactive: it had no such
// one.
struct EarlierTrial {
  Configuration configuration;
  double objective = 0;
};

struct EarlierJob {
  std::string id;
  Goal goal = Goal::kMaximize;
  // In the order of the new job's parameters; absent: the job has none of that name, or of another kind.
  std::vector<std::optional<Range>> ranges;
  std::vector<EarlierTrial> trials;  // with a value
};

struct SuggestedRange {
  size_t parameter = 0;
  Range range;
  bool wider = false;
  std::string why;  // a sentence
};

// Proposes ranges for a new job from what earlier jobs found, at most one per parameter. The best quarter of
// each job's trials are its good ones; objectives of different jobs are never compared.
//
// - Wider, by a quarter of the range on its own scale: the best value of the job with most trials is within 5
// %
//   of an end that this job's range and the new one share, and half of its good trials are within a quarter.
//   Numbers only; a range from 0 or above stays there.
// - Narrower: the good trials of all jobs, at least ten, lie in a part of the range so small that it holds
// them
//   all by chance with a probability of at most 5 %, if they were any of the trials. A tenth of the range is
//   added at both sides. A category goes if so many of its trials are not good by chance with at most that
//   probability.
std::vector<SuggestedRange> SuggestRanges(const std::vector<Parameter>& parameters,
                                          const std::vector<EarlierJob>& jobs);

// "0.001 to 1, LOG", "one of a, b"
std::string RangeText(const Range& range);

}  // namespace winnow

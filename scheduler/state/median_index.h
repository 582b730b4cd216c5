#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/space/types.h"
#include "scheduler/state/curve.h"
#include "scheduler/state/ranked_list.h"

namespace winnow {

// The running averages of ended trials at every level, in order. The average of a trial up to a level is the
// mean of all it reported at the level or below; after its last report it stays the same. An average that is
// not finite counts as worst.
class MedianIndex {
 public:
  // Not kept: Add does nothing.
  explicit MedianIndex(bool kept = true) : kept_(kept) {}

  // Keys are the curve's values times `sign`: less is better. O(levels log n); a level that is new costs a
  // copy of its neighbour. REQUIRES the trial was not added before.
  void Add(TrialNumber number, const Curve& curve, double sign);

  int64_t trials() const { return trials_; }

  struct Median {
    double key = 0;
    int64_t of = 0;  // how many have reported at the level or below
  };
  // The middle one of an odd number, the mean of the middle two of an even one. Absent: none has reported so
  // low, or the median is that of values which are not finite.
  std::optional<Median> At(int64_t level) const;

  // Beyond so many distinct levels, new ones are looked up at the nearest known one below: memory stays
  // within that many numbers a trial.
  static constexpr size_t kMostLevels = 1000;

  bool operator==(const MedianIndex&) const = default;

 private:
  struct Level {
    int64_t resource = 0;
    RankedList averages;

    bool operator==(const Level&) const = default;
  };

  bool kept_;
  int64_t trials_ = 0;
  std::vector<Level> levels_;  // by rising resource
};

}  // namespace winnow

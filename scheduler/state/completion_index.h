#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// Numbers in rising order, with sums of the least of them. Adding and summing cost O(sqrt n) simple steps:
// some microseconds at a million.
class OrderedSums {
 public:
  // REQUIRES it is finite.
  void Add(double value);

  int64_t size() const { return size_; }
  // The sum of the `count` least numbers. REQUIRES count <= size().
  double SumOfLeast(int64_t count) const;
  // REQUIRES index < size().
  double Nth(int64_t index) const;

  bool operator==(const OrderedSums&) const = default;

 private:
  struct Block {
    std::vector<double> values;  // not empty
    double sum = 0;              // always added up anew: what has passed through leaves no rounding behind

    bool operator==(const Block&) const = default;
  };
  int64_t size_ = 0;
  std::vector<Block> blocks_;
};

// What the completion rules look at: the values of ended trials when they ended, as keys (less is better);
// with several objectives the negated hypervolume of the front then. Only what the job's rules need is kept.
class CompletionIndex {
 public:
  explicit CompletionIndex(const Completion& rules) : rules_(rules) {}

  // A trial has ended; absent: it failed, has no finite objective, or the front has no hypervolume yet.
  void Add(std::optional<double> key);

  int64_t ended() const { return ended_; }
  // The best key of the first `count` trials that ended; +infinity: none has one. Kept for
  // no_improvement_trials.
  double BestOfFirst(int64_t count) const { return count > 0 ? best_[count - 1] : kNone; }
  // All keys. Kept for convergence_tolerance.
  const OrderedSums& keys() const { return keys_; }

  bool operator==(const CompletionIndex&) const = default;

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  Completion rules_;
  int64_t ended_ = 0;
  std::vector<double> best_;
  OrderedSums keys_;
};

}  // namespace winnow

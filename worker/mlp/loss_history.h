#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace winnow {

// The last `length` losses, sorted as they come: a list of sorted runs of at most 256, so that a loss costs
// two short searches and one short move.
class LossHistory {
 public:
  // REQUIRES: length >= 1.
  explicit LossHistory(int64_t length);

  // Where a loss stands among those before it.
  struct Place {
    int64_t below = 0, equal = 0;  // losses that are less, and as much
    int64_t count = 0;             // of all
  };
  // NaN counts as infinity.
  Place Find(float loss) const;

  // The oldest leaves if there are `length`.
  void Add(float loss);

  int64_t length() const { return length_; }
  std::vector<float> Oldest() const;  // first to last

 private:
  static constexpr int kMost = 256;
  struct Run {
    int32_t count = 0;
    float losses[kMost];
  };
  std::size_t RunFor(float loss) const;
  void Insert(float loss);
  void Erase(float loss);

  const int64_t length_;
  std::vector<float> ring_;  // in the order they came
  std::size_t next_ = 0;     // where the next goes, once the ring is full
  std::vector<Run> runs_;
  std::vector<float> last_;    // [run]: its largest
  std::vector<int32_t> size_;  // [run]
};

}  // namespace winnow

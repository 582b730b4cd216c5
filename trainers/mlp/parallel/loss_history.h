#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace winnow::mlp {

// The last `length` losses, sorted as they come: a list of short sorted runs, so that a loss costs two short
// searches and two short moves.
class LossHistory {
 public:
  // REQUIRES: length >= 1.
  explicit LossHistory(int64_t length) : length_(static_cast<std::size_t>(length)) {}

  // Where a loss stands among those before it: how many are less, as much, and there at all.
  struct Place {
    int64_t below = 0, equal = 0, count = 0;
  };

  // The place among the last `length`; then the loss is one of them, and the oldest of more leaves.
  // REQUIRES: finite.
  Place Add(float loss);

  std::vector<float> Losses() const;  // oldest first

 private:
  static constexpr int kMost = 128;  // of a run
  struct Run {
    float losses[kMost];  // infinity beyond the last
  };
  struct Position {
    std::size_t run;
    int at;
  };

  Position FirstNotBelow(float loss) const;
  int64_t EqualFrom(Position position, float loss) const;
  void Insert(Position position, float loss);
  void Erase(float loss);
  void Split(std::size_t run);

  std::size_t length_;
  std::vector<float> ring_;  // in the order they came
  std::size_t next_ = 0;     // where the next goes, once the ring is full
  std::vector<Run> runs_;    // none empty
  std::vector<int32_t> size_;
  std::vector<float> last_;  // [run]: its largest
};

}  // namespace winnow::mlp

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace winnow::mlp {

// The last `length` losses, always sorted: a list of short sorted runs, so that adding a loss costs two short
// searches and two short moves.
class LossHistory {
 public:
  // REQUIRES: length >= 1.
  explicit LossHistory(int64_t length) : length_(static_cast<std::size_t>(length)) {}

  // A loss's place among the earlier ones: how many are less, how many equal, and how many there are.
  struct Place {
    int64_t below = 0, equal = 0, count = 0;
  };

  // Returns the place among the last `length`; then adds the loss, and removes the oldest if there are more.
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
  std::size_t next_ = 0;     // index of the next loss, once the ring is full
  std::vector<Run> runs_;    // none empty
  std::vector<int32_t> size_;
  std::vector<float> last_;  // [run]: its largest
};

}  // namespace winnow::mlp

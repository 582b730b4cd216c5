#include "trainers/mlp/parallel/loss_history.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "trainers/common/instruction_sets.h"

namespace winnow::mlp {
namespace {

constexpr float kNone = std::numeric_limits<float>::infinity();  // above all losses

// Counts the values below x by comparing all: a binary search would wait for each comparison and mispredict
// half of its branches.
WINNOW_EACH_INSTRUCTION_SET
int CountBelow(const float* values, int count, float x) {
  int below = 0;
  for (int i = 0; i < count; ++i) below += values[i] < x ? 1 : 0;
  return below;
}

}  // namespace

// Returns the run that contains it, or would: past the last run if all losses are below.
LossHistory::Position LossHistory::FirstNotBelow(float loss) const {
  const auto run = static_cast<std::size_t>(CountBelow(last_.data(), static_cast<int>(last_.size()), loss));
  if (run == runs_.size()) return {run, 0};
  return {run, CountBelow(runs_[run].losses, kMost, loss)};
}

int64_t LossHistory::EqualFrom(Position position, float loss) const {
  int64_t equal = 0;
  for (auto [run, at] = position; run < runs_.size(); ++run, at = 0) {
    const float* const values = runs_[run].losses;
    if (values[at] != loss) break;
    if (last_[run] != loss)
      return equal + (std::upper_bound(values + at, values + size_[run], loss) - (values + at));
    equal += size_[run] - at;
  }
  return equal;
}

LossHistory::Place LossHistory::Add(float loss) {
  const Position position = FirstNotBelow(loss);
  Place place;
  place.below = std::accumulate(size_.begin(), size_.begin() + static_cast<std::ptrdiff_t>(position.run),
                                static_cast<int32_t>(position.at));
  place.equal = EqualFrom(position, loss);
  place.count = static_cast<int64_t>(ring_.size());
  Insert(position, loss);
  if (ring_.size() < length_) {
    ring_.push_back(loss);
  } else {
    Erase(ring_[next_]);
    ring_[next_] = loss;
    next_ = next_ + 1 == length_ ? 0 : next_ + 1;
  }
  return place;
}

void LossHistory::Insert(Position position, float loss) {
  if (runs_.empty()) {
    std::fill_n(runs_.emplace_back().losses, kMost, kNone);
    size_.push_back(0);
    last_.push_back(loss);
    position = {0, 0};
  } else if (position.run == runs_.size()) {
    position = {runs_.size() - 1, size_.back()};
  }
  if (size_[position.run] == kMost) {
    Split(position.run);
    if (position.at > kMost / 2) position = {position.run + 1, position.at - kMost / 2};
  }
  int32_t& size = size_[position.run];
  float* const at = runs_[position.run].losses + position.at;
  std::memmove(at + 1, at, static_cast<std::size_t>(size - position.at) * sizeof(float));
  *at = loss;
  ++size;
  last_[position.run] = runs_[position.run].losses[size - 1];
}

void LossHistory::Erase(float loss) {
  const auto [run, position] = FirstNotBelow(loss);
  float* const at = runs_[run].losses + position;
  int32_t& size = size_[run];
  std::memmove(at, at + 1, static_cast<std::size_t>(size - position - 1) * sizeof(float));
  runs_[run].losses[size - 1] = kNone;
  if (--size > 0) {
    last_[run] = runs_[run].losses[size - 1];
    return;
  }
  const auto gone = static_cast<std::ptrdiff_t>(run);
  runs_.erase(runs_.begin() + gone);
  size_.erase(size_.begin() + gone);
  last_.erase(last_.begin() + gone);
}

// Splits a full run: its upper half becomes the next.
void LossHistory::Split(std::size_t run) {
  const auto next = static_cast<std::ptrdiff_t>(run + 1);
  float* const half = runs_[run].losses + kMost / 2;
  Run upper;
  std::copy_n(half, kMost / 2, upper.losses);
  std::fill_n(upper.losses + kMost / 2, kMost / 2, kNone);
  std::fill_n(half, kMost / 2, kNone);
  runs_.insert(runs_.begin() + next, upper);
  size_.insert(size_.begin() + next, kMost / 2);
  last_.insert(last_.begin() + next, last_[run]);
  size_[run] = kMost / 2;
  last_[run] = runs_[run].losses[kMost / 2 - 1];
}

std::vector<float> LossHistory::Losses() const {
  std::vector<float> losses(ring_.begin() + static_cast<std::ptrdiff_t>(next_), ring_.end());
  losses.insert(losses.end(), ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(next_));
  return losses;
}

}  // namespace winnow::mlp

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "trainers/gbdt/bins/radix_sort.h"

namespace winnow::gbdt {

// The weights, as whole numbers, of the positives and negatives among the rows of one score.
struct TieRun {
  uint64_t key = 0;  // OrderedKey of the score
  uint64_t positive = 0, negative = 0;

  bool operator==(const TieRun&) const = default;
};

// One score per row, with labels from 0 to 1, of which a fraction counts in part as each class; weights, or
// none if all are 1.
struct ScoredRows {
  std::span<const float> score, label, weight;

  // Whether every row is one whole positive or negative.
  bool plain() const {
    int64_t others = 0;  // without a branch, because labels of 0 and 1 are hard to predict
    for (const float y : label) others += static_cast<int64_t>(y != 0.0f) & static_cast<int64_t>(y != 1.0f);
    return weight.empty() && others == 0;
  }
  // The parts of row i, in units of 1 / scale.
  uint64_t Positive(std::size_t i, double scale) const { return Part(i, Label(i), scale); }
  uint64_t Negative(std::size_t i, double scale) const { return Part(i, 1.0 - Label(i), scale); }

 private:
  double Label(std::size_t i) const { return std::clamp(static_cast<double>(label[i]), 0.0, 1.0); }
  uint64_t Part(std::size_t i, double share, double scale) const {
    return static_cast<uint64_t>((weight.empty() ? 1.0 : static_cast<double>(weight[i])) * share * scale);
  }
};

// Keys of plain rows, ascending, by class: sorting bare keys twice is several times faster than sorting rows.
struct PlainKeys {
  PlainKeys() = default;
  explicit PlainKeys(const ScoredRows& rows);

  // Twice the number of pairs in the right order, ties half, without a branch that depends on the data.
  uint64_t TwiceRightPairs() const;

  std::vector<uint32_t> negative, positive;
};

// Calls use(run) for each score of plain rows, from the highest down; weights are counts.
template <typename Use>
void ForEachPlainRun(const PlainKeys& keys, const Use& use) {
  auto negative = keys.negative.rbegin(), positive = keys.positive.rbegin();
  const auto negatives_end = keys.negative.rend(), positives_end = keys.positive.rend();
  while (negative != negatives_end || positive != positives_end) {
    const uint32_t next =
        std::max(negative == negatives_end ? 0 : *negative, positive == positives_end ? 0 : *positive);
    TieRun run{next, 0, 0};
    for (; negative != negatives_end && *negative == next; ++negative) ++run.negative;
    for (; positive != positives_end && *positive == next; ++positive) ++run.positive;
    use(run);
  }
}

// Calls use(run) for each score of any rows, with weights in units of 1 / scale. REQUIRES: fewer than 2^32
// rows.
template <typename Use>
void ForEachWeightedRun(const ScoredRows& rows, double scale, const Use& use) {
  std::vector<uint64_t> order(rows.score.size()), scratch;  // key, then row
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = uint64_t{OrderedKey(rows.score[i])} << 32 | i;
  RadixSortUpper(&order, &scratch);
  TieRun run;
  for (std::size_t n = order.size(); n-- > 0;) {
    const uint64_t key = order[n] >> 32;
    const std::size_t i = order[n] & 0xffffffffu;
    if (n + 1 < order.size() && key != run.key) {
      use(run);
      run = {};
    }
    run.key = key;
    run.positive += rows.Positive(i, scale);
    run.negative += rows.Negative(i, scale);
  }
  if (!order.empty()) use(run);
}

}  // namespace winnow::gbdt

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "worker/gbdt/ordered_key.h"
#include "worker/gbdt/radix_sort.h"

namespace winnow {

// The weights, as whole numbers, of the positives and negatives among rows of one score.
struct TieRun {
  uint64_t key = 0;  // OrderedKey of the score
  uint64_t positive = 0, negative = 0;

  bool operator==(const TieRun&) const = default;
};

// One score a row, and what it is to be compared with: labels from 0 to 1, of which a fraction counts in part
// as each; weights, or none where all are 1.
struct ScoredRows {
  std::span<const float> score, label, weight;

  bool plain() const {
    return weight.empty() &&
           std::all_of(label.begin(), label.end(), [](float y) { return y == 0.0f || y == 1.0f; });
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

// Calls use(run) for each score, from the highest down, of plain rows, whose weights are counts: two sorts of
// bare keys and a merge, several times faster than sorting rows.
template <typename Use>
void ForEachPlainRun(const ScoredRows& rows, const Use& use) {
  std::vector<uint32_t> keys[2], scratch;
  std::size_t count[2] = {0, 0};
  keys[0].resize(rows.score.size());
  keys[1].resize(rows.score.size());
  for (std::size_t i = 0; i < rows.score.size(); ++i) {
    const bool positive = rows.label[i] == 1.0f;
    keys[0][count[0]] = keys[1][count[1]] = OrderedKey(rows.score[i]);
    count[0] += !positive;
    count[1] += positive;
  }
  keys[0].resize(count[0]);
  keys[1].resize(count[1]);
  RadixSort(&keys[0], &scratch);
  RadixSort(&keys[1], &scratch);
  auto negative = keys[0].rbegin(), positive = keys[1].rbegin();
  while (negative != keys[0].rend() || positive != keys[1].rend()) {
    const uint32_t next =
        std::max(negative == keys[0].rend() ? 0 : *negative, positive == keys[1].rend() ? 0 : *positive);
    TieRun run{next, 0, 0};
    for (; negative != keys[0].rend() && *negative == next; ++negative) ++run.negative;
    for (; positive != keys[1].rend() && *positive == next; ++positive) ++run.positive;
    use(run);
  }
}

// The same of any rows, with their weights in units of 1 / scale. REQUIRES: fewer than 2^32 rows.
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

// Numbers as bytes, the fewer the smaller they are; runs are in descending order of keys.
std::string EncodeRuns(std::span<const TieRun> runs);
std::vector<TieRun> DecodeRuns(std::string_view bytes);

}  // namespace winnow

#include "trainers/gbdt/objective/tie_runs.h"

namespace winnow::gbdt {
namespace {

// The state of a merge of two ascending lists, and its counts: for each positive passed the negatives before
// it, which are those below it or, if Ties, not above it.
template <bool Ties>
struct MergeCount {
  std::size_t negative = 0, positive = 0;
  uint64_t sum = 0;

  void Step(const std::vector<uint32_t>& negatives, const std::vector<uint32_t>& positives) {
    const bool before =
        Ties ? negatives[negative] <= positives[positive] : negatives[negative] < positives[positive];
    sum += before ? 0 : negative;
    negative += before ? 1 : 0;
    positive += before ? 0 : 1;
  }
};

}  // namespace

PlainKeys::PlainKeys(const ScoredRows& rows) {
  const std::size_t size = rows.score.size();
  std::size_t positives = 0;
  for (const float label : rows.label) positives += label == 1.0f ? 1 : 0;
  // One more of each, because every key is first written to both.
  negative.resize(size - positives + 1);
  positive.resize(positives + 1);
  uint32_t* next_negative = negative.data();
  uint32_t* next_positive = positive.data();
  for (std::size_t i = 0; i < size; ++i) {
    const bool is_positive = rows.label[i] == 1.0f;
    *next_negative = *next_positive = OrderedKey(rows.score[i]);
    next_negative += is_positive ? 0 : 1;
    next_positive += is_positive ? 1 : 0;
  }
  negative.pop_back();
  positive.pop_back();
  std::vector<uint32_t> scratch;
  RadixSort(&negative, &scratch);
  RadixSort(&positive, &scratch);
}

uint64_t PlainKeys::TwiceRightPairs() const {
  const std::size_t negatives = negative.size(), positives = positive.size();
  MergeCount<false> below;
  MergeCount<true> not_above;
  // Interleaved, because each step depends on the previous one.
  while (not_above.negative < negatives && below.negative < negatives && below.positive < positives &&
         not_above.positive < positives) {
    below.Step(negative, positive);
    not_above.Step(negative, positive);
  }
  while (below.negative < negatives && below.positive < positives) below.Step(negative, positive);
  while (not_above.negative < negatives && not_above.positive < positives) not_above.Step(negative, positive);
  return below.sum + not_above.sum + negatives * (positives - below.positive) +
         negatives * (positives - not_above.positive);
}

}  // namespace winnow::gbdt

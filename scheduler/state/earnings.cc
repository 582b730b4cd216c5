#include "scheduler/state/earnings.h"

#include <algorithm>

namespace winnow {
namespace {

// The first few to arrive would all set records.
constexpr int64_t kLeastBefore = 3;

}  // namespace

void Earnings::Arrived(size_t rung, SuggestionRule created, SuggestionRule chose, int64_t before,
                       double record) {
  rungs_.resize(std::max(rungs_.size(), rung + 1));
  AtRung& at = rungs_[rung];
  const double chance = 1 / static_cast<double>(before + 1);
  for (size_t i = 0; i < kSuggestionRules; ++i) {
    at.records[i] *= 1 - chance;
    at.expected[i] *= 1 - chance;
  }
  if (before < kLeastBefore) return;
  for (const SuggestionRule rule : {created, chose}) {
    at.expected[static_cast<size_t>(rule)] += chance / 2;
    at.records[static_cast<size_t>(rule)] += record / 2;
  }
}

double Earnings::Ratio(SuggestionRule rule) const {
  double records = 1, expected = 1;
  for (const AtRung& at : rungs_) {
    records += at.records[static_cast<size_t>(rule)];
    expected += at.expected[static_cast<size_t>(rule)];
  }
  return records / expected;
}

}  // namespace winnow

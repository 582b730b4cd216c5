#include "scheduler/state/duplicates.h"

#include <algorithm>
#include <bit>

#include "base/hash.h"

namespace winnow {

Duplicates::Print Duplicates::PrintOf(const std::vector<const Curve*>& curves, int64_t level) {
  Print print;
  for (size_t i = 0; i < curves.size(); ++i) {
    for (const auto& [at, value] : *curves[i]) {
      if (at > level) break;
      const auto bits = std::bit_cast<uint64_t>(value);
      print.moves = print.moves || bits != std::bit_cast<uint64_t>((*curves[i])[0].second);
      print.bits = HashOf(print.bits, i, static_cast<uint64_t>(at), bits);
    }
  }
  return print;
}

std::vector<TrialNumber> Duplicates::Arrived(size_t rung, TrialNumber number, const Print& print) {
  rungs_.resize(std::max(rungs_.size(), rung + 1));
  if (rung > 0) Learn(rung, number, print);
  rungs_[rung].prints.emplace(number, print.bits);
  rungs_[rung].same[print.bits].push_back(number);
  std::vector<TrialNumber> duplicates;
  if (rungs_[rung].believed && IsDuplicate(number)) duplicates.push_back(number);
  any_ = false;
  for (size_t k = 0; k < rungs_.size(); ++k) {
    const bool before = rungs_[k].believed;
    rungs_[k].believed = Believes(k);
    any_ = any_ || rungs_[k].believed;
    if (before || !rungs_[k].believed) continue;
    for (const auto& [known, bits] : rungs_[k].prints) {
      if (rungs_[k].FirstOf(bits, known) != known) duplicates.push_back(known);
    }
  }
  std::sort(duplicates.begin(), duplicates.end());
  duplicates.erase(std::unique(duplicates.begin(), duplicates.end()), duplicates.end());
  return duplicates;
}

void Duplicates::Learn(size_t rung, TrialNumber number, const Print& print) {
  AtRung& below = rungs_[rung - 1];
  const auto own = below.prints.find(number);
  if (own == below.prints.end()) return;
  const TrialNumber original = below.FirstOf(own->second, number);
  if (original == number) return;
  const auto there = rungs_[rung].prints.find(original);
  if (there == rungs_[rung].prints.end()) return;
  if (there->second != print.bits) {
    ++below.parted;
  } else if (print.moves) {
    ++below.stayed;
  }
}

bool Duplicates::Believes(size_t rung) const {
  int64_t stayed = 0, parted = 0;
  for (size_t k = rungs_.size(); k-- > 0;) {
    if (k <= rung) stayed += rungs_[k].stayed;
    parted += rungs_[k].parted;
    if (k <= rung && stayed >= 2 * parted + 2) return true;
  }
  return false;
}

std::vector<TrialNumber> Duplicates::Left(TrialNumber number) {
  std::vector<TrialNumber> next;
  for (AtRung& at : rungs_) {
    const auto print = at.prints.find(number);
    if (print == at.prints.end()) continue;
    std::vector<TrialNumber>& same = at.same.at(print->second);
    if (same.size() > 1 && OriginalOf(same[1]) == number) next.push_back(same[1]);
    std::erase(same, number);
  }
  std::erase_if(next, [this](TrialNumber one) { return IsDuplicate(one); });
  std::sort(next.begin(), next.end());
  next.erase(std::unique(next.begin(), next.end()), next.end());
  return next;
}

TrialNumber Duplicates::AtRung::FirstOf(uint64_t bits, TrialNumber number) const {
  const auto found = same.find(bits);
  return found == same.end() || found->second.empty() ? number : found->second.front();
}

TrialNumber Duplicates::OriginalOf(TrialNumber number) const {
  if (!any_) return number;
  for (auto at = rungs_.rbegin(); at != rungs_.rend(); ++at) {
    const auto print = at->prints.find(number);
    if (print != at->prints.end()) return at->believed ? at->FirstOf(print->second, number) : number;
  }
  return number;
}

}  // namespace winnow

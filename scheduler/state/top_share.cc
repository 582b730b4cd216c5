#include "scheduler/state/top_share.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace winnow {
namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();

}  // namespace

void TopShare::Add(double key, TrialNumber number) {
  const bool finite = std::isfinite(key);
  places_.emplace(number, Place{finite ? key : kWorst, false});
  if (!finite) return;
  finite_.Add({key, number});
  waiting_.Add({key, number});
}

void TopShare::Take(TrialNumber number) {
  const auto found = places_.find(number);
  if (found == places_.end()) return;
  found->second.taken = true;
  waiting_.DropUnless([this](const FirstOf::Entry& entry) { return !places_.at(entry.second).taken; });
}

void TopShare::Fail(TrialNumber number) {
  const auto found = places_.find(number);
  if (found == places_.end()) return;
  if (found->second.key < kWorst) finite_.Remove({found->second.key, number});
  found->second.key = kWorst;
  Take(number);
}

void TopShare::Return(double key, TrialNumber number, bool taken) {
  const auto found = places_.find(number);
  if (found == places_.end() || found->second.key < kWorst) return;
  waiting_.KeepOnly([this](const FirstOf::Entry& entry) { return !places_.at(entry.second).taken; });
  places_.erase(found);
  Add(key, number);
  if (taken) Take(number);
}

bool TopShare::IsTop(TrialNumber number) const {
  const auto found = places_.find(number);
  return found != places_.end() && found->second.key < kWorst &&
         static_cast<int64_t>(finite_.Rank({found->second.key, number})) < places();
}

bool TopShare::IsTopOrTied(TrialNumber number) const {
  const auto found = places_.find(number);
  return found != places_.end() && found->second.key < kWorst &&
         static_cast<int64_t>(finite_.CountBelow(found->second.key)) < std::max<int64_t>(1, places());
}

std::optional<TrialNumber> TopShare::best_waiting() const {
  if (waiting_.empty()) return std::nullopt;
  const RankedList::Entry& best = waiting_.first();
  if (static_cast<int64_t>(finite_.Rank(best)) >= places()) return std::nullopt;
  return best.second;
}

int64_t TopShare::Rank(TrialNumber number) const {
  const auto found = places_.find(number);
  return static_cast<int64_t>(found == places_.end() ? finite_.size()
                                                     : finite_.Rank({found->second.key, number}));
}

std::optional<double> TopShare::cutoff() const {
  const auto most = std::min(static_cast<size_t>(places()), finite_.size());
  if (most == 0) return std::nullopt;
  return finite_.Nth(most - 1).first;
}

std::optional<double> TopShare::best() const {
  if (finite_.size() == 0) return std::nullopt;
  return finite_.Nth(0).first;
}

}  // namespace winnow

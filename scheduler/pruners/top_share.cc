#include "scheduler/pruners/top_share.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace winnow {
namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();

}  // namespace

void TopShare::Add(double key, TrialNumber number) {
  const bool finite = std::isfinite(key);
  keys_.emplace(number, finite ? key : kWorst);
  if (!finite) return;
  finite_.Add({key, number});
  waiting_.emplace(key, number);
}

void TopShare::Take(TrialNumber number) {
  const auto found = keys_.find(number);
  if (found != keys_.end()) waiting_.erase({found->second, number});
}

bool TopShare::IsTop(TrialNumber number) const {
  const auto found = keys_.find(number);
  return found != keys_.end() && found->second < kWorst &&
         static_cast<int64_t>(finite_.Rank({found->second, number})) < places();
}

bool TopShare::IsTopOrTied(TrialNumber number) const {
  const auto found = keys_.find(number);
  return found != keys_.end() && found->second < kWorst &&
         static_cast<int64_t>(finite_.CountBelow(found->second)) < std::max<int64_t>(1, places());
}

std::optional<TrialNumber> TopShare::best_waiting() const {
  if (waiting_.empty()) return std::nullopt;
  const RankedList::Entry& best = *waiting_.begin();
  if (static_cast<int64_t>(finite_.Rank(best)) >= places()) return std::nullopt;
  return best.second;
}

int64_t TopShare::Rank(TrialNumber number) const {
  const auto found = keys_.find(number);
  return static_cast<int64_t>(found == keys_.end() ? finite_.size() : finite_.Rank({found->second, number}));
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

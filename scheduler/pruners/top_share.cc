#include "scheduler/pruners/top_share.h"

#include <cmath>

namespace winnow {

void TopShare::Add(double key, TrialNumber number) {
  ++size_;
  if (std::isfinite(key)) rest_.emplace(key, number);
  Settle();
}

// The places follow the count, which never falls: entries leave the top only for better ones.
void TopShare::Settle() {
  const auto places = static_cast<size_t>(size_ / reduction_factor_);
  const auto raise = [this] {
    const Entry entry = *rest_.begin();
    rest_.erase(rest_.begin());
    top_.insert(entry);
    in_top_.emplace(entry.second, entry.first);
    if (taken_.count(entry.second) == 0) waiting_.insert(entry);
  };
  while (top_.size() < places && !rest_.empty()) raise();
  while (!top_.empty() && !rest_.empty() && *rest_.begin() < *top_.rbegin()) {
    const Entry worst = *top_.rbegin();
    top_.erase(worst);
    in_top_.erase(worst.second);
    waiting_.erase(worst);
    raise();
    rest_.insert(worst);
  }
}

void TopShare::Take(TrialNumber number) {
  taken_.insert(number);
  const auto found = in_top_.find(number);
  if (found != in_top_.end()) waiting_.erase({found->second, number});
}

bool TopShare::IsTop(TrialNumber number) const { return in_top_.count(number) > 0; }

std::optional<TrialNumber> TopShare::best_waiting() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->second;
}

int64_t TopShare::Rank(TrialNumber number) const {
  int64_t rank = 0;
  for (const std::set<Entry>* part : {&top_, &rest_}) {
    for (const Entry& entry : *part) {
      if (entry.second == number) return rank;
      ++rank;
    }
  }
  return size_ - 1;
}

std::optional<double> TopShare::cutoff() const {
  if (top_.empty()) return std::nullopt;
  return top_.rbegin()->first;
}

}  // namespace winnow

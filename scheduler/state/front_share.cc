#include "scheduler/state/front_share.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "scheduler/models/hypervolume.h"

namespace winnow {

void FrontShare::Add(Standing standing) {
  const TrialNumber number = standing.number;
  if (!standing.finite()) standing.keys.clear();  // a NaN would not equal itself
  const Standing& added = places_.emplace(number, Place{std::move(standing), false}).first->second.standing;
  if (added.finite() && added.feasible()) {
    AddToBounds(added.keys);
    AddToFronts(number);
  } else if (added.finite()) {
    const std::pair entry(added.violation, number);
    infeasible_.insert(std::upper_bound(infeasible_.begin(), infeasible_.end(), entry), entry);
  }
  OrderTop();
}

void FrontShare::AddToBounds(const ObjectivePoint& keys) {
  if (low_.empty()) low_ = high_ = keys;
  for (size_t i = 0; i < low_.size(); ++i) {
    low_[i] = std::min(low_[i], keys[i]);
    high_[i] = std::max(high_[i], keys[i]);
  }
}

// The new trial takes its place in the first front that holds none that dominates it; those that it dominates
// there go to the next front, and so on down.
void FrontShare::AddToFronts(TrialNumber number) {
  const auto dominates = [this](TrialNumber a, TrialNumber b) {
    return Dominates(places_.at(a).standing.keys, places_.at(b).standing.keys);
  };
  const auto any_over = [&](const std::vector<TrialNumber>& front) {
    return std::any_of(front.begin(), front.end(),
                       [&](TrialNumber other) { return dominates(other, number); });
  };
  auto at =
      static_cast<size_t>(std::partition_point(fronts_.begin(), fronts_.end(), any_over) - fronts_.begin());
  std::vector<TrialNumber> coming = {number};
  for (; !coming.empty(); ++at) {
    if (at == fronts_.size()) fronts_.emplace_back();
    std::vector<TrialNumber>& front = fronts_[at];
    const auto below = [&](TrialNumber known) {
      return std::any_of(coming.begin(), coming.end(),
                         [&](TrialNumber one) { return dominates(one, known); });
    };
    const auto stays =
        std::stable_partition(front.begin(), front.end(), [&](TrialNumber known) { return !below(known); });
    if (stays == front.begin() && !front.empty()) {
      // All of this front goes down, and so do all fronts below it: a trial there is dominated by one of
      // these.
      fronts_.insert(fronts_.begin() + static_cast<std::ptrdiff_t>(at), std::move(coming));
      return;
    }
    std::vector<TrialNumber> down(stays, front.end());
    front.erase(stays, front.end());
    front.insert(front.end(), coming.begin(), coming.end());
    std::sort(front.begin(), front.end());
    coming = std::move(down);
  }
}

// The trials of the next front that nothing of this one dominates any more come up, and so on down. Where a
// front is left empty, those below it are the next ones as they are.
void FrontShare::RemoveFromFronts(TrialNumber number) {
  auto at = *FrontOf(number);
  fronts_[at].erase(std::find(fronts_[at].begin(), fronts_[at].end(), number));
  for (; at + 1 < fronts_.size() && !fronts_[at].empty(); ++at) {
    std::vector<TrialNumber>&front = fronts_[at], &below = fronts_[at + 1];
    const size_t known = front.size();
    const auto rises = [&](TrialNumber one) {
      return std::none_of(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(known),
                          [&](TrialNumber other) {
                            return Dominates(places_.at(other).standing.keys, places_.at(one).standing.keys);
                          });
    };
    const auto stay =
        std::stable_partition(below.begin(), below.end(), [&](TrialNumber one) { return !rises(one); });
    const std::vector<TrialNumber> up(stay, below.end());
    below.erase(stay, below.end());
    if (up.empty()) break;
    front.insert(front.end(), up.begin(), up.end());
    std::sort(front.begin(), front.end());
  }
  std::erase_if(fronts_, [](const auto& front) { return front.empty(); });
}

ObjectivePoint FrontShare::Reference() const {
  ObjectivePoint reference = WorstWithMargin({low_, high_});
  for (size_t i = 0; i < objectives_.size(); ++i) {
    if (objectives_[i].threshold) reference[i] = objectives_[i].Key(*objectives_[i].threshold);
  }
  return reference;
}

std::vector<TrialNumber> FrontShare::Ordered(const std::vector<TrialNumber>& front) const {
  std::vector<ObjectivePoint> points;
  for (const TrialNumber number : front) points.push_back(places_.at(number).standing.keys);
  std::vector<TrialNumber> ordered;
  for (const size_t index : SpreadOrder(points, Reference())) ordered.push_back(front[index]);
  return ordered;
}

void FrontShare::OrderTop() {
  const auto most = static_cast<size_t>(std::max<int64_t>(1, places()));
  top_.clear();
  for (const std::vector<TrialNumber>& front : fronts_) {
    if (top_.size() >= most) break;
    if (front.size() == 1) {  // as a rule, with one objective
      top_.push_back(front[0]);
      continue;
    }
    const std::vector<TrialNumber> ordered = Ordered(front);
    top_.insert(top_.end(), ordered.begin(), ordered.end());
  }
  for (const auto& [violation, number] : infeasible_) {
    if (top_.size() >= most) break;
    top_.push_back(number);
  }
  top_.resize(std::min(top_.size(), most));
}

void FrontShare::Take(TrialNumber number) {
  const auto found = places_.find(number);
  if (found != places_.end()) found->second.taken = true;
}

void FrontShare::Fail(TrialNumber number) {
  const auto found = places_.find(number);
  if (found == places_.end()) return;
  Standing& standing = found->second.standing;
  if (standing.finite() && standing.feasible()) RemoveFromFronts(number);
  std::erase_if(infeasible_, [number](const auto& entry) { return entry.second == number; });
  standing.keys.clear();
  low_.clear();
  high_.clear();
  for (const std::vector<TrialNumber>& front : fronts_) {
    for (const TrialNumber one : front) AddToBounds(places_.at(one).standing.keys);
  }
  found->second.taken = true;
  OrderTop();
}

int64_t FrontShare::PlaceInTop(TrialNumber number) const {
  const auto found = std::find(top_.begin(), top_.end(), number);
  return found == top_.end() ? std::numeric_limits<int64_t>::max() : found - top_.begin();
}

bool FrontShare::IsTopOrTied(TrialNumber number) const {
  const auto found = places_.find(number);
  if (found == places_.end() || top_.empty()) return false;
  if (PlaceInTop(number) < std::max<int64_t>(1, places())) return true;
  const Standing& last = places_.at(top_.back()).standing;
  const Standing& own = found->second.standing;
  return own.keys == last.keys && own.violation == last.violation;
}

std::optional<TrialNumber> FrontShare::best_waiting(const PassedOver& passed_over) const {
  const auto most = std::min(top_.size(), static_cast<size_t>(places()));
  const auto end = top_.begin() + static_cast<std::ptrdiff_t>(most);
  const auto found = std::find_if(top_.begin(), end, [&](TrialNumber number) {
    return !places_.at(number).taken && !(passed_over && passed_over(number));
  });
  return found == end ? std::nullopt : std::make_optional(*found);
}

std::optional<size_t> FrontShare::FrontOf(TrialNumber number) const {
  for (size_t f = 0; f < fronts_.size(); ++f) {
    if (std::binary_search(fronts_[f].begin(), fronts_[f].end(), number)) return f;
  }
  return std::nullopt;
}

double FrontShare::PartOfRecord(TrialNumber number) const {
  if (fronts_.empty()) return !infeasible_.empty() && infeasible_[0].second == number ? 1 : 0;
  const std::vector<TrialNumber>& front = fronts_[0];
  const auto found = std::lower_bound(front.begin(), front.end(), number);
  if (found == front.end() || *found != number) return 0;
  const double equal = 1 / static_cast<double>(front.size());
  if (objectives_.size() > 2 && front.size() > kMostByVolume) return equal;
  std::vector<ObjectivePoint> points;
  for (const TrialNumber one : front) points.push_back(places_.at(one).standing.keys);
  const std::vector<double> own = OwnHypervolumes(points, Reference());
  const double all = std::accumulate(own.begin(), own.end(), 0.0);
  return all > 0 ? own[static_cast<size_t>(found - front.begin())] / all : equal;
}

int64_t FrontShare::Rank(TrialNumber number) const {
  int64_t before = 0;
  const auto place = [number](const std::vector<TrialNumber>& list) {
    return std::find(list.begin(), list.end(), number) - list.begin();
  };
  for (const std::vector<TrialNumber>& front : fronts_) {
    if (std::binary_search(front.begin(), front.end(), number)) return before + place(Ordered(front));
    before += static_cast<int64_t>(front.size());
  }
  const auto found = std::find_if(infeasible_.begin(), infeasible_.end(),
                                  [number](const auto& entry) { return entry.second == number; });
  return before + (found - infeasible_.begin());
}

}  // namespace winnow

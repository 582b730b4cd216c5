#include "scheduler/state/front_share.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "scheduler/models/hypervolume.h"

namespace winnow {

void FrontShare::Add(Standing standing) {
  const ObjectivePoint reference = Reference();
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
  ForgetOrdersUnless(reference);
}

void FrontShare::ForgetOrdersUnless(const ObjectivePoint& reference) {
  if (Reference() == reference) return;
  for (Front& front : fronts_) front.leading.clear();
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
  const auto any_over = [&](const Front& front) {
    return std::any_of(front.members.begin(), front.members.end(),
                       [&](TrialNumber other) { return dominates(other, number); });
  };
  auto at =
      static_cast<size_t>(std::partition_point(fronts_.begin(), fronts_.end(), any_over) - fronts_.begin());
  std::vector<TrialNumber> coming = {number};
  for (; !coming.empty(); ++at) {
    if (at == fronts_.size()) fronts_.emplace_back();
    std::vector<TrialNumber>& front = fronts_[at].members;
    const auto below = [&](TrialNumber known) {
      return std::any_of(coming.begin(), coming.end(),
                         [&](TrialNumber one) { return dominates(one, known); });
    };
    const auto stays =
        std::stable_partition(front.begin(), front.end(), [&](TrialNumber known) { return !below(known); });
    if (stays == front.begin() && !front.empty()) {
      // All of this front goes down, and so do all fronts below it: a trial there is dominated by one of
      // these.
      fronts_.insert(fronts_.begin() + static_cast<std::ptrdiff_t>(at), Front{std::move(coming)});
      return;
    }
    std::vector<TrialNumber> down(stays, front.end());
    front.erase(stays, front.end());
    front.insert(front.end(), coming.begin(), coming.end());
    std::sort(front.begin(), front.end());
    fronts_[at].leading.clear();
    coming = std::move(down);
  }
}

// The trials of the next front that nothing of this one dominates any more come up, and so on down. Where a
// front is left empty, those below it are the next ones as they are.
void FrontShare::RemoveFromFronts(TrialNumber number) {
  auto at = *FrontOf(number);
  std::erase(fronts_[at].members, number);
  fronts_[at].leading.clear();
  for (; at + 1 < fronts_.size() && !fronts_[at].members.empty(); ++at) {
    std::vector<TrialNumber>&front = fronts_[at].members, &below = fronts_[at + 1].members;
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
    fronts_[at].leading.clear();
    fronts_[at + 1].leading.clear();
  }
  std::erase_if(fronts_, [](const Front& front) { return front.members.empty(); });
}

ObjectivePoint FrontShare::Reference() const {
  if (low_.empty()) return {};
  ObjectivePoint reference = WorstWithMargin({low_, high_});
  for (size_t i = 0; i < objectives_.size(); ++i) {
    if (objectives_[i].threshold) reference[i] = objectives_[i].Key(*objectives_[i].threshold);
  }
  return reference;
}

const std::vector<TrialNumber>& FrontShare::Leading(const Front& front, size_t most) const {
  const size_t size = front.members.size(), known = front.leading.size();
  if (known >= std::min(most, size)) return front.leading;
  if (size == 1) return front.members;  // as a rule, with one objective
  std::vector<ObjectivePoint> points;
  for (const TrialNumber number : front.members) points.push_back(places_.at(number).standing.keys);
  // Who asks for more and more places soon has them all.
  const std::vector<size_t> order =
      SpreadOrder(points, Reference(), std::min(size, std::max(most, 2 * known)));
  front.leading.clear();
  for (const size_t index : order) front.leading.push_back(front.members[index]);
  questions_.compared += static_cast<int64_t>(objectives_.size() > 2 ? size * order.size() : size);
  return front.leading;
}

void FrontShare::Take(TrialNumber number) {
  const auto found = places_.find(number);
  if (found != places_.end()) found->second.taken = true;
}

void FrontShare::Fail(TrialNumber number) {
  const auto found = places_.find(number);
  if (found == places_.end()) return;
  const ObjectivePoint reference = Reference();
  Standing& standing = found->second.standing;
  if (standing.finite() && standing.feasible()) RemoveFromFronts(number);
  std::erase_if(infeasible_, [number](const auto& entry) { return entry.second == number; });
  standing.keys.clear();
  low_.clear();
  high_.clear();
  for (const Front& front : fronts_) {
    for (const TrialNumber one : front.members) AddToBounds(places_.at(one).standing.keys);
  }
  found->second.taken = true;
  ForgetOrdersUnless(reference);
}

void FrontShare::Return(Standing standing, bool taken) {
  const TrialNumber number = standing.number;
  const auto found = places_.find(number);
  if (found == places_.end() || !found->second.standing.keys.empty()) return;
  places_.erase(found);
  Add(std::move(standing));
  if (taken) Take(number);
}

bool FrontShare::IsAmong(TrialNumber number, int64_t most, bool or_tied) const {
  auto left = static_cast<size_t>(most);
  for (const Front& front : fronts_) {
    const size_t size = front.members.size();
    if (left == 0) return false;
    if (front.Has(number)) {
      if (size <= left) return true;
      const auto& leading = Leading(front, left);
      const auto end = leading.begin() + static_cast<std::ptrdiff_t>(left);
      if (std::find(leading.begin(), end, number) != end) return true;
      // Equal trials share a front.
      return or_tied && places_.at(number).standing.keys == places_.at(leading[left - 1]).standing.keys;
    }
    left -= std::min(left, size);
  }
  if (left == 0) return false;
  const auto found = std::find_if(infeasible_.begin(), infeasible_.end(),
                                  [number](const auto& entry) { return entry.second == number; });
  if (found == infeasible_.end()) return false;
  if (found - infeasible_.begin() < static_cast<std::ptrdiff_t>(left)) return true;
  const auto& [violation, last] = infeasible_[left - 1];
  return or_tied && found->first == violation &&
         places_.at(number).standing.keys == places_.at(last).standing.keys;
}

std::optional<TrialNumber> FrontShare::best_waiting(const PassedOver& passed_over) const {
  auto left = static_cast<size_t>(places());
  const auto is_taken = [this](TrialNumber number) { return places_.at(number).taken; };
  const auto waits = [&](TrialNumber number) {
    return !is_taken(number) && !(passed_over && passed_over(number));
  };
  for (const Front& front : fronts_) {
    if (left == 0) return std::nullopt;
    const std::vector<TrialNumber>& members = front.members;
    const size_t within = std::min(left, members.size());
    left -= within;
    // As a rule those that were taken are the first.
    const auto taken = static_cast<size_t>(std::count_if(members.begin(), members.end(), is_taken));
    if (taken == members.size()) continue;
    for (size_t place = 0; place < within; ++place) {
      const TrialNumber number = Leading(front, std::max(place, std::min(taken, within - 1)) + 1)[place];
      if (waits(number)) return number;
    }
  }
  for (const auto& [violation, number] : infeasible_) {
    if (left-- == 0) return std::nullopt;
    if (waits(number)) return number;
  }
  return std::nullopt;
}

std::optional<size_t> FrontShare::FrontOf(TrialNumber number) const {
  for (size_t f = 0; f < fronts_.size(); ++f) {
    if (fronts_[f].Has(number)) return f;
  }
  return std::nullopt;
}

double FrontShare::PartOfRecord(TrialNumber number) const {
  if (fronts_.empty()) return !infeasible_.empty() && infeasible_[0].second == number ? 1 : 0;
  const std::vector<TrialNumber>& front = fronts_[0].members;
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
  for (const Front& front : fronts_) {
    if (front.Has(number)) {
      size_t place = 0;
      while (Leading(front, place + 1)[place] != number) ++place;
      return before + static_cast<int64_t>(place);
    }
    before += static_cast<int64_t>(front.members.size());
  }
  const auto found = std::find_if(infeasible_.begin(), infeasible_.end(),
                                  [number](const auto& entry) { return entry.second == number; });
  return before + (found - infeasible_.begin());
}

}  // namespace winnow

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "scheduler/state/standing.h"

namespace winnow {

// What TopShare is for one number, for standings: the trials that have reached a rung, with the best
// floor(n / eta) of the n marked, in the order of RankingOf. Only finite standings are ever marked. Adding
// costs O(n) comparisons of points (moves, with one objective), and the order of the best fronts.
class FrontShare {
 public:
  FrontShare(int64_t reduction_factor, std::vector<Objective> objectives)
      : reduction_factor_(reduction_factor), objectives_(std::move(objectives)) {}

  // REQUIRES the trial was not added before.
  void Add(Standing standing);
  // Ends the trial's candidacy for promotion from here.
  void Take(TrialNumber number);
  // The trial has failed later: it counts as if its standing were not finite. Nothing, if it was not added.
  void Fail(TrialNumber number);

  bool Has(TrialNumber number) const { return places_.count(number) > 0; }
  int64_t size() const { return static_cast<int64_t>(places_.size()); }
  // floor(n / eta).
  int64_t places() const { return size() / reduction_factor_; }
  bool IsTop(TrialNumber number) const { return PlaceInTop(number) < places(); }
  // Whether the trial is among the first max(1, floor(n / eta)), or equal to the last of them.
  bool IsTopOrTied(TrialNumber number) const;
  using PassedOver = std::function<bool(TrialNumber)>;
  // The best trial that is among the top, was not taken and is not passed over.
  std::optional<TrialNumber> best_waiting(const PassedOver& passed_over = {}) const;
  // How many are preferred to the trial; those that are not finite are worse than all others.
  int64_t Rank(TrialNumber number) const;
  // The trial's part of a record: what the hypervolume would lose without it, divided by the sum of this over
  // the first front; where that says nothing, an equal part for each of that front. So the parts of all
  // trials add up to 1, and with one objective the best has all of it. While no trial is feasible, the best
  // by violation has it.
  double PartOfRecord(TrialNumber number) const;
  // The trial's non-dominated front among the feasible, from 0; absent: it is infeasible or not finite.
  std::optional<size_t> FrontOf(TrialNumber number) const;
  // How many feasible trials are in the first front.
  size_t first_front() const { return fronts_.empty() ? 0 : fronts_[0].size(); }

  bool operator==(const FrontShare&) const = default;

 private:
  struct Place {
    Standing standing;
    bool taken = false;

    bool operator==(const Place&) const = default;
  };
  int64_t PlaceInTop(TrialNumber number) const;
  void AddToBounds(const ObjectivePoint& keys);
  void AddToFronts(TrialNumber number);
  void RemoveFromFronts(TrialNumber number);
  std::vector<TrialNumber> Ordered(const std::vector<TrialNumber>& front) const;
  ObjectivePoint Reference() const;
  void OrderTop();

  int64_t reduction_factor_;
  std::vector<Objective> objectives_;
  std::map<TrialNumber, Place> places_;
  std::vector<std::vector<TrialNumber>> fronts_;            // of the feasible; each by rising number
  std::vector<std::pair<double, TrialNumber>> infeasible_;  // by violation
  ObjectivePoint low_, high_;                               // best and worst keys of the feasible
  std::vector<TrialNumber> top_;  // the first max(1, places()), as far as they are finite
};

}  // namespace winnow

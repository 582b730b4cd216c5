#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "scheduler/state/standing.h"

namespace winnow {

// What TopShare is for one number, for standings: the trials that have reached a rung, with the best
// floor(n / eta) of the n marked, in the order of RankingOf. Only finite standings are ever marked. Adding
// costs O(n) comparisons of points (moves, with one objective). A front is ordered only when a question needs
// it, as far as it needs it, and stays ordered until it changes. Not thread-safe, and neither are the
// questions.
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
  // Takes Fail back: the trial counts with this standing, and is a candidate again unless it was taken.
  // Nothing, if it has not failed.
  void Return(Standing standing, bool taken);

  bool Has(TrialNumber number) const { return places_.count(number) > 0; }
  int64_t size() const { return static_cast<int64_t>(places_.size()); }
  // floor(n / eta).
  int64_t places() const { return size() / reduction_factor_; }
  bool IsTop(TrialNumber number) const { return IsAmong(number, places(), false); }
  // Whether the trial is among the first max(1, floor(n / eta)), or equal to the last of them.
  bool IsTopOrTied(TrialNumber number) const { return IsAmong(number, std::max<int64_t>(1, places()), true); }
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
  size_t first_front() const { return fronts_.empty() ? 0 : fronts_[0].members.size(); }
  // How many pairs of trials all questions so far have compared at most, to order fronts.
  int64_t compared() const { return questions_.compared; }

  bool operator==(const FrontShare&) const = default;

 private:
  struct Place {
    Standing standing;
    bool taken = false;

    bool operator==(const Place&) const = default;
  };
  struct Front {
    std::vector<TrialNumber> members;  // by rising number
    // The first of SpreadOrder, as far as they were asked for since the members or the reference changed.
    mutable std::vector<TrialNumber> leading = {};

    bool Has(TrialNumber number) const { return std::binary_search(members.begin(), members.end(), number); }
    bool operator==(const Front& other) const { return members == other.members; }
  };
  struct Questions {
    int64_t compared = 0;

    bool operator==(const Questions&) const { return true; }  // they change nothing
  };
  // Whether the trial is among the first `most`, or if `or_tied` equal to the last of them.
  bool IsAmong(TrialNumber number, int64_t most, bool or_tied) const;
  void AddToBounds(const ObjectivePoint& keys);
  void AddToFronts(TrialNumber number);
  void RemoveFromFronts(TrialNumber number);
  // The members in their order, the first `most` at least.
  const std::vector<TrialNumber>& Leading(const Front& front, size_t most) const;
  ObjectivePoint Reference() const;  // empty: no trial is feasible
  void ForgetOrdersUnless(const ObjectivePoint& reference);

  int64_t reduction_factor_;
  std::vector<Objective> objectives_;
  std::map<TrialNumber, Place> places_;
  std::vector<Front> fronts_;                               // of the feasible
  std::vector<std::pair<double, TrialNumber>> infeasible_;  // by violation
  ObjectivePoint low_, high_;                               // best and worst keys of the feasible
  mutable Questions questions_;
};

}  // namespace winnow

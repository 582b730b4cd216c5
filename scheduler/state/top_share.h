#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "scheduler/space/types.h"
#include "scheduler/state/first_of.h"
#include "scheduler/state/ranked_list.h"

namespace winnow {

// The values that have reached a rung, with the best floor(n / eta) of the n marked. Each call takes about a
// microsecond at a million values. Values are keys: less is better, ties by lower number. A value that is not
// finite counts among n but is never one of the best.
class TopShare {
 public:
  explicit TopShare(int64_t reduction_factor) : reduction_factor_(reduction_factor) {}

  // REQUIRES the trial was not added before.
  void Add(double key, TrialNumber number);
  // Ends the trial's candidacy for promotion from here.
  void Take(TrialNumber number);
  // The trial has failed later: it counts as if its value were not finite. Nothing, if it was not added.
  void Fail(TrialNumber number);
  // Takes Fail back: the trial counts with this key, and is a candidate again unless it was taken. Nothing,
  // if it has not failed.
  void Return(double key, TrialNumber number, bool taken);

  bool Has(TrialNumber number) const { return places_.count(number) > 0; }
  int64_t size() const { return static_cast<int64_t>(places_.size()); }
  // floor(n / eta).
  int64_t places() const { return size() / reduction_factor_; }
  bool IsTop(TrialNumber number) const;
  // Whether the trial is among the first max(1, floor(n / eta)), or equal to the last of them.
  bool IsTopOrTied(TrialNumber number) const;
  // The best trial that is among the top and was not taken.
  std::optional<TrialNumber> best_waiting() const;
  // How many of the values are better than the trial's; those that are not finite are worse than all others.
  int64_t Rank(TrialNumber number) const;
  // The worst key of the top; absent: the top is empty.
  std::optional<double> cutoff() const;
  // The best key; absent: none is finite.
  std::optional<double> best() const;

  bool operator==(const TopShare&) const = default;

 private:
  int64_t reduction_factor_;
  RankedList finite_;
  struct Place {
    double key = 0;  // infinity: not finite
    bool taken = false;

    bool operator==(const Place&) const = default;
  };
  std::unordered_map<TrialNumber, Place> places_;
  FirstOf waiting_;  // the first one is not taken
};

}  // namespace winnow

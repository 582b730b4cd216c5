#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// A rung of the plan: `trials` (n_i) trials are trained to `resource` (r_i) units.
struct RungPlan {
  int64_t trials = 0;
  int64_t resource = 0;

  bool operator==(const RungPlan&) const = default;
};
struct BracketPlan {
  int64_t s = 0;  // how often it is cut; rungs.size() == s + 1
  std::vector<RungPlan> rungs;

  bool operator==(const BracketPlan&) const = default;
};

// The brackets of Hyperband (Li et al., JMLR 18:1-52, Algorithm 1), with exact integer arithmetic:
//   s_max = the largest s with min_resource * eta^s <= R,   B = (s_max + 1) R,
//   n = ceil(B/R * eta^s / (s + 1)),   r = R eta^-s,   n_i = floor(n eta^-i),   r_i = floor(r eta^i), at
//   least min_resource.
// R = 81, eta = 3 gives 81/34/15/8/5 configurations.
std::vector<BracketPlan> HyperbandBrackets(const RungSettings& settings);

// Successive halving (Jamieson and Talwalkar, AISTATS 2016): one bracket of the above, the most aggressive
// one, with `trials` trials at the lowest rung; 0: eta^s, so that one trial is left at the top.
BracketPlan SuccessiveHalvingBracket(const RungSettings& settings, int64_t trials);

// Population based training (Jaderberg et al., arXiv 1711.09846): one bracket that keeps its width. Its rungs
// are at min_resource * k below R, and at R; where those were more than kMostGenerations, it has as many.
inline constexpr int64_t kMostGenerations = 1000;
BracketPlan PopulationBracket(const RungSettings& settings, int64_t population);

// Brackets whose rungs take any number of trials (RungPlan::trials = 0), as in ASHA (Li et al., arXiv
// 1810.05934, section 3). Bracket b = 0, 1, … up to `count` has the levels min_resource * eta^(b + k) below
// R, then R itself. Brackets with R alone are left out, except the first.
std::vector<BracketPlan> OpenBrackets(const RungSettings& settings, int64_t count);

// The brackets of a job that has only `trials` trials for a cycle; REQUIRES 0 < trials <= those of the cycle.
// Brackets that begin at the lowest levels need many trials to be worth it: they are left out, the first ones
// first, until the rest fits or only the last two are left. The rest share the trials in proportion to their
// widths (largest remainder), and a rung that would be empty keeps one trial, so that every bracket trains
// one to max_resource.
std::vector<BracketPlan> NarrowBrackets(const std::vector<BracketPlan>& cycle, int64_t reduction_factor,
                                        int64_t trials);

// What a job runs: the brackets above, cycle after cycle, within max_trials.
class HyperbandTable {
 public:
  HyperbandTable() = default;  // no brackets
  // The table of a HYPERBAND, SUCCESSIVE_HALVING or PBT job; `most_trials`: JobState::most_trials().
  HyperbandTable(const SearchSpec& spec, int64_t most_trials);

  bool empty() const { return cycle_.empty(); }
  // How many brackets the job opens; -1: cycles go on until another limit ends the job.
  int64_t bracket_count() const;
  int64_t cycle_size() const { return static_cast<int64_t>(cycle_.size()); }
  // REQUIRES 0 <= index, and index < bracket_count() unless that is -1.
  BracketPlan bracket(int64_t index) const;
  // Trials of all brackets; 0 if cycles go on.
  int64_t trial_count() const;
  // In a sentence what limits do to the table; "" if nothing.
  std::string note() const;

  bool operator==(const HyperbandTable&) const = default;

 private:
  std::vector<BracketPlan> cycle_;     // one whole cycle
  std::vector<BracketPlan> narrowed_;  // the last, narrower brackets when max_trials does not fill a cycle
  int64_t whole_cycles_ = 0;           // -1: for ever
  int64_t max_trials_ = 0;
};

}  // namespace winnow

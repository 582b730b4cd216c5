#include "scheduler/state/hyperband_table.h"

#include <algorithm>
#include <numeric>

namespace winnow {
namespace {

__extension__ using Wide = unsigned __int128;

int64_t Width(const BracketPlan& bracket) { return bracket.rungs[0].trials; }

int64_t TotalWidth(const std::vector<BracketPlan>& brackets) {
  int64_t total = 0;
  for (const BracketPlan& bracket : brackets) total += Width(bracket);
  return total;
}

// The same rungs with `trials` at the first and a reduction_factor-th part at each next, at least one.
BracketPlan WithWidth(BracketPlan bracket, int64_t reduction_factor, int64_t trials) {
  for (RungPlan& rung : bracket.rungs) {
    rung.trials = std::max<int64_t>(1, trials);
    trials /= reduction_factor;
  }
  return bracket;
}

}  // namespace

std::vector<BracketPlan> HyperbandBrackets(const RungSettings& settings) {
  const int64_t R = settings.max_resource;
  const int64_t eta = settings.reduction_factor;
  std::vector<int64_t> powers = {1};  // eta^0 .. eta^s_max
  const int64_t ratio = R / settings.min_resource;
  while (powers.back() <= ratio / eta) powers.push_back(powers.back() * eta);
  const auto s_max = static_cast<int64_t>(powers.size()) - 1;

  std::vector<BracketPlan> brackets;
  for (int64_t s = s_max; s >= 0; --s) {
    const Wide numerator = static_cast<Wide>(s_max + 1) * static_cast<Wide>(powers[s]);
    const auto n = static_cast<int64_t>((numerator + static_cast<Wide>(s)) / static_cast<Wide>(s + 1));
    BracketPlan bracket{s, {}};
    for (int64_t i = 0; i <= s; ++i) {
      bracket.rungs.push_back({n / powers[i], std::max(settings.min_resource, R / powers[s - i])});
    }
    brackets.push_back(std::move(bracket));
  }
  return brackets;
}

BracketPlan SuccessiveHalvingBracket(const RungSettings& settings, int64_t trials) {
  BracketPlan bracket = HyperbandBrackets(settings).front();
  if (trials == 0) {
    trials = 1;
    for (int64_t i = 0; i < bracket.s; ++i) trials *= settings.reduction_factor;
  }
  return WithWidth(std::move(bracket), settings.reduction_factor, trials);
}

BracketPlan PopulationBracket(const RungSettings& settings, int64_t population) {
  BracketPlan bracket;
  const auto most = static_cast<size_t>(kMostGenerations);
  for (int64_t level = settings.min_resource;
       level < settings.max_resource && bracket.rungs.size() + 1 < most; level += settings.min_resource) {
    bracket.rungs.push_back({population, level});
  }
  bracket.rungs.push_back({population, settings.max_resource});
  bracket.s = static_cast<int64_t>(bracket.rungs.size()) - 1;
  return bracket;
}

std::vector<BracketPlan> OpenBrackets(const RungSettings& settings, int64_t count) {
  const int64_t R = settings.max_resource, eta = settings.reduction_factor;
  std::vector<RungPlan> rungs;
  for (int64_t level = settings.min_resource; level < R; level *= eta) {
    rungs.push_back({0, level});
    if (level > R / eta) break;
  }
  rungs.push_back({0, R});
  std::vector<BracketPlan> brackets;
  const auto most = std::max<int64_t>(1, static_cast<int64_t>(rungs.size()) - 1);
  for (int64_t b = 0; b < std::min(count, most); ++b) {
    brackets.push_back({static_cast<int64_t>(rungs.size()) - 1 - b, {rungs.begin() + b, rungs.end()}});
  }
  return brackets;
}

std::vector<BracketPlan> NarrowBrackets(const std::vector<BracketPlan>& cycle, int64_t reduction_factor,
                                        int64_t trials) {
  std::vector<BracketPlan> brackets = cycle;
  while (brackets.size() > 2 && TotalWidth(brackets) > trials) brackets.erase(brackets.begin());
  if (trials == 1) brackets.erase(brackets.begin(), brackets.end() - 1);

  const auto total = static_cast<Wide>(TotalWidth(brackets));
  std::vector<int64_t> width(brackets.size());
  std::vector<std::pair<Wide, size_t>> remainder;  // negated, to sort the largest first
  int64_t left = trials;
  for (size_t b = 0; b < brackets.size(); ++b) {
    const Wide share = static_cast<Wide>(Width(brackets[b])) * static_cast<Wide>(trials);
    width[b] = static_cast<int64_t>(share / total);
    remainder.emplace_back(total - share % total, b);
    left -= width[b];
  }
  std::sort(remainder.begin(), remainder.end());
  for (int64_t k = 0; k < left; ++k) ++width[remainder[k].second];
  // With two or three trials the narrowest share can be none.
  for (int64_t& w : width) {
    if (w > 0) continue;
    --*std::max_element(width.begin(), width.end());
    w = 1;
  }
  for (size_t b = 0; b < brackets.size(); ++b) {
    brackets[b] = WithWidth(std::move(brackets[b]), reduction_factor, width[b]);
  }
  return brackets;
}

HyperbandTable::HyperbandTable(const SearchSpec& spec, int64_t most_trials) : max_trials_(most_trials) {
  const RungSettings& rungs = spec.pruner.rungs;
  if (TraitsOf(spec.pruner.kind).population) {
    // It takes the place of no second one: other trials go on from the checkpoints of this one's.
    cycle_ = {PopulationBracket(rungs, spec.pruner.bracket_trials)};
    whole_cycles_ = 1;
    return;
  }
  if (TraitsOf(spec.pruner.kind).cycle) {
    cycle_ = HyperbandBrackets(rungs);
  } else {
    cycle_ = {SuccessiveHalvingBracket(rungs, spec.pruner.bracket_trials)};
  }
  const Limits& limits = spec.limits;
  if (most_trials == 0) {
    const bool other_limit =
        limits.max_total_resource > 0 || limits.max_wall_time_us > 0 || limits.max_node_time_us > 0;
    whole_cycles_ = other_limit ? -1 : 1;
    return;
  }
  const int64_t per_cycle = TotalWidth(cycle_);
  whole_cycles_ = most_trials / per_cycle;
  const int64_t rest = most_trials % per_cycle;
  if (rest > 0) narrowed_ = NarrowBrackets(cycle_, rungs.reduction_factor, rest);
}

int64_t HyperbandTable::bracket_count() const {
  if (whole_cycles_ < 0) return -1;
  return whole_cycles_ * static_cast<int64_t>(cycle_.size()) + static_cast<int64_t>(narrowed_.size());
}

BracketPlan HyperbandTable::bracket(int64_t index) const {
  const auto size = static_cast<int64_t>(cycle_.size());
  if (whole_cycles_ < 0 || index < whole_cycles_ * size) return cycle_[index % size];
  return narrowed_[index - whole_cycles_ * size];
}

int64_t HyperbandTable::trial_count() const {
  if (whole_cycles_ < 0) return 0;
  return whole_cycles_ * TotalWidth(cycle_) + TotalWidth(narrowed_);
}

std::string HyperbandTable::note() const {
  if (empty()) return "";
  const std::string per_cycle = std::to_string(TotalWidth(cycle_));
  if (whole_cycles_ < 0) {
    return "The cycle of " + std::to_string(cycle_.size()) + " brackets with " + per_cycle +
           " trials is repeated until another limit ends the job.";
  }
  if (max_trials_ == 0 || (whole_cycles_ == 1 && narrowed_.empty())) return "";
  std::string note = "max_trials = " + std::to_string(max_trials_);
  if (whole_cycles_ == 0) {
    note += " is less than the " + per_cycle + " trials of a cycle: instead of ";
  } else {
    note += " makes " + std::to_string(whole_cycles_) + (whole_cycles_ == 1 ? " cycle" : " cycles") + " of " +
            per_cycle + " trials";
    if (narrowed_.empty()) return note + ".";
    note += ", and one of fewer trials: instead of ";
  }
  const auto widths = [](const std::vector<BracketPlan>& brackets) {
    std::string text;
    for (const BracketPlan& b : brackets) text += (text.empty() ? "" : "/") + std::to_string(Width(b));
    return text;
  };
  note += widths(cycle_) + " it opens " + widths(narrowed_);
  if (narrowed_.size() < cycle_.size()) note += ", without the brackets that begin lowest";
  return note + ".";
}

}  // namespace winnow

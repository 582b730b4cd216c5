#include "trainers/gbdt/objective/leaf_renewal.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "trainers/common/fixed_point.h"
#include "trainers/gbdt/bins/radix_sort.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits, kLevels = 32 / kDigitBits;
constexpr int kGroupsAtOnce = 1 << 13;  // their sums take 16 MiB

struct Entry {
  uint32_t key;
  int32_t group;
  uint64_t weight;
};

// The search for one quantile: finds, digit by digit, the least key with `wanted` weight at or below it.
struct Search {
  uint64_t total = 0;   // weight of the group
  uint64_t wanted = 0;  // remaining part of it, among the values that begin with `prefix`
  uint32_t prefix = 0;
  bool next_too = false;     // the result interpolates with the next value
  double next_share = 0;     // by this fraction
  uint64_t same_beyond = 0;  // weight at the key beyond the wanted weight
};

// Sets the position of the quantile among `total` sorted values.
void AimUnweighted(double alpha, Search* search) {
  const auto n = static_cast<double>(search->total);
  if (alpha <= 1 / (n + 1)) {
    search->wanted = 1;
  } else if (alpha >= n / (n + 1)) {
    search->wanted = search->total;
  } else {
    const double x = alpha * (n + 1);
    search->wanted = static_cast<uint64_t>(std::floor(x));
    search->next_share = x - std::floor(x);
    search->next_too = search->next_share > 0;
  }
}

void AimWeighted(double alpha, Search* search) {
  const auto aim = static_cast<uint64_t>(std::ceil(static_cast<double>(search->total) * alpha));
  search->wanted = std::clamp<uint64_t>(aim, 1, search->total);
}

// Converts weights, given as the bits of doubles, to whole numbers whose sum over all ranks is below 2^62.
absl::Status FixWeights(Communicator* communicator, std::vector<Entry>* entries) {
  uint64_t count = entries->size(), heaviest = 0;
  for (const Entry& entry : *entries) heaviest = std::max(heaviest, entry.weight);
  if (absl::Status status = communicator->AllReduceSum({&count, 1}); !status.ok()) return status;
  if (absl::Status status = communicator->AllReduceMax({&heaviest, 1}); !status.ok()) return status;
  const int bits = 62 - static_cast<int>(std::bit_width(count));
  const double scale = std::ldexp(1.0, ScaleExponent(std::bit_cast<double>(heaviest), bits));
  for (Entry& entry : *entries)
    entry.weight = static_cast<uint64_t>(std::bit_cast<double>(entry.weight) * scale);
  return absl::OkStatus();
}

// Keeps only entries that begin with their group's prefix.
void Narrow(const std::vector<Search>& searches, int level, std::vector<Entry>* entries) {
  const int shift = 32 - level * kDigitBits;
  std::erase_if(*entries,
                [&](const Entry& entry) { return entry.key >> shift != searches[entry.group].prefix; });
}

absl::Status FindKeys(double alpha, bool weighted, Communicator* communicator, std::vector<Entry> entries,
                      std::vector<Search>* searches) {
  std::vector<uint64_t> sums(searches->size() * kDigits);
  for (int level = 0; level < kLevels; ++level) {
    if (level > 0) Narrow(*searches, level, &entries);
    std::fill(sums.begin(), sums.end(), 0);
    const int shift = 32 - (level + 1) * kDigitBits;
    for (const Entry& entry : entries)
      sums[entry.group * kDigits + ((entry.key >> shift) & (kDigits - 1))] += entry.weight;
    if (absl::Status status = communicator->AllReduceSum(sums); !status.ok()) return status;
    for (std::size_t g = 0; g < searches->size(); ++g) {
      Search& search = (*searches)[g];
      const uint64_t* sum = sums.data() + g * kDigits;
      if (level == 0) {
        for (int digit = 0; digit < kDigits; ++digit) search.total += sum[digit];
        if (search.total == 0) continue;
        weighted ? AimWeighted(alpha, &search) : AimUnweighted(alpha, &search);
      }
      if (search.total == 0) continue;
      uint32_t digit = 0;
      while (sum[digit] < search.wanted) search.wanted -= sum[digit++];
      search.same_beyond = sum[digit] - search.wanted;
      search.prefix = search.prefix << kDigitBits | digit;
    }
  }
  return absl::OkStatus();
}

// Values with a group in [first, first + count).
struct Values {
  std::span<const float> value;
  std::span<const int32_t> group_of;
  int first, count;

  // Returns the i-th value's group relative to `first`; below 0: none of these.
  int32_t GroupOf(std::size_t i) const {
    const int32_t group = group_of[i] - first;
    return group_of[i] >= 0 && group < count ? group : -1;
  }
};

// The next value has the largest of the inverted keys above.
absl::StatusOr<std::vector<uint64_t>> NextKeys(const Values& values, const std::vector<Search>& searches,
                                               Communicator* communicator) {
  std::vector<uint64_t> next(searches.size());
  for (std::size_t i = 0; i < values.value.size(); ++i) {
    const int32_t group = values.GroupOf(i);
    if (group < 0) continue;
    const uint32_t key = OrderedKey(values.value[i]);
    if (key > searches[group].prefix) next[group] = std::max(next[group], uint64_t{~key});
  }
  if (absl::Status status = communicator->AllReduceMax(next); !status.ok()) return status;
  return next;
}

absl::Status QuantilesOfSome(double alpha, const Values& values, bool weighted, std::span<const float> weight,
                             Communicator* communicator, float* quantiles) {
  std::vector<Entry> entries;
  entries.reserve(values.value.size());
  for (std::size_t i = 0; i < values.value.size(); ++i) {
    const int32_t group = values.GroupOf(i);
    if (group < 0) continue;
    const double of_value = weighted ? weight[i] : 0;
    entries.push_back(
        {OrderedKey(values.value[i]), group, weighted ? std::bit_cast<uint64_t>(of_value) : uint64_t{1}});
  }
  if (weighted) {
    if (absl::Status status = FixWeights(communicator, &entries); !status.ok()) return status;
  }
  std::vector<Search> searches(values.count);
  if (absl::Status status = FindKeys(alpha, weighted, communicator, std::move(entries), &searches);
      !status.ok())
    return status;
  std::vector<uint64_t> next(values.count);
  if (!weighted) {
    auto keys = NextKeys(values, searches, communicator);
    if (!keys.ok()) return keys.status();
    next = *std::move(keys);
  }
  for (int g = 0; g < values.count; ++g) {
    const Search& search = searches[g];
    if (search.total == 0) continue;
    const float value = KeyedFloat(search.prefix);
    const bool same = !search.next_too || search.same_beyond > 0;
    const float after = same ? value : KeyedFloat(~static_cast<uint32_t>(next[g]));
    quantiles[g] = static_cast<float>(value + search.next_share * (after - value));
  }
  return absl::OkStatus();
}

// Returns the quantile of each group of values over all ranks; NaN for a group without values (or without
// weight). group_of[i] is the group of values[i]; below 0: none. Without weights it is interpolated at alpha
// (n + 1) of n sorted values; with weights it is the least value that has at least the fraction alpha of the
// weight at or below it: both as in XGBoost's src/common/stats.h. Exact: independent of the distribution of
// values over ranks. At most 6 reductions, of 256 words per group, for every 8192 groups.
// REQUIRES: finite values and weights >= 0; weight is empty on all ranks or on none that has values.
absl::StatusOr<std::vector<float>> GroupQuantiles(double alpha, std::span<const float> values,
                                                  std::span<const int32_t> group_of, int groups,
                                                  bool weighted, std::span<const float> weight,
                                                  Communicator* communicator) {
  std::vector<float> quantiles(groups, std::numeric_limits<float>::quiet_NaN());
  for (int first = 0; first < groups; first += kGroupsAtOnce) {
    const Values some{values, group_of, first, std::min(kGroupsAtOnce, groups - first)};
    if (absl::Status status =
            QuantilesOfSome(alpha, some, weighted, weight, communicator, quantiles.data() + first);
        !status.ok())
      return status;
  }
  return quantiles;
}

double AlphaOf(const GbdtParameters& parameters) {
  return parameters.objective == ObjectiveKind::kQuantile ? parameters.quantile_alpha : 0.5;
}

absl::StatusOr<std::vector<float>> Quantiles(const GbdtParameters& parameters, const Targets& targets,
                                             std::span<const float> values, std::span<const int32_t> group_of,
                                             int groups, Communicator* communicator) {
  // A rank without rows does not know whether there are weights.
  uint64_t weighted = targets.weight.empty() ? 0 : 1;
  if (communicator->size() > 1) {
    if (absl::Status status = communicator->AllReduceMax({&weighted, 1}); !status.ok()) return status;
  }
  const std::vector<float> weight = weighted > 0 ? RowWeights(targets) : std::vector<float>{};
  return GroupQuantiles(AlphaOf(parameters), values, group_of, groups, weighted > 0, weight, communicator);
}

}  // namespace

bool RenewsLeaves(ObjectiveKind objective) {
  return objective == ObjectiveKind::kAbsoluteError || objective == ObjectiveKind::kQuantile;
}

absl::Status RenewLeaves(const GbdtParameters& parameters, const Targets& targets, const float* margin,
                         std::span<const int32_t> leaf_of_row, int leaves, Communicator* communicator,
                         std::vector<float>* values) {
  std::vector<float> residues(targets.rows);
  for (int64_t i = 0; i < targets.rows; ++i) residues[i] = targets.label[i] - margin[i];
  const absl::StatusOr<std::vector<float>> quantiles =
      Quantiles(parameters, targets, residues, leaf_of_row, leaves, communicator);
  if (!quantiles.ok()) return quantiles.status();
  const float rate = static_cast<float>(parameters.eta / static_cast<double>(parameters.num_parallel_tree));
  for (int leaf = 0; leaf < leaves; ++leaf) {
    const float quantile = (*quantiles)[leaf];
    if (!std::isnan(quantile)) (*values)[leaf] = quantile * rate;
  }
  return absl::OkStatus();
}

absl::StatusOr<double> EstimateBaseScore(const GbdtParameters& parameters, const Targets& targets,
                                         Communicator* communicator) {
  if (!EstimatesBaseScore(parameters.objective) || parameters.base_score_given) return parameters.base_score;
  const std::vector<int32_t> one_group(targets.rows, 0);
  const absl::StatusOr<std::vector<float>> quantiles =
      Quantiles(parameters, targets, targets.label, one_group, 1, communicator);
  if (!quantiles.ok()) return quantiles.status();
  const float quantile = quantiles->front();
  return std::isnan(quantile) ? parameters.base_score : static_cast<double>(quantile);
}

}  // namespace winnow::gbdt

#include "worker/gbdt/group_quantiles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "worker/gbdt/fixed_point.h"
#include "worker/gbdt/ordered_key.h"

namespace winnow {
namespace {

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits, kLevels = 32 / kDigitBits;

struct Entry {
  uint32_t key;
  int32_t group;
  uint64_t weight;
};

// One quantile on its way: digit by digit the key of the least value with `wanted` of weight at or below it.
struct Search {
  uint64_t total = 0;   // weight of the group
  uint64_t wanted = 0;  // of it, among the values that begin with `prefix`
  uint32_t prefix = 0;
  bool next_too = false;     // the value after is interpolated with
  double next_share = 0;     // by this share
  uint64_t same_beyond = 0;  // weight at the key itself beyond what was wanted
};

// Where, among `total` sorted values, the quantile is.
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

// Weights as whole numbers whose sum over all ranks is below 2^62.
absl::Status FixWeights(std::span<const float> weight, std::span<const int32_t> group_of,
                        Communicator* communicator, std::vector<Entry>* entries) {
  uint64_t count = entries->size(), heaviest = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < group_of.size(); ++i) {
    if (group_of[i] < 0) continue;
    const double value = weight[i];
    (*entries)[at++].weight = std::bit_cast<uint64_t>(value);
    heaviest = std::max(heaviest, std::bit_cast<uint64_t>(value));
  }
  if (absl::Status status = communicator->AllReduceSum({&count, 1}); !status.ok()) return status;
  if (absl::Status status = communicator->AllReduceMax({&heaviest, 1}); !status.ok()) return status;
  const int bits = 62 - static_cast<int>(std::bit_width(count));
  const double scale = std::ldexp(1.0, ScaleExponent(std::bit_cast<double>(heaviest), bits));
  for (Entry& entry : *entries)
    entry.weight = static_cast<uint64_t>(std::bit_cast<double>(entry.weight) * scale);
  return absl::OkStatus();
}

// Keeps of the entries those that begin with their group's prefix.
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

}  // namespace

absl::StatusOr<std::vector<float>> GroupQuantiles(double alpha, std::span<const float> values,
                                                  std::span<const int32_t> group_of, int groups,
                                                  bool weighted, std::span<const float> weight,
                                                  Communicator* communicator) {
  std::vector<Entry> entries;
  entries.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (group_of[i] >= 0) entries.push_back({OrderedKey(values[i]), group_of[i], 1});
  }
  if (weighted) {
    if (absl::Status status = FixWeights(weight, group_of, communicator, &entries); !status.ok())
      return status;
  }
  std::vector<Search> searches(groups);
  if (absl::Status status = FindKeys(alpha, weighted, communicator, std::move(entries), &searches);
      !status.ok())
    return status;

  // The next value is the largest of the inverted keys above.
  std::vector<uint64_t> next(groups);
  if (!weighted) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (group_of[i] < 0) continue;
      const uint32_t key = OrderedKey(values[i]);
      if (key > searches[group_of[i]].prefix) next[group_of[i]] = std::max(next[group_of[i]], uint64_t{~key});
    }
    if (absl::Status status = communicator->AllReduceMax(next); !status.ok()) return status;
  }
  std::vector<float> quantiles(groups, std::numeric_limits<float>::quiet_NaN());
  for (int g = 0; g < groups; ++g) {
    const Search& search = searches[g];
    if (search.total == 0) continue;
    const float value = KeyedFloat(search.prefix);
    const float after =
        !search.next_too || search.same_beyond > 0 ? value : KeyedFloat(~static_cast<uint32_t>(next[g]));
    quantiles[g] = static_cast<float>(value + search.next_share * (after - value));
  }
  return quantiles;
}

}  // namespace winnow

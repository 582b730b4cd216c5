#include "trainers/gbdt/bins/bin_layout.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

namespace winnow::gbdt {
namespace {

constexpr int kMostGroupsTried = 64;  // for a feature, newest first
constexpr int kMostSharedBins = 256;  // of a shared group or slot: they fit a byte

// Rows of a group that some feature has marked, one bit each.
using RowBits = std::vector<uint64_t>;

RowBits MarkedRows(const std::vector<uint16_t>& bins, int default_bin) {
  RowBits marked((bins.size() + 63) / 64);
  for (std::size_t i = 0; i < bins.size(); ++i)
    marked[i / 64] |= static_cast<uint64_t>(bins[i] != default_bin) << (i % 64);
  return marked;
}

bool Disjoint(const RowBits& a, const RowBits& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] & b[i]) return false;
  }
  return true;
}

// [feature][bin], of all ranks.
absl::StatusOr<std::vector<std::vector<uint64_t>>> CountBins(const std::vector<std::vector<uint16_t>>& bins,
                                                             const std::vector<FeatureCuts>& cuts,
                                                             const DataSet& sparse, Communicator* ranks,
                                                             ThreadPool* pool) {
  std::vector<std::vector<uint64_t>> counts(bins.size());
  pool->Run(static_cast<int>(bins.size()), [&](int f, int) {
    if (sparse.StaysSparse(static_cast<std::size_t>(f))) return;
    counts[f].resize(ValueBins(cuts[f]) + 1);
    for (uint16_t bin : bins[f]) ++counts[f][bin];
  });
  if (ranks->size() == 1) return counts;
  std::vector<uint64_t> all;
  for (const std::vector<uint64_t>& one : counts) all.insert(all.end(), one.begin(), one.end());
  if (absl::Status status = ranks->AllReduceSum(all); !status.ok()) return status;
  auto from = all.begin();
  for (std::vector<uint64_t>& one : counts) {
    std::copy(from, from + static_cast<std::ptrdiff_t>(one.size()), one.begin());
    from += static_cast<std::ptrdiff_t>(one.size());
  }
  return counts;
}

// Returns the bin of 0, which one-hot groups share; otherwise the most frequent one. -1 if it is too rare to
// share a group.
int DefaultBin(const FeatureCuts& cuts, const std::vector<uint64_t>& counts) {
  const uint64_t rows = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  if (const int zero = cuts.BinOf(0.0f); !cuts.categorical && counts[zero] * 4 >= rows) return zero;
  const auto most = std::max_element(counts.begin(), counts.end());
  return *most * 10 >= rows ? static_cast<int>(most - counts.begin()) : -1;
}

// Assigns each feature a group by first fit over this rank's rows; -1 to sparse ones.
std::vector<int> LocalGroups(const std::vector<std::vector<uint16_t>>& bins,
                             const std::vector<FeaturePlace>& places) {
  struct Group {
    RowBits marked;  // empty: accepts no second feature
    int bins = 0;
  };
  std::vector<Group> groups;
  std::vector<int> homes;
  for (std::size_t f = 0; f < bins.size(); ++f) {
    if (places[f].sparse >= 0) {
      homes.push_back(-1);
      continue;
    }
    RowBits marked;
    if (places[f].default_bin >= 0) marked = MarkedRows(bins[f], places[f].default_bin);
    int home = -1, tried = 0;
    for (int g = static_cast<int>(groups.size()); g-- > 0 && tried < kMostGroupsTried && home < 0;) {
      if (places[f].default_bin < 0 || groups[g].bins == 0) continue;
      ++tried;
      if (groups[g].bins + places[f].bins() - 1 <= kMostSharedBins && Disjoint(groups[g].marked, marked))
        home = g;
    }
    if (home < 0) {
      home = static_cast<int>(groups.size());
      groups.push_back({std::move(marked), places[f].default_bin < 0 ? 0 : places[f].bins()});
    } else {
      groups[home].bins += places[f].bins() - 1;
      for (std::size_t i = 0; i < marked.size(); ++i) groups[home].marked[i] |= marked[i];
    }
    homes.push_back(home);
  }
  return homes;
}

// Joins features that are in one group on every rank.
absl::Status RefineGroups(Communicator* ranks, std::vector<int>* homes) {
  if (ranks->size() == 1) return absl::OkStatus();
  const auto all =
      ranks->AllGather({reinterpret_cast<const char*>(homes->data()), homes->size() * sizeof(int)});
  if (!all.ok()) return all.status();
  std::map<std::vector<int>, int> groups;
  for (std::size_t f = 0; f < homes->size(); ++f) {
    if ((*homes)[f] < 0) continue;
    std::vector<int> on_ranks(all->size());
    for (std::size_t r = 0; r < all->size(); ++r)
      std::memcpy(&on_ranks[r], (*all)[r].data() + f * sizeof(int), sizeof(int));
    (*homes)[f] = groups.emplace(std::move(on_ranks), static_cast<int>(groups.size())).first->second;
  }
  return absl::OkStatus();
}

// Numbers groups without slots. A feature alone in its group needs no default bin.
void PlaceFeatures(const std::vector<int>& homes, std::vector<FeaturePlace> places, BinLayout* layout) {
  layout->groups.resize(*std::max_element(homes.begin(), homes.end()) + 1);
  for (std::size_t f = 0; f < homes.size(); ++f) {
    if (homes[f] >= 0) layout->groups[homes[f]].features.push_back(static_cast<int>(f));
  }
  for (std::size_t f = 0; f < homes.size(); ++f) {
    if (homes[f] < 0) continue;
    FeaturePlace& place = places[f];
    FeatureGroup& group = layout->groups[homes[f]];
    place.group = homes[f];
    if (group.features.size() == 1) {
      place.default_bin = -1;
      group.bins = place.bins();
    } else {
      place.first = group.bins;
      group.bins += place.bins() - 1;
    }
  }
  layout->features = std::move(places);
}

// Best fit, largest group first: a slot's number of bins is the product of its groups'.
void PlaceGroups(int most_bins, BinLayout* layout) {
  std::vector<int> order(layout->groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return layout->groups[a].bins > layout->groups[b].bins; });
  std::vector<std::vector<int>> open(most_bins + 1);  // slots by bins
  for (int g : order) {
    FeatureGroup& group = layout->groups[g];
    int room = group.bins > 1 ? most_bins / group.bins : most_bins;
    while (room > 0 && open[room].empty()) --room;
    if (room > 0) {
      group.slot = open[room].back();
      open[room].pop_back();
    } else {
      group.slot = static_cast<int>(layout->slots.size());
      layout->slots.emplace_back();
    }
    BinSlot& slot = layout->slots[group.slot];
    group.stride = slot.bins;
    slot.bins *= group.bins;
    slot.groups.push_back(g);
    if (slot.bins <= most_bins) open[slot.bins].push_back(group.slot);
  }
}

}  // namespace

int BinLayout::most_bins() const {
  int most = 1;
  for (const BinSlot& slot : slots) most = std::max(most, slot.bins);
  return most;
}

std::vector<uint8_t> BinLayout::LeftTable(int feature, const std::vector<uint8_t>& left_bins) const {
  const FeaturePlace& at = features[feature];
  const FeatureGroup& group = groups[at.group];
  std::vector<uint8_t> by_group_bin(group.bins, at.default_bin >= 0 ? left_bins[at.default_bin] : 0);
  for (int bin = 0; bin < at.bins(); ++bin) {
    if (bin != at.default_bin) by_group_bin[at.GroupBin(bin)] = left_bins[bin];
  }
  std::vector<uint8_t> table;
  table.reserve(slots[group.slot].bins);
  while (static_cast<int>(table.size()) < slots[group.slot].bins) {
    for (uint8_t left : by_group_bin) table.insert(table.end(), group.stride, left);
  }
  return table;
}

absl::StatusOr<BinLayout> SharedLayout(const std::vector<std::vector<uint16_t>>& bins,
                                       const std::vector<FeatureCuts>& cuts, const DataSet& data,
                                       Communicator* ranks, ThreadPool* pool) {
  const auto counts = CountBins(bins, cuts, data, ranks, pool);
  if (!counts.ok()) return counts.status();
  BinLayout layout;
  layout.features.resize(bins.size());
  for (std::size_t f = 0; f < bins.size(); ++f) {
    if (data.StaysSparse(f)) PlaceSparse(static_cast<int>(f), cuts[f], data.sparse[f].rest, &layout);
  }
  std::vector<FeaturePlace> places = std::move(layout.features);
  for (std::size_t f = 0; f < bins.size(); ++f) {
    if (places[f].sparse >= 0) continue;
    places[f].values = ValueBins(cuts[f]);
    places[f].has_missing = cuts[f].has_missing;
    if (places[f].bins() < kMostSharedBins) places[f].default_bin = DefaultBin(cuts[f], (*counts)[f]);
  }
  std::vector<int> homes = LocalGroups(bins, places);
  if (absl::Status status = RefineGroups(ranks, &homes); !status.ok()) return status;
  PlaceFeatures(homes, std::move(places), &layout);
  PlaceGroups(kMostSharedBins, &layout);
  return layout;
}

void PlaceSparse(int feature, const FeatureCuts& cuts, float rest, BinLayout* layout) {
  FeaturePlace& place = layout->features[feature];
  place = {.group = -1, .values = ValueBins(cuts), .has_missing = true};
  place.default_bin = std::isnan(rest) ? place.values : cuts.BinOf(rest);
  place.sparse = static_cast<int>(layout->sparse_features.size());
  layout->sparse_features.push_back(feature);
  if (layout->sparse_bins.empty()) layout->sparse_bins.push_back(0);
  layout->sparse_bins.push_back(layout->sparse_bins.back() + static_cast<uint32_t>(place.bins()));
}

BinLayout LoneLayout(const std::vector<FeatureCuts>& cuts, const DataSet& data) {
  BinLayout layout;
  layout.features.resize(cuts.size());
  for (std::size_t f = 0; f < cuts.size(); ++f) {
    if (data.StaysSparse(f)) {
      PlaceSparse(static_cast<int>(f), cuts[f], data.sparse[f].rest, &layout);
      continue;
    }
    FeaturePlace& feature = layout.features[f];
    const auto number = static_cast<int>(layout.groups.size());
    feature.group = number;
    feature.values = ValueBins(cuts[f]);
    feature.has_missing = true;
    layout.groups.push_back({number, 1, feature.bins(), {static_cast<int>(f)}});
    layout.slots.push_back({feature.bins(), {number}});
  }
  return layout;
}

}  // namespace winnow::gbdt

#include "insight/forest.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "scheduler/space/random.h"

namespace winnow {
namespace {

// Cuts considered per dimension: more would slow the fit without better trees.
constexpr size_t kMostBins = 256;
// Nodes with fewer points sort them; others use bins.
constexpr size_t kSorted = 96;

// A dimension's values in bins; bin b has the values below cuts[b] and not below cuts[b - 1].
struct Binned {
  std::vector<double> cuts;
  std::vector<uint16_t> bin;  // of each point
};

Binned MakeBins(const std::vector<double>& x) {
  std::vector<double> values = x;
  std::sort(values.begin(), values.end());
  const std::vector<double> all = values;
  values.erase(std::unique(values.begin(), values.end()), values.end());
  Binned binned;
  if (values.size() <= kMostBins) {
    for (size_t i = 1; i < values.size(); ++i) binned.cuts.push_back(std::midpoint(values[i - 1], values[i]));
  } else {
    for (size_t b = 1; b < kMostBins; ++b) {
      const size_t place = b * all.size() / kMostBins;
      const double cut = std::midpoint(all[place - 1], all[place]);
      if (all[place - 1] < cut && (binned.cuts.empty() || cut > binned.cuts.back()))
        binned.cuts.push_back(cut);
    }
  }
  for (const double value : x) {
    binned.bin.push_back(static_cast<uint16_t>(
        std::upper_bound(binned.cuts.begin(), binned.cuts.end(), value) - binned.cuts.begin()));
  }
  return binned;
}

struct Cut {
  double gain = 0;
  int dimension = -1;
  size_t bin = 0;  // the last bin below the cut
};

class Grower {
 public:
  Grower(const std::vector<Binned>& x, const std::vector<double>& y, const ForestOptions& options,
         int64_t tree)
      : x_(x), y_(y), options_(options), tree_(tree), sums_(kMostBins + 1), counts_(kMostBins + 1) {
    for (size_t i = 0; i < y.size(); ++i) {
      points_.push_back(static_cast<uint32_t>(Draw() % y.size()));
    }
  }

  Forest::Tree Grow() {
    struct Part {
      size_t node, begin, end;
    };
    Forest::Tree tree(1);
    std::vector<Part> parts = {{0, 0, points_.size()}};
    while (!parts.empty()) {
      const Part part = parts.back();
      parts.pop_back();
      double sum = 0;
      for (size_t i = part.begin; i < part.end; ++i) sum += y_[points_[i]];
      tree[part.node].value = sum / static_cast<double>(part.end - part.begin);
      const Cut cut = Best(part.begin, part.end, sum);
      if (cut.dimension < 0) continue;
      const std::vector<uint16_t>& bins = x_[cut.dimension].bin;
      const auto middle = std::partition(points_.begin() + static_cast<std::ptrdiff_t>(part.begin),
                                         points_.begin() + static_cast<std::ptrdiff_t>(part.end),
                                         [&](uint32_t point) { return bins[point] <= cut.bin; });
      const auto at = static_cast<size_t>(middle - points_.begin());
      const size_t below = tree.size();
      tree[part.node].dimension = cut.dimension;
      tree[part.node].cut = x_[cut.dimension].cuts[cut.bin];
      tree[part.node].below = static_cast<int>(below);
      tree.resize(below + 2);
      parts.push_back({below, part.begin, at});
      parts.push_back({below + 1, at, part.end});
    }
    return tree;
  }

 private:
  uint64_t Draw() { return RandomBits(options_.seed, tree_, Purpose::kModel, draws_++); }

  Cut Best(size_t begin, size_t end, double sum) {
    Cut best;
    const size_t least = static_cast<size_t>(options_.least_leaf);
    if (end - begin < 2 * least) return best;
    std::vector<int> dimensions(x_.size());
    std::iota(dimensions.begin(), dimensions.end(), 0);
    const size_t chosen = (5 * dimensions.size() + 5) / 6;
    for (size_t i = 0; i < chosen; ++i) {
      std::swap(dimensions[i], dimensions[i + Draw() % (dimensions.size() - i)]);
      Look(dimensions[i], begin, end, sum, best);
    }
    return best;
  }

  void Look(int dimension, size_t begin, size_t end, double sum, Cut& best) {
    const Binned& binned = x_[dimension];
    const auto count = static_cast<double>(end - begin);
    double below_sum = 0;
    size_t below = 0;
    const auto consider = [&](size_t bin) {
      const size_t above = end - begin - below;
      const size_t least = static_cast<size_t>(options_.least_leaf);
      if (below < least || above < least) return;
      const double above_sum = sum - below_sum;
      const double gain = below_sum * below_sum / static_cast<double>(below) +
                          above_sum * above_sum / static_cast<double>(above) - sum * sum / count;
      // A gain within rounding error does not count.
      if (gain > best.gain && gain > 1e-12 * std::abs(sum * sum / count)) best = {gain, dimension, bin};
    };
    if (end - begin < kSorted) {
      sorted_.clear();
      for (size_t i = begin; i < end; ++i) sorted_.emplace_back(binned.bin[points_[i]], y_[points_[i]]);
      std::sort(sorted_.begin(), sorted_.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 0; i + 1 < sorted_.size(); ++i) {
        below_sum += sorted_[i].second;
        ++below;
        if (sorted_[i].first != sorted_[i + 1].first) consider(sorted_[i].first);
      }
      return;
    }
    const size_t bins = binned.cuts.size() + 1;
    std::fill_n(sums_.begin(), bins, 0.0);
    std::fill_n(counts_.begin(), bins, 0u);
    for (size_t i = begin; i < end; ++i) {
      sums_[binned.bin[points_[i]]] += y_[points_[i]];
      ++counts_[binned.bin[points_[i]]];
    }
    for (size_t bin = 0; bin + 1 < bins; ++bin) {
      if (counts_[bin] == 0) continue;
      below_sum += sums_[bin];
      below += counts_[bin];
      consider(bin);
    }
  }

  const std::vector<Binned>& x_;
  const std::vector<double>& y_;
  const ForestOptions& options_;
  const int64_t tree_;
  uint64_t draws_ = 0;
  std::vector<uint32_t> points_;  // of the sample, grouped by node
  std::vector<double> sums_;
  std::vector<uint32_t> counts_;
  std::vector<std::pair<uint16_t, double>> sorted_;
};

}  // namespace

Forest Forest::Fit(const ForestData& data, const ForestOptions& options, const std::function<bool()>& gone) {
  std::vector<Binned> binned;
  for (const std::vector<double>& dimension : data.x) binned.push_back(MakeBins(dimension));
  // Centred values lose the least precision in sums of squares.
  std::vector<double> y = data.y;
  const double mean = std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
  for (double& value : y) value -= mean;
  std::vector<Tree> trees;
  for (int tree = 0; tree < options.trees && !(gone && gone()); ++tree) {
    trees.push_back(Grower(binned, y, options, tree).Grow());
    for (Node& node : trees.back()) node.value += mean;
  }
  return {data.x.size(), std::move(trees)};
}

}  // namespace winnow

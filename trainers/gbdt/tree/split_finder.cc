#include "trainers/gbdt/tree/split_finder.h"

#include <cmath>
#include <numeric>
#include <utility>

namespace winnow::gbdt {
namespace {

// Keeps the best of the given cuts of categories in an order, the first among equals.
class BestCut {
 public:
  BestCut(const GradientSum& total, const CategoryGain& gain) : total_(total), gain_(gain) {}

  // Places [begin, end) of the order go right.
  void Try(const GradientSum& left, bool missing_left, int begin, int end) {
    const float gain = gain_(left);
    if (!(gain > best_.gain)) return;
    best_.gain = gain;
    best_.missing_left = missing_left;
    best_.left = left;
    best_.right = total_ - left;
    begin_ = begin;
    end_ = end;
  }
  // order: the categories with what they are ordered by.
  Split Take(const std::vector<std::pair<double, int>>& order) {
    for (int i = begin_; i < end_; ++i) best_.right_bins.push_back(order[i].second);
    std::sort(best_.right_bins.begin(), best_.right_bins.end());
    return std::move(best_);
  }

 private:
  const GradientSum& total_;
  const CategoryGain& gain_;
  Split best_;
  int begin_ = 0, end_ = 0;
};

constexpr float kMinGain = 1e-6f;  // XGBoost's kRtEps: smaller gains do not count
constexpr int kBatch = 512;        // candidates evaluated at a time

GradientSum AsSum(PackedSum sum) { return Unpack(sum); }
GradientSum AsSum(const GradientSum& sum) { return sum; }
bool IsNothing(PackedSum sum) { return sum == 0; }
bool IsNothing(const GradientSum& sum) { return sum == GradientSum{}; }
PackedSum InForm(const GradientSum& sum, PackedSum) { return Pack(sum); }
GradientSum InForm(const GradientSum& sum, GradientSum) { return sum; }

}  // namespace

Split BestCategorySplit(const GbdtParameters& parameters, const std::vector<GradientSum>& bins,
                        const GradientSum& missing, const GradientSum& total, const CategoryGain& gain,
                        const CategoryWeight& weight) {
  BestCut best(total, gain);
  const int categories = static_cast<int>(bins.size());
  std::vector<std::pair<double, int>> order;
  for (int c = 0; c < categories; ++c) order.emplace_back(weight(bins[c]), c);
  if (categories < parameters.max_cat_to_onehot) {
    for (int c = 0; c < categories; ++c) {
      best.Try(total - bins[c], true, c, c + 1);
      if (!(missing == GradientSum{})) best.Try(total - bins[c] - missing, false, c, c + 1);
    }
    return best.Take(order);
  }
  std::sort(order.begin(), order.end());
  const int most = static_cast<int>(std::min<int64_t>(parameters.max_cat_threshold, categories));
  GradientSum low;  // of the first i + 1 in order: they go right, missing values with the others
  for (int i = 0; i + 1 < categories && i < most; ++i) {
    low += bins[order[i].second];
    best.Try(total - low, true, 0, i + 1);
    if (!(missing == GradientSum{})) best.Try(total - low - missing, false, 0, i + 1);
  }
  GradientSum high;  // of the last ones
  for (int i = categories - 1; i > 0 && categories - i <= most; --i) {
    high += bins[order[i].second];
    best.Try(total - high, true, i, categories);
    if (!(missing == GradientSum{})) best.Try(total - high - missing, false, i, categories);
  }
  return best.Take(order);
}

struct SplitFinder::Search {
  const SplitFinder& finder;
  const GradientScale& scale;
  const SplitQuery& query;
  Scratch& scratch;
  Split best;
  Kernels::GainInputs inputs{};

  double GradientOf(const GradientSum& sum) const {
    return static_cast<double>(sum.gradient) * scale.gradient;
  }
  double HessianOf(const GradientSum& sum) const { return static_cast<double>(sum.hessian) * scale.hessian; }

  double NodeGain() const {
    const GainRule& rule = finder.rule_;
    if (finder.directions_.empty()) return rule.Gain(GradientOf(query.total), HessianOf(query.total));
    return rule.GainAt(GradientOf(query.total), HessianOf(query.total),
                       finder.WeightOf(query.total, scale, query.bounds));
  }

  void Push(double left_gradient, double left_hessian) {
    scratch.left_gradient[scratch.count] = left_gradient;
    scratch.left_hessian[scratch.count] = left_hessian;
    ++scratch.count;
  }
  void Begin(int feature, Scratch::Run::Kind kind) { scratch.runs.push_back({feature, kind, scratch.count}); }
  void Reserve(int more) {
    const std::size_t needed = static_cast<std::size_t>(scratch.count + more);
    if (scratch.left_gradient.size() >= needed) return;
    scratch.left_gradient.resize(2 * needed);
    scratch.left_hessian.resize(2 * needed);
    scratch.gain.resize(2 * needed);
  }

  void PushSum(const GradientSum& left) {
    Push(static_cast<double>(left.gradient), static_cast<double>(left.hessian));
  }

  void PushPrefixes(const PackedSum* bins, int count) {
    ChosenKernels().prefix_packed(bins, static_cast<std::size_t>(count),
                                  scratch.left_gradient.data() + scratch.count,
                                  scratch.left_hessian.data() + scratch.count);
    scratch.count += count;
  }
  void PushPrefixes(const GradientSum* bins, int count) {
    GradientSum left;
    for (int bin = 0; bin < count; ++bin) {
      left += bins[bin];
      PushSum(left);
    }
  }

  // Adds every cut of one feature, in the order that decides between equals: missing values right, missing
  // values alone, missing values left.
  template <typename Sum>
  void AddCuts(int feature, const FeaturePlace& at, const Sum* bins) {
    Reserve(2 * at.values);
    Begin(feature, Scratch::Run::kMissingRight);
    const bool missing = at.has_missing && !IsNothing(bins[at.values]);
    // With monotone constraints it matters on which side missing values are alone.
    PushPrefixes(bins, missing && !finder.directions_.empty() ? at.values : at.values - 1);
    if (!missing) return;
    Begin(feature, Scratch::Run::kMissingAlone);
    PushSum(AsSum(bins[at.values]));
    Begin(feature, Scratch::Run::kMissingLeft);
    Sum right{};
    for (int bin = at.values - 1; bin > 0; --bin) {
      right += bins[bin];
      PushSum(query.total - AsSum(right));
    }
  }

  // Adds the cuts of a feature with sums in its group's: if it shares the group, its default bin has the rest
  // of the node's sums.
  template <typename Sum>
  void AddFeature(int f, const Sum* group, std::vector<Sum>* bins) {
    const FeaturePlace& at = finder.layout_.features[f];
    if (at.bins() < 2) return;
    const bool categorical = finder.cuts_[f].categorical;
    if (at.default_bin < 0) {
      if (categorical)
        AddCategories(f, at, group);
      else
        AddCuts(f, at, group);
      return;
    }
    if (at.bins() == 2 && at.values == 2 && !categorical) {  // one of a one-hot group
      const GradientSum marked = AsSum(group[at.first]);
      Reserve(1);
      Begin(f, Scratch::Run::kMissingRight);
      PushSum(at.default_bin == 0 ? query.total - marked : marked);
      return;
    }
    bins->assign(at.bins(), Sum{});
    GradientSum rest = query.total;
    for (int bin = 0; bin < at.bins(); ++bin) {
      if (bin == at.default_bin) continue;
      (*bins)[bin] = group[at.GroupBin(bin)];
      rest = rest - AsSum((*bins)[bin]);
    }
    (*bins)[at.default_bin] = InForm(rest, Sum{});
    if (categorical)
      AddCategories(f, at, bins->data());
    else
      AddCuts(f, at, bins->data());
  }

  template <typename Sum>
  void AddCategories(int f, const FeaturePlace& at, const Sum* bins) {
    std::vector<GradientSum> sums;
    for (int bin = 0; bin < finder.cuts_[f].bins(); ++bin) sums.push_back(AsSum(bins[bin]));
    const GradientSum missing = at.has_missing ? AsSum(bins[at.values]) : GradientSum{};
    const CategoryGain gain = [&](const GradientSum& left) { return GainOf(f, left); };
    const CategoryWeight weight = [&](const GradientSum& sum) {
      return finder.rule_.Weight(GradientOf(sum), HessianOf(sum));
    };
    Split found = BestCategorySplit(finder.parameters_, sums, missing, query.total, gain, weight);
    found.feature = f;
    if (found.gain > kMinGain && found.Beats(best)) best = std::move(found);
  }

  float Gains(int feature, const double* left_gradient, const double* left_hessian, int count, float* gain) {
    if (!finder.directions_.empty()) inputs.direction = finder.directions_[feature];
    return ChosenKernels().gains(left_gradient, left_hessian, static_cast<std::size_t>(count), inputs, gain);
  }

  float GainOf(int feature, const GradientSum& left) {
    const auto gradient = static_cast<double>(left.gradient), hessian = static_cast<double>(left.hessian);
    float gain = 0;
    Gains(feature, &gradient, &hessian, 1, &gain);
    return gain;
  }

  int EndOf(std::size_t run) const {
    return run + 1 < scratch.runs.size() ? scratch.runs[run + 1].begin : scratch.count;
  }

  GradientSum LeftOf(int i) const {
    return {static_cast<int64_t>(scratch.left_gradient[i]), static_cast<int64_t>(scratch.left_hessian[i])};
  }

  // Evaluates the candidates, and clears them.
  void Weigh() {
    float most = -1;
    const auto weigh = [&](int feature, int begin, int end) {
      most = std::max(
          most, Gains(feature, scratch.left_gradient.data() + begin, scratch.left_hessian.data() + begin,
                      end - begin, scratch.gain.data() + begin));
    };
    if (finder.directions_.empty()) {
      weigh(-1, 0, scratch.count);
    } else {
      for (std::size_t r = 0; r < scratch.runs.size(); ++r)
        weigh(scratch.runs[r].feature, scratch.runs[r].begin, EndOf(r));
    }
    if (most > kMinGain && most >= best.gain) TakeBest(most);
    scratch.count = 0;
    scratch.runs.clear();
    scratch.used.clear();
  }

  void TakeBest(float most) {
    for (std::size_t r = 0; r < scratch.runs.size(); ++r) {
      const Scratch::Run& run = scratch.runs[r];
      if (most == best.gain && best.feature >= 0 && run.feature >= best.feature) continue;
      const float* const first = scratch.gain.data() + run.begin;
      const float* const last = scratch.gain.data() + EndOf(r);
      const float* const found = std::find(first, last, most);
      if (found == last) continue;
      const int offset = static_cast<int>(found - first);
      best = {};
      best.gain = most;
      best.feature = run.feature;
      best.missing_left = run.kind != Scratch::Run::kMissingRight;
      if (run.used >= 0) {
        if (run.kind == Scratch::Run::kMissingRight) best.last_left = scratch.used[run.used + offset];
        if (run.kind == Scratch::Run::kMissingLeft)
          best.last_left = scratch.used[run.used_end - 1 - offset] - 1;
      } else {
        if (run.kind == Scratch::Run::kMissingRight) best.last_left = offset;
        if (run.kind == Scratch::Run::kMissingLeft)
          best.last_left = finder.layout_.features[run.feature].values - 2 - offset;
      }
      best.left = LeftOf(run.begin + offset);
      best.right = query.total - best.left;
    }
  }

  // Adds the cuts of a sparse feature behind its bins with rows: a cut between them has the sums of one of
  // these, and AddCuts prefers these among equals. sums[i] is of bin bins[i] - first_bin.
  template <typename Sum>
  void AddSparseCuts(int f, uint32_t first_bin, const uint32_t* bins, const Sum* sums, std::size_t count) {
    const FeaturePlace& at = finder.layout_.features[f];
    const int begin = static_cast<int>(scratch.used.size());
    std::vector<GradientSum>& values = scratch.used_sums;
    values.clear();
    GradientSum rest = query.total, missing;
    for (std::size_t i = 0; i < count; ++i) {
      const int bin = static_cast<int>(bins[i] - first_bin);
      const GradientSum sum = AsSum(sums[i]);
      rest = rest - sum;
      if (bin == at.values) {
        missing = sum;
      } else {
        scratch.used.push_back(bin);
        values.push_back(sum);
      }
    }
    if (at.default_bin == at.values) {
      missing = rest;
    } else if (!IsNothing(rest)) {
      const auto place = std::lower_bound(scratch.used.begin() + begin, scratch.used.end(), at.default_bin);
      values.insert(values.begin() + (place - scratch.used.begin() - begin), rest);
      scratch.used.insert(place, at.default_bin);
    }
    const int used = static_cast<int>(values.size());
    if (used == 0) return;
    const auto begin_run = [&](Scratch::Run::Kind kind) {
      scratch.runs.push_back({f, kind, scratch.count, begin, begin + used});
    };
    Reserve(2 * used + 1);
    const bool has_missing = !IsNothing(missing);
    begin_run(Scratch::Run::kMissingRight);
    // As in AddCuts: the values can be alone on the left if a bin without rows is above them.
    const bool all_left = has_missing && (!finder.directions_.empty() || scratch.used.back() < at.values - 1);
    GradientSum left;
    for (int i = 0; i < used - (all_left ? 0 : 1); ++i) {
      left += values[i];
      PushSum(left);
    }
    if (!has_missing) return;
    begin_run(Scratch::Run::kMissingAlone);
    PushSum(missing);
    begin_run(Scratch::Run::kMissingLeft);
    GradientSum right;
    for (int i = used - 1; i > 0; --i) {
      right += values[i];
      PushSum(query.total - right);
    }
  }

  template <typename Sum>
  void RunSparse(std::span<const uint32_t> first_bins, const std::vector<uint32_t>& bins, const Sum* sums) {
    const auto feature_at = [&](std::size_t i) {
      return std::upper_bound(first_bins.begin(), first_bins.end(), bins[i]) - first_bins.begin() - 1;
    };
    const auto border = [&](int part) -> std::size_t {
      const std::size_t at = bins.size() * static_cast<std::size_t>(part) / query.sparse_parts;
      if (at == 0 || at == bins.size()) return at;
      return static_cast<std::size_t>(std::lower_bound(bins.begin(), bins.end(), first_bins[feature_at(at)]) -
                                      bins.begin());
    };
    const std::size_t end = border(query.sparse_part + 1);
    for (std::size_t i = border(query.sparse_part); i < end;) {
      const auto k = feature_at(i);
      std::size_t next = i + 1;
      while (next < end && bins[next] < first_bins[k + 1]) ++next;
      const int f = finder.layout_.sparse_features[k];
      if ((*query.allowed)[f]) AddSparseCuts(f, first_bins[k], bins.data() + i, sums + i, next - i);
      if (scratch.count >= kBatch) Weigh();
      i = next;
    }
    if (scratch.count > 0) Weigh();
  }

  template <typename Sum>
  void Run(const HistogramShape& shape, const Sum* sums, std::vector<Sum>* slot_scratch,
           std::vector<Sum>* bin_scratch) {
    const std::vector<uint8_t>& allowed = *query.allowed;
    for (int k = query.first_slot; k < query.end_slot; ++k) {
      const BinSlot& slot = finder.layout_.slots[shape.slot(k)];
      ForEachGroup(finder.layout_, slot, sums + k * shape.pad(), slot_scratch, [&](int g, const Sum* group) {
        for (int f : finder.layout_.groups[g].features) {
          if (allowed[f]) AddFeature(f, group, bin_scratch);
        }
      });
      if (scratch.count >= kBatch) Weigh();
    }
    if (scratch.count > 0) Weigh();
  }
};

SplitFinder::SplitFinder(const GbdtParameters& parameters, const BinLayout& layout,
                         const std::vector<FeatureCuts>& cuts, const std::vector<int>& directions)
    : parameters_(parameters), layout_(layout), cuts_(cuts), directions_(directions), rule_(parameters) {}

Split SplitFinder::Best(const HistogramShape& shape, const GradientScale& scale, const SplitQuery& query,
                        Scratch* scratch) const {
  Search search{*this, scale, query, *scratch, {}, {}};
  search.inputs = {scale.gradient,
                   scale.hessian,
                   static_cast<double>(query.total.gradient),
                   static_cast<double>(query.total.hessian),
                   rule_.lambda(),
                   rule_.alpha(),
                   rule_.min_child_weight(),
                   search.NodeGain(),
                   rule_.limits_weights() || !directions_.empty(),
                   rule_.most_weight(),
                   query.bounds.lower,
                   query.bounds.upper,
                   0};
  if (query.histogram->sparse) {
    const SparseSums& sparse = *query.histogram->sparse;
    if (query.histogram->packed)
      search.RunSparse(shape.sparse_bins(), sparse.bins, sparse.Packed());
    else
      search.RunSparse(shape.sparse_bins(), sparse.bins, sparse.Wide());
  }
  if (query.histogram->packed)
    search.Run(shape, query.histogram->Packed(), &scratch->packed_slot, &scratch->packed_bins);
  else
    search.Run(shape, query.histogram->Wide(), &scratch->wide_slot, &scratch->wide_bins);
  return std::move(search.best);
}

double SplitFinder::WeightOf(const GradientSum& sum, const GradientScale& scale,
                             const WeightBounds& bounds) const {
  return rule_.Weight(static_cast<double>(sum.gradient) * scale.gradient,
                      static_cast<double>(sum.hessian) * scale.hessian, bounds);
}

void SplitFinder::ChildBounds(const Split& split, const GradientScale& scale, const WeightBounds& bounds,
                              WeightBounds* left, WeightBounds* right) const {
  *left = *right = bounds;
  if (directions_.empty() || directions_[split.feature] == 0) return;
  const double middle = (WeightOf(split.left, scale, bounds) + WeightOf(split.right, scale, bounds)) / 2;
  (directions_[split.feature] > 0 ? left->upper : left->lower) = middle;
  (directions_[split.feature] > 0 ? right->lower : right->upper) = middle;
}

}  // namespace winnow::gbdt

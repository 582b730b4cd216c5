#include "trainers/gbdt/objective/metric_area.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "trainers/common/exact_sum.h"
#include "trainers/common/fixed_point.h"
#include "trainers/gbdt/objective/objective.h"
#include "trainers/gbdt/objective/run_exchange.h"

namespace winnow::gbdt {
namespace {

// scale of parts of the area under precision and recall, which is at most 1
constexpr double kAreaScale = 0x1p62;

struct Weights {
  uint64_t positive = 0, negative = 0;
};

// Twice the area under the receiver operating characteristic, in units of squared weight: ties count half.
// Below 2^125, because both weights are below 2^62.
class RocArea {
 public:
  RocArea(Weights above, Weights /*total*/) : positives_(above.positive) {}
  void Add(const TieRun& run) {
    sum_ += static_cast<UInt128>(run.negative) * (2 * static_cast<UInt128>(positives_) + run.positive);
    positives_ += run.positive;
  }
  UInt128 sum() const { return sum_; }

  static double Value(UInt128 sum, Weights total) {
    return static_cast<double>(sum) /
           static_cast<double>(2 * static_cast<UInt128>(total.positive) * total.negative);
  }

 private:
  uint64_t positives_;
  UInt128 sum_ = 0;
};

// The area under the interpolated precision-recall curve (Davis and Goadrich, ICML 2006; Boyd, Eng and Page
// 2013), as XGBoost computes it, in units of 1 / kAreaScale.
class PrecisionRecallArea {
 public:
  PrecisionRecallArea(Weights above, Weights total)
      : at_(above), total_(static_cast<double>(total.positive)) {}
  void Add(const TieRun& run) {
    const auto tp_before = static_cast<double>(at_.positive), fp_before = static_cast<double>(at_.negative);
    at_.positive += run.positive;
    at_.negative += run.negative;
    const auto tp = static_cast<double>(at_.positive), fp = static_cast<double>(at_.negative);
    if (tp == tp_before) return;
    const double h = (fp - fp_before) / (tp - tp_before);
    const double a = 1 + h;
    const double b = (fp_before - h * tp_before) / total_;
    const double from = tp_before / total_, to = tp / total_;
    const double part =
        b == 0 ? (to - from) / a : (to - from - b / a * (std::log(a * to + b) - std::log(a * from + b))) / a;
    sum_ += static_cast<Int128>(part * kAreaScale);
  }
  UInt128 sum() const { return static_cast<UInt128>(sum_); }

  static double Value(UInt128 sum, Weights) {
    return static_cast<double>(static_cast<Int128>(sum)) / kAreaScale;
  }

 private:
  Weights at_;
  const double total_;
  Int128 sum_ = 0;
};

// The conversion of weights to whole numbers: the same on all ranks.
struct Units {
  bool plain = true;  // all rows of all ranks are plain
  double scale = 1;
};

absl::StatusOr<Units> AgreeOnUnits(const ScoredRows& rows, Communicator* communicator) {
  float heaviest = rows.score.empty() ? 0.0f : 1.0f;  // a rank without rows does not count
  if (!rows.weight.empty()) heaviest = *std::max_element(rows.weight.begin(), rows.weight.end());
  uint64_t count = rows.score.size();
  uint64_t largest[] = {rows.plain() ? uint64_t{0} : uint64_t{1}, std::bit_cast<uint32_t>(heaviest)};
  if (absl::Status status = communicator->AllReduceSum({&count, 1}); !status.ok()) return status;
  if (absl::Status status = communicator->AllReduceMax(largest); !status.ok()) return status;
  if (largest[0] == 0) return Units{};
  const double weight = std::bit_cast<float>(static_cast<uint32_t>(largest[1]));
  const int bits = 62 - static_cast<int>(std::bit_width(count));
  return Units{false, std::ldexp(1.0, ScaleExponent(weight, bits))};
}

Weights TotalOf(const ScoredRows& rows, const Units& units) {
  Weights total;
  for (std::size_t i = 0; i < rows.score.size(); ++i) {
    if (units.plain) {
      total.positive += rows.label[i] == 1.0f ? 1 : 0;
    } else {
      total.positive += rows.Positive(i, units.scale);
      total.negative += rows.Negative(i, units.scale);
    }
  }
  if (units.plain) total.negative = rows.score.size() - total.positive;
  return total;
}

// Returns the part of all ranks' weights on the ranks after this one, which have the higher scores.
absl::StatusOr<Weights> WeightsAbove(Weights mine, Communicator* communicator) {
  std::vector<uint64_t> of_ranks(2 * communicator->size());
  of_ranks[2 * communicator->rank()] = mine.positive;
  of_ranks[2 * communicator->rank() + 1] = mine.negative;
  if (communicator->size() > 1) {
    if (absl::Status status = communicator->AllReduceSum(of_ranks); !status.ok()) return status;
  }
  Weights above;
  for (int r = communicator->rank() + 1; r < communicator->size(); ++r) {
    above.positive += of_ranks[2 * r];
    above.negative += of_ranks[2 * r + 1];
  }
  return above;
}

// This rank's part of the area over all ranks' plain rows.
template <typename Area>
absl::StatusOr<UInt128> PlainPart(const ScoredRows& rows, Weights total, Communicator* communicator) {
  PlainKeys keys(rows);
  if (communicator->size() > 1) {
    auto in_range = ExchangeKeys(keys, communicator);
    if (!in_range.ok()) return in_range.status();
    keys = *std::move(in_range);
  }
  const auto above = WeightsAbove({keys.positive.size(), keys.negative.size()}, communicator);
  if (!above.ok()) return above.status();
  if constexpr (std::is_same_v<Area, RocArea>) {
    const uint64_t negatives_below = total.negative - above->negative - keys.negative.size();
    return keys.TwiceRightPairs() + 2 * static_cast<UInt128>(keys.positive.size()) * negatives_below;
  } else {
    Area area(*above, total);
    ForEachPlainRun(keys, [&area](const TieRun& run) { area.Add(run); });
    return area.sum();
  }
}

// This rank's part of the area over any rows.
template <typename Area>
absl::StatusOr<UInt128> WeightedPart(const ScoredRows& rows, double scale, Weights total,
                                     Communicator* communicator) {
  if (communicator->size() == 1) {
    Area area({}, total);
    ForEachWeightedRun(rows, scale, [&area](const TieRun& run) { area.Add(run); });
    return area.sum();
  }
  std::vector<TieRun> runs;
  ForEachWeightedRun(rows, scale, [&runs](const TieRun& run) { runs.push_back(run); });
  const auto in_range = ExchangeRuns(runs, communicator);
  if (!in_range.ok()) return in_range.status();
  Weights mine;
  for (const TieRun& run : *in_range) {
    mine.positive += run.positive;
    mine.negative += run.negative;
  }
  const auto above = WeightsAbove(mine, communicator);
  if (!above.ok()) return above.status();
  Area area(*above, total);
  for (const TieRun& run : *in_range) area.Add(run);
  return area.sum();
}

struct AreaOfRows {
  double value = kNoArea;
  Weights total;
};

template <typename Area>
absl::StatusOr<AreaOfRows> AreaUnder(const ScoredRows& rows, Communicator* communicator) {
  const auto units = AgreeOnUnits(rows, communicator);
  if (!units.ok()) return units.status();
  const Weights mine = TotalOf(rows, *units);
  uint64_t sums[] = {mine.positive, mine.negative};
  if (absl::Status status = communicator->AllReduceSum(sums); !status.ok()) return status;
  const Weights total{sums[0], sums[1]};
  if (total.positive == 0 || total.negative == 0) return AreaOfRows{kNoArea, total};
  const auto part = units->plain ? PlainPart<Area>(rows, total, communicator)
                                 : WeightedPart<Area>(rows, units->scale, total, communicator);
  if (!part.ok()) return part.status();
  UInt128 sum = *part;
  if (absl::Status status = SumOverRanks({&sum, 1}, communicator); !status.ok()) return status;
  return AreaOfRows{Area::Value(sum, total), total};
}

absl::StatusOr<AreaOfRows> AreaUnder(Metric::Kind kind, const ScoredRows& rows, Communicator* communicator) {
  return kind == Metric::kAuc ? AreaUnder<RocArea>(rows, communicator)
                              : AreaUnder<PrecisionRecallArea>(rows, communicator);
}

// Each class against the rest, by its weight.
absl::StatusOr<double> AreaOfClasses(Metric::Kind kind, const GbdtParameters& parameters,
                                     const Targets& targets, std::span<const float> weight,
                                     std::span<const float> margin, Communicator* communicator) {
  const auto rows = static_cast<std::size_t>(targets.rows);
  std::vector<float> probabilities(margin.size()), is_class(rows);
  MetricPredictions(parameters, margin, targets.rows, 0, targets.rows, probabilities.data());
  double sum = 0, weights = 0;
  for (int k = 0; k < parameters.classes(); ++k) {
    for (std::size_t i = 0; i < rows; ++i)
      is_class[i] = targets.label[i] == static_cast<float>(k) ? 1.0f : 0.0f;
    const std::span<const float> of_class(probabilities.data() + k * rows, rows);
    const auto area = AreaUnder(kind, {of_class, is_class, weight}, communicator);
    if (!area.ok()) return area.status();
    sum += area->value * static_cast<double>(area->total.positive);
    weights += static_cast<double>(area->total.positive);
  }
  return sum / weights;
}

}  // namespace

absl::StatusOr<double> AreaMetric(const Metric& metric, const GbdtParameters& parameters,
                                  const Targets& targets, std::span<const float> margin,
                                  Communicator* communicator) {
  std::vector<float> of_rows;
  if (!targets.group_begin.empty() && !targets.weight.empty()) of_rows = RowWeights(targets);
  const std::span<const float> weight = of_rows.empty() ? targets.weight : std::span<const float>(of_rows);
  if (parameters.multi())
    return AreaOfClasses(metric.kind, parameters, targets, weight, margin, communicator);
  const auto area = AreaUnder(metric.kind, {margin, targets.label, weight}, communicator);
  return area.ok() ? absl::StatusOr<double>(area->value) : area.status();
}

double AreaUnderPrecisionRecall(const ScoredRows& rows) {
  const std::unique_ptr<Communicator> alone = MakeSoleRank();
  const auto area = AreaUnder<PrecisionRecallArea>(rows, alone.get());
  return area.ok() ? area->value : kNoArea;
}

}  // namespace winnow::gbdt

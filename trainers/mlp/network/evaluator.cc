#include "trainers/mlp/network/evaluator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainers/common/exact_sum.h"
#include "trainers/common/portable_math.h"
#include "trainers/data/shard.h"
#include "trainers/mlp/network/layer_stack.h"
#include "trainers/mlp/network/loss_rows.h"

namespace winnow::mlp {
namespace {

constexpr uint64_t kRowMask = 0xffffffff;

// Maps floats to whole numbers in the same order; both zeros are equal.
uint32_t OrderOf(float score) {
  const uint32_t bits = std::bit_cast<uint32_t>(score == 0 ? 0.0f : score);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

// AreaUnderRoc of unweighted rows of which few are positive: only those are sorted. All sums are whole.
double AreaOfFewPositives(std::span<const float> score, std::span<const uint8_t> positive,
                          std::size_t count) {
  std::vector<uint32_t> keys;
  keys.reserve(count);
  for (std::size_t i = 0; i < score.size(); ++i)
    if (positive[i] != 0) keys.push_back(OrderOf(score[i]));
  std::sort(keys.begin(), keys.end());
  uint64_t twice_above = 0;  // the positives above each negative, twice, and those tied with it
  for (std::size_t i = 0; i < score.size(); ++i) {
    if (positive[i] != 0) continue;
    const uint32_t key = OrderOf(score[i]);
    const auto first = std::lower_bound(keys.begin(), keys.end(), key);
    const auto last = std::upper_bound(first, keys.end(), key);
    twice_above += static_cast<uint64_t>((keys.end() - first) + (keys.end() - last));
  }
  return static_cast<double>(twice_above) / 2 /
         (static_cast<double>(count) * static_cast<double>(score.size() - count));
}

// Returns the area under the ROC curve of rows, with ties of scores counted half; `positive` is 1 or 0. NaN
// if positives or negatives have no weight. weight: [row], or empty: all 1.
double AreaUnderRoc(std::span<const float> score, std::span<const uint8_t> positive,
                    std::span<const float> weight) {
  constexpr std::size_t kFew = 8;  // of so many rows one
  const auto count = static_cast<std::size_t>(std::count(positive.begin(), positive.end(), 1));
  if (weight.empty() && count > 0 && count <= score.size() / kFew)
    return AreaOfFewPositives(score, positive, count);
  // Ties stay in row order, so that sums have one order.
  std::vector<uint64_t> keys(score.size());
  for (std::size_t i = 0; i < score.size(); ++i)
    keys[i] = static_cast<uint64_t>(OrderOf(score[i])) << 32 | static_cast<uint64_t>(i);
  std::sort(keys.begin(), keys.end());
  double negatives = 0, positives = 0, area = 0;
  for (std::size_t begin = 0; begin < keys.size();) {
    double tied_negatives = 0, tied_positives = 0;
    std::size_t end = begin;
    for (; end < keys.size() && keys[end] >> 32 == keys[begin] >> 32; ++end) {
      const std::size_t row = keys[end] & kRowMask;
      const double w = weight.empty() ? 1.0 : static_cast<double>(weight[row]);
      (positive[row] != 0 ? tied_positives : tied_negatives) += w;
    }
    area += tied_positives * (negatives + 0.5 * tied_negatives);
    negatives += tied_negatives;
    positives += tied_positives;
    begin = end;
  }
  if (!(positives > 0) || !(negatives > 0)) return std::numeric_limits<double>::quiet_NaN();
  return area / (positives * negatives);
}

using Kind = MlpMetric::Kind;

constexpr double kNoLoss = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kRowsMeasuredAtOnce = 256;  // rows that are padded and measured at a time
constexpr int64_t kForwarded = 8192;          // rows of one forward pass, whose outputs are kept

// Measurements of this rank's rows, one entry each.
struct Measured {
  std::vector<float> loss;      // without smoothing
  std::vector<int32_t> before;  // see LossBatch
};

// Outputs in the layout of LossRows.
class PaddedOutputs {
 public:
  explicit PaddedOutputs(int width)
      : width_(width), stride_(PaddedTo(width, kPanel)), padded_(kRowsMeasuredAtOnce * stride_) {}

  const float* Pad(std::span<const float> outputs, int64_t begin, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r)
      std::copy_n(outputs.data() + (begin + r) * width_, width_, padded_.data() + r * stride_);
    return padded_.data();
  }
  int64_t stride() const { return stride_; }

 private:
  const int64_t width_, stride_;
  std::vector<float> padded_;
};

Measured Measure(const MlpParameters& parameters, std::span<const float> outputs, int width,
                 std::span<const float> label) {
  LossRule rule = MakeLossRule(parameters, width, false);
  rule.smoothing = 0;
  const auto rows = static_cast<int64_t>(label.size());
  Measured measured{std::vector<float>(label.size()), std::vector<int32_t>(label.size())};
  PaddedOutputs padded(width);
  for (int64_t begin = 0; begin < rows; begin += kRowsMeasuredAtOnce) {
    LossBatch batch;
    batch.rows = std::min(kRowsMeasuredAtOnce, rows - begin);
    batch.stride = padded.stride();
    batch.outputs = padded.Pad(outputs, begin, batch.rows);
    batch.label = label.data() + begin;
    batch.loss = measured.loss.data() + begin;
    batch.before = measured.before.data() + begin;
    LossRows(rule, batch);
  }
  return measured;
}

// Returns the values whose weighted mean is the metric (for rmse, its square).
std::vector<double> RowValues(const MlpMetric& metric, const Measured& measured,
                              std::span<const float> outputs, std::span<const float> label) {
  std::vector<double> values(label.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double loss = measured.loss[i];
    // Regression has one output per row.
    const auto residue = [&] { return static_cast<double>(outputs[i]) - static_cast<double>(label[i]); };
    switch (metric.kind) {
      case Kind::kLoss:
      case Kind::kLogLoss:
        values[i] = loss;
        break;
      case Kind::kAccuracy:
        values[i] = measured.before[i] == 0 ? 1 : 0;
        break;
      case Kind::kError:
        values[i] = measured.before[i] == 0 ? 0 : 1;
        break;
      case Kind::kTop:
        values[i] = measured.before[i] < metric.top ? 1 : 0;
        break;
      case Kind::kRmse:
        values[i] = residue() * residue();
        break;
      case Kind::kMae:
        values[i] = std::fabs(residue());
        break;
      case Kind::kAuc:
        break;
    }
    if (!std::isfinite(loss)) values[i] = kNoLoss;
  }
  return values;
}

// Returns the scores by which rows are ranked, [class][row]: the probability for classes, the single output
// otherwise.
std::vector<float> Scores(std::span<const float> outputs, int width, std::size_t rows) {
  std::vector<float> scores(outputs.begin(), outputs.end());
  std::vector<double> shares(width);
  for (std::size_t i = 0; width > 1 && i < rows; ++i) {
    const float* row = outputs.data() + i * width;
    const float top = *std::max_element(row, row + width);
    double total = 0;
    for (int k = 0; k < width; ++k) total += shares[k] = static_cast<double>(PortableExp(row[k] - top));
    for (int k = 0; k < width; ++k) scores[k * rows + i] = static_cast<float>(shares[k] / total);
  }
  return scores;
}

// Every rank has all outputs, labels and weights, and computes the same value.
absl::StatusOr<double> Auc(std::span<const float> outputs, int width, const DenseData& data,
                           Communicator* ranks) {
  auto all = GatherFloats(outputs, ranks);
  if (!all.ok()) return all.status();
  const auto rows = static_cast<std::size_t>(data.rows);
  if (all->size() != rows * width)
    return absl::InternalError("auc: the ranks' parts are not the data's rows");
  std::vector<float> weight(data.weight.begin(), data.weight.end());
  for (std::size_t i = 0; i < all->size(); ++i) {
    if (std::isfinite((*all)[i])) continue;
    if (weight.empty() || weight[i / width] != 0) return kNoLoss;
    (*all)[i] = 0;
  }
  const std::vector<float> scores = Scores(*all, width, rows);
  std::vector<uint8_t> positive(rows);
  double sum = 0;
  for (int k = 0; k < width; ++k) {
    const float of_class = width == 1 ? 1.0f : static_cast<float>(k);
    for (std::size_t i = 0; i < rows; ++i) positive[i] = data.label[i] == of_class ? 1 : 0;
    sum += AreaUnderRoc({scores.data() + k * rows, rows}, positive, weight);
  }
  return sum / width;
}

// A row without weight adds 0, whatever its value.
absl::StatusOr<double> WeightedMean(std::vector<double> values, std::span<const float> weight,
                                    Communicator* ranks) {
  std::vector<double> weights(values.size(), 1.0);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    weights[i] = static_cast<double>(weight[i]);
    values[i] = weight[i] == 0 ? 0.0 : values[i] * weights[i];
  }
  const auto sums = ExactSums({values, weights}, ranks);
  if (!sums.ok()) return sums.status();
  return (*sums)[1] > 0 ? (*sums)[0] / (*sums)[1] : kNoLoss;
}

}  // namespace

absl::StatusOr<std::vector<double>> EvaluateOutputs(const MlpParameters& parameters,
                                                    std::span<const float> outputs, int width,
                                                    const DenseData& data, int64_t first,
                                                    std::span<const MlpMetric> metrics, Communicator* ranks) {
  const std::size_t rows = outputs.size() / static_cast<std::size_t>(width);
  const std::span<const float> label = data.label.subspan(static_cast<std::size_t>(first), rows);
  const std::span<const float> weight =
      data.weight.empty() ? data.weight : data.weight.subspan(static_cast<std::size_t>(first), rows);
  const Measured measured = Measure(parameters, outputs, width, label);
  std::vector<double> results;
  for (const MlpMetric& metric : metrics) {
    const auto value = metric.kind == Kind::kAuc
                           ? Auc(outputs, width, data, ranks)
                           : WeightedMean(RowValues(metric, measured, outputs, label), weight, ranks);
    if (!value.ok()) return value.status();
    results.push_back(metric.kind == Kind::kRmse ? std::sqrt(*value) : *value);
  }
  return results;
}

absl::StatusOr<std::vector<double>> Evaluate(const Network& network, const MlpParameters& parameters,
                                             const NetworkState& state, const DenseData& data,
                                             std::span<const MlpMetric> metrics, Communicator* ranks,
                                             Crew* crew) {
  const auto [first, last] = RowRange(data.rows, ranks->rank(), ranks->size());
  std::vector<float> outputs;
  outputs.reserve(static_cast<std::size_t>(last - first) * network.outputs());
  for (int64_t begin = first; begin < last; begin += kForwarded) {
    const std::vector<float> part =
        ForwardRows(network, parameters, state, data, begin, std::min(begin + kForwarded, last), crew);
    outputs.insert(outputs.end(), part.begin(), part.end());
  }
  return EvaluateOutputs(parameters, outputs, network.outputs(), data, first, metrics, ranks);
}

absl::StatusOr<std::vector<float>> GatherFloats(std::span<const float> mine, Communicator* ranks) {
  if (ranks->size() == 1) return std::vector<float>(mine.begin(), mine.end());
  const absl::StatusOr<std::vector<std::string>> gathered =
      ranks->AllGather({reinterpret_cast<const char*>(mine.data()), mine.size_bytes()});
  if (!gathered.ok()) return gathered.status();
  std::vector<float> all;
  for (const std::string& one : *gathered) {
    const std::size_t at = all.size();
    all.resize(at + one.size() / sizeof(float));
    if (!one.empty()) std::memcpy(all.data() + at, one.data(), one.size());
  }
  return all;
}

absl::Status GatherSlots(NetworkState* state, Communicator* ranks) {
  for (std::vector<float>& slot : state->slots) {  // it may be empty on some ranks only: all call
    absl::StatusOr<std::vector<float>> all = GatherFloats(slot, ranks);
    if (!all.ok()) return all.status();
    slot = *std::move(all);
  }
  return absl::OkStatus();
}

}  // namespace winnow::mlp

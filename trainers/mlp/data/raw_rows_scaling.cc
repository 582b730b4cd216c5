#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "trainers/data/split.h"
#include "trainers/mlp/data/raw_rows.h"

namespace winnow::mlp {
namespace {

constexpr double kLargestByte = 255;

// 1 for constant values, or a variance below the range of float.
float DeviationOf(double variance) {
  const auto deviation = static_cast<float>(std::sqrt(variance));
  return std::isnormal(deviation) ? deviation : 1;
}

// Sums are exact, so that only the last steps round.
FeatureScaling ScalingOfBytes(const std::vector<uint8_t>& bytes) {
  uint64_t sum = 0, squares = 0;
  for (const uint8_t byte : bytes) {
    sum += byte;
    squares += uint64_t{byte} * byte;
  }
  using Wide = unsigned __int128;
  const Wide count = bytes.size();
  const auto n = static_cast<double>(bytes.size());
  const auto spread = static_cast<double>(count * squares - Wide{sum} * sum);
  FeatureScaling scaling;
  scaling.mean = {static_cast<float>(static_cast<double>(sum) / n / kLargestByte)};
  scaling.deviation = {DeviationOf(spread / n / n / (kLargestByte * kLargestByte))};
  return scaling;
}

// Returns means and deviations of `columns` interleaved columns, each summed in row order.
FeatureScaling ScalingOfValues(const std::vector<float>& values, std::size_t columns) {
  std::vector<double> sum(columns), squares(columns);
  std::vector<int64_t> count(columns);
  std::vector<float> least(columns, std::numeric_limits<float>::infinity()), most(columns, -least[0]);
  for (std::size_t i = 0, c = 0; i < values.size(); ++i, c = c + 1 == columns ? 0 : c + 1) {
    if (std::isnan(values[i])) continue;
    sum[c] += static_cast<double>(values[i]);
    ++count[c];
    least[c] = std::min(least[c], values[i]);
    most[c] = std::max(most[c], values[i]);
  }
  for (std::size_t c = 0; c < columns; ++c)
    sum[c] = count[c] > 0 ? sum[c] / static_cast<double>(count[c]) : 0;
  for (std::size_t i = 0, c = 0; i < values.size(); ++i, c = c + 1 == columns ? 0 : c + 1) {
    if (std::isnan(values[i])) continue;
    const double away = static_cast<double>(values[i]) - sum[c];
    squares[c] += away * away;
  }
  FeatureScaling scaling;
  for (std::size_t c = 0; c < columns; ++c) {
    const bool varies = count[c] > 0 && least[c] < most[c];
    scaling.mean.push_back(static_cast<float>(sum[c]));
    scaling.deviation.push_back(varies ? DeviationOf(squares[c] / static_cast<double>(count[c])) : 1);
  }
  return scaling;
}

// Returns the rows of `all` with the numbers in `rows`.
RawRows RowsOf(const RawRows& all, const std::vector<int64_t>& rows) {
  RawRows part;
  part.rows = static_cast<int64_t>(rows.size());
  part.features = all.features;
  part.of_bytes = all.of_bytes;
  const auto copy = [&](const auto& from, auto* to, int64_t width) {
    if (from.empty()) return;
    to->reserve(rows.size() * static_cast<std::size_t>(width));
    for (const int64_t row : rows)
      to->insert(to->end(), from.begin() + row * width, from.begin() + (row + 1) * width);
  };
  copy(all.bytes, &part.bytes, all.features);
  copy(all.values, &part.values, all.features);
  copy(all.label, &part.label, 1);
  copy(all.weight, &part.weight, 1);
  return part;
}

}  // namespace

absl::StatusOr<std::pair<RawRows, RawRows>> SplitRows(const RawRows& all, double validation_fraction,
                                                      uint64_t seed) {
  std::vector<int64_t> parts[2];
  for (int64_t row = 0; row < all.rows; ++row)
    parts[RowValidates(seed, row, validation_fraction)].push_back(row);
  if (parts[0].empty() || parts[1].empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "validation_fraction {} leaves {} of {} rows for validation; expected at least one row in each part",
        validation_fraction, parts[1].size(), all.rows));
  }
  return std::make_pair(RowsOf(all, parts[0]), RowsOf(all, parts[1]));
}

FeatureScaling ScalingOf(const RawRows& rows, const FeatureSchema& schema, bool standardise) {
  const std::size_t columns = schema.names.empty() ? 1 : schema.names.size();
  if (!standardise) return {std::vector<float>(columns, 0.0f), std::vector<float>(columns, 1.0f)};
  return rows.of_bytes ? ScalingOfBytes(rows.bytes) : ScalingOfValues(rows.values, columns);
}

absl::Status ScaleValues(const std::string& path, const FeatureSchema& schema, RawRows* rows) {
  const FeatureScaling& scaling = schema.scaling;
  const std::size_t columns = scaling.mean.size();
  for (std::size_t i = 0, c = 0; i < rows->values.size(); ++i, c = c + 1 == columns ? 0 : c + 1) {
    float& value = rows->values[i];
    if (std::isnan(value)) {
      value = 0;
      continue;
    }
    const double input = (static_cast<double>(value) - static_cast<double>(scaling.mean[c])) /
                         static_cast<double>(scaling.deviation[c]);
    if (std::abs(input) > static_cast<double>(std::numeric_limits<float>::max())) {
      const std::size_t feature = i % static_cast<std::size_t>(schema.features);
      return absl::InvalidArgumentError(fmt::format(
          "{}: row {}: feature {} is {}, {} deviations of the training data from their mean: expected what a "
          "float can hold",
          path, i / static_cast<std::size_t>(schema.features) + 1,
          feature < schema.names.size() ? schema.names[feature] : std::to_string(feature + 1), value, input));
    }
    value = static_cast<float>(input);
  }
  return absl::OkStatus();
}

void SetByteScaling(const FeatureScaling& scaling, DenseData* data) {
  const auto mean = static_cast<double>(scaling.mean[0]),
             deviation = static_cast<double>(scaling.deviation[0]);
  data->byte_scale = static_cast<float>(1 / (kLargestByte * deviation));
  data->byte_shift = static_cast<float>(-mean / deviation);
}

}  // namespace winnow::mlp

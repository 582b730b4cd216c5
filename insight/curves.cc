#include "insight/curves.h"

#include <algorithm>
#include <cmath>

namespace winnow {
namespace {

// Levels up to here are deduplicated by a bitmap, higher ones by sorting.
constexpr int64_t kMostMarks = 1 << 20;

template <typename Take>
void ForEachPoint(const std::vector<Curve>& curves, const std::vector<uint8_t>& marked, const Take& take) {
  for (size_t row = 0; row < curves.size() && row < marked.size(); ++row) {
    if (marked[row] == 0) continue;
    for (const CurvePoint& point : curves[row]) take(point);
  }
}

std::vector<int64_t> LevelsOf(const std::vector<Curve>& curves, const std::vector<uint8_t>& marked) {
  std::vector<uint8_t> low;
  std::vector<int64_t> levels;
  ForEachPoint(curves, marked, [&](const CurvePoint& point) {
    if (std::isnan(point.value)) return;
    if (point.resource < 0 || point.resource >= kMostMarks) {
      if (levels.empty() || levels.back() != point.resource) levels.push_back(point.resource);
      return;
    }
    const auto place = static_cast<size_t>(point.resource);
    if (place >= low.size()) low.resize(std::max(place + 1, 2 * low.size()));
    low[place] = 1;
  });
  for (size_t place = 0; place < low.size(); ++place) {
    if (low[place] != 0) levels.push_back(static_cast<int64_t>(place));
  }
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  return levels;
}

// QuantileOf in values[begin..end); all values before are no greater, all after no less.
double Quantile(std::vector<double>& values, double part, size_t begin, size_t end) {
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const auto at = [&](size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  std::nth_element(at(begin), at(below), at(end));
  const double low = values[below];
  const double rest = place - static_cast<double>(below);
  if (rest == 0 || below + 1 == values.size()) return low;
  const double high = below + 1 < end ? *std::min_element(at(below + 1), at(end)) : values[below + 1];
  return low == high ? low : low + (high - low) * rest;
}

}  // namespace

double QuantileOf(std::vector<double>& values, double part) {
  return Quantile(values, part, 0, values.size());
}

EnvelopeData MakeEnvelope(const std::vector<Curve>& curves, const std::vector<uint8_t>& marked, size_t most) {
  const std::vector<int64_t> levels = LevelsOf(curves, marked);
  const size_t count = std::min(most, levels.size());
  std::vector<int64_t> ends;
  for (size_t i = 0; i < count; ++i) ends.push_back(levels[(i + 1) * levels.size() / count - 1]);
  std::vector<std::vector<double>> values(count);
  for (size_t row = 0; row < curves.size() && row < marked.size(); ++row) {
    if (marked[row] == 0) continue;
    size_t range = 0;
    const Curve& curve = curves[row];
    for (size_t i = 0; i < curve.size(); ++i) {
      if (std::isnan(curve[i].value)) continue;
      if (ends[range] < curve[i].resource) {
        const auto from = ends.begin() + static_cast<std::ptrdiff_t>(range);
        // Usually the next one.
        range = static_cast<size_t>((*(from + 1) >= curve[i].resource
                                         ? from + 1
                                         : std::lower_bound(from, ends.end(), curve[i].resource)) -
                                    ends.begin());
      }
      size_t next = i + 1;
      while (next < curve.size() && std::isnan(curve[next].value)) ++next;
      if (next == curve.size() || curve[next].resource > ends[range]) values[range].push_back(curve[i].value);
    }
  }
  EnvelopeData envelope;
  for (size_t i = 0; i < count; ++i) {
    std::vector<double>& of_range = values[i];
    if (of_range.empty()) continue;
    const size_t size = of_range.size(), middle = (size - 1) / 2;
    const auto [least, greatest] = std::minmax_element(of_range.begin(), of_range.end());
    envelope.min.push_back(*least);
    envelope.max.push_back(*greatest);
    envelope.resource.push_back(ends[i]);
    envelope.count.push_back(static_cast<int32_t>(size));
    // Each quartile searches only its side of the median.
    envelope.median.push_back(Quantile(of_range, 0.5, 0, size));
    envelope.lower.push_back(Quantile(of_range, 0.25, 0, middle + 1));
    envelope.upper.push_back(Quantile(of_range, 0.75, middle, size));
  }
  return envelope;
}

Curve ThinCurve(const Curve& curve, size_t most) {
  if (curve.size() <= most) return curve;
  Curve thin = {curve.front()};
  const size_t parts = (most - 2) / 2, inner = curve.size() - 2;
  for (size_t part = 0; part < parts; ++part) {
    const size_t begin = 1 + part * inner / parts, end = 1 + (part + 1) * inner / parts;
    size_t low = begin, high = begin;
    for (size_t i = begin; i < end; ++i) {
      if (curve[i].value < curve[low].value || std::isnan(curve[low].value)) low = i;
      if (curve[i].value > curve[high].value || std::isnan(curve[high].value)) high = i;
    }
    thin.push_back(curve[std::min(low, high)]);
    if (low != high) thin.push_back(curve[std::max(low, high)]);
  }
  thin.push_back(curve.back());
  return thin;
}

}  // namespace winnow

#include "bench/search/families.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "bench/search/closed_form.h"
#include "bench/search/curve_table.h"
#include "bench/search/recorded_table.h"
#include "bench/search/repeated.h"

namespace winnow {
namespace {

// SearchSpace::FromUnit for one parameter: integers and categories have cells of equal width; with log
// scaling integer k covers log(k - 1/2)..log(k + 1/2).
double Native(const FamilyParameter& p, double coordinate) {
  const double u = coordinate > 0 ? std::min(coordinate, 1.0) : 0.0;
  if (p.kind == FamilyKind::kContinuous) {
    if (!p.log) return std::clamp(std::lerp(p.min, p.max, u), p.min, p.max);
    return std::clamp(std::exp(std::lerp(std::log(p.min), std::log(p.max), u)), p.min, p.max);
  }
  if (p.log) {
    const double scaled = std::lerp(std::log(p.min - 0.5), std::log(p.max + 0.5), u);
    return std::clamp(std::round(std::exp(scaled)), p.min, p.max);
  }
  return std::min(p.max, p.min + std::floor(u * (p.max - p.min + 1)));
}

double Unit(const FamilyParameter& p, double native) {
  if (p.kind == FamilyKind::kContinuous) {
    if (!p.log) return std::clamp((native - p.min) / (p.max - p.min), 0.0, 1.0);
    return std::clamp(std::log(native / p.min) / std::log(p.max / p.min), 0.0, 1.0);
  }
  if (p.log) {
    const double low = std::log(p.min - 0.5);
    return std::clamp((std::log(native) - low) / (std::log(p.max + 0.5) - low), 0.0, 1.0);
  }
  return (native - p.min + 0.5) / (p.max - p.min + 1);
}

}  // namespace

std::vector<double> Family::ToNative(const std::vector<double>& unit) const {
  std::vector<double> native;
  native.reserve(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) native.push_back(Native(parameters_[i], unit[i]));
  return native;
}

std::vector<double> Family::ToUnit(const std::vector<double>& native) const {
  std::vector<double> unit;
  unit.reserve(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) unit.push_back(Unit(parameters_[i], native[i]));
  return unit;
}

double Family::Value(const std::vector<double>& unit, int level) const {
  return ValueAt(ToNative(unit), level);
}

double Family::Observed(const std::vector<double>& unit, int level, uint64_t seed) const {
  return ObservedAt(ToNative(unit), level, seed);
}

Family::Curve Family::WholeCurve(const std::vector<double>& unit, uint64_t seed) const {
  const std::vector<double> native = ToNative(unit);
  Curve curve;
  for (int level = 1; level <= max_resource_; ++level) {
    curve.values.push_back(ValueAt(native, level));
    curve.observed.push_back(ObservedAt(native, level, seed));
  }
  return curve;
}

absl::StatusOr<std::unique_ptr<Family>> MakeFamily(std::string_view name) {
  const auto path_after = [&](std::string_view prefix) {
    return name.substr(0, prefix.size()) == prefix ? std::string(name.substr(prefix.size())) : "";
  };
  if (const std::string path = path_after("table:"); !path.empty()) return ReadCurveTable(path);
  if (const std::string path = path_after("rows:"); !path.empty()) {
    return ReadRecordedTable(path, TablePlay::kNearest);
  }
  if (const std::string path = path_after("smooth:"); !path.empty()) {
    return ReadRecordedTable(path, TablePlay::kSmooth);
  }
  if (const std::string base = path_after("repeated:"); !base.empty()) {
    auto family = MakeFamily(base);
    return family.ok() ? MakeRepeated(*std::move(family)) : std::move(family);
  }
  if (std::unique_ptr<Family> family = MakeClosedForm(name)) return family;
  std::string known;
  for (const std::string& each : FamilyNames()) known += each + ", ";
  return absl::NotFoundError("no family \"" + std::string(name) + "\"; expected one of " + known +
                             "table:PATH, rows:PATH, smooth:PATH or repeated:FAMILY");
}

}  // namespace winnow

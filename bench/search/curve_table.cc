#include "bench/search/curve_table.h"

#include <charconv>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace winnow {
namespace {

struct Row {
  std::vector<double> at;  // native values; unit coordinates once in a CurveTable
  std::vector<double> curve;
};

class CurveTable : public Family {
 public:
  CurveTable(std::string name, std::vector<FamilyParameter> parameters, std::vector<Row> rows)
      : Family(std::move(name), std::move(parameters), static_cast<int>(rows[0].curve.size())),
        rows_(std::move(rows)) {
    optimum_ = rows_[0].curve[0];
    for (Row& row : rows_) {
      row.at = ToUnit(row.at);
      for (const double value : row.curve) {
        if (value < optimum_) continue;
        optimum_ = value;
        optimizer_ = row.at;
      }
    }
  }

  double optimum() const override { return optimum_; }
  std::vector<double> optimizer() const override { return optimizer_; }

  Curve WholeCurve(const std::vector<double>& unit, uint64_t /*seed*/) const override {
    const Row& row = Nearest(ToNative(unit));
    return {row.curve, row.curve};
  }

 protected:
  double ValueAt(const std::vector<double>& native, int level) const override {
    return Nearest(native).curve[level - 1];
  }
  double ObservedAt(const std::vector<double>& native, int level, uint64_t /*seed*/) const override {
    return ValueAt(native, level);
  }

 private:
  // Returns the first of the nearest.
  const Row& Nearest(const std::vector<double>& native) const {
    const std::vector<double> unit = ToUnit(native);
    const Row* nearest = nullptr;
    double least = 0;
    for (const Row& row : rows_) {
      double distance = 0;
      for (size_t i = 0; i < unit.size(); ++i) distance += (unit[i] - row.at[i]) * (unit[i] - row.at[i]);
      if (nearest != nullptr && distance >= least) continue;
      least = distance;
      nearest = &row;
    }
    return *nearest;
  }

  std::vector<Row> rows_;
  double optimum_;
  std::vector<double> optimizer_;
};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool ReadNumber(std::string_view text, double* number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), *number);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

// Whether `heading` names a hyperparameter.
bool ReadParameter(std::string_view heading, FamilyParameter* parameter) {
  const std::vector<std::string_view> parts = Split(heading, ':');
  if (parts.size() < 4 || parts.size() > 5 || (parts.size() == 5 && parts[4] != "log")) return false;
  if (parts[1] != "integer" && parts[1] != "continuous") return false;
  parameter->name = std::string(parts[0]);
  parameter->kind = parts[1] == "integer" ? FamilyKind::kInteger : FamilyKind::kContinuous;
  parameter->log = parts.size() == 5;
  return ReadNumber(parts[2], &parameter->min) && ReadNumber(parts[3], &parameter->max) &&
         parameter->min < parameter->max;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Family>> ReadCurveTable(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(path + ": cannot be read");
  std::string line;
  std::getline(file, line);
  std::vector<FamilyParameter> parameters;
  const std::vector<std::string_view> headings = Split(line, ',');
  for (FamilyParameter parameter; parameters.size() < headings.size();) {
    if (!ReadParameter(headings[parameters.size()], &parameter)) break;
    parameters.push_back(parameter);
  }
  const size_t columns = headings.size();
  const size_t first_level = parameters.size() + 1;
  if (parameters.empty() || first_level >= columns || headings[parameters.size()] != "seconds_per_round" ||
      headings[first_level] != "1" || headings.back() != std::to_string(columns - first_level)) {
    return absl::InvalidArgumentError(
        path +
        ":1: expected NAME:integer|continuous:MIN:MAX columns, seconds_per_round, then levels 1, 2, ...");
  }
  std::vector<Row> rows;
  for (size_t number = 2; std::getline(file, line); ++number) {
    const std::vector<std::string_view> cells = Split(line, ',');
    Row row;
    for (size_t i = 0; i < cells.size() && cells.size() == columns; ++i) {
      double value = 0;
      if (!ReadNumber(cells[i], &value)) break;
      if (i < parameters.size()) row.at.push_back(value);
      if (i >= first_level) row.curve.push_back(value);
    }
    if (row.at.size() + 1 + row.curve.size() != columns) {
      return absl::InvalidArgumentError(path + ":" + std::to_string(number) + ": expected " +
                                        std::to_string(columns) + " numbers");
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return absl::InvalidArgumentError(path + ": a header but no rows");
  return std::make_unique<CurveTable>("table:" + path, std::move(parameters), std::move(rows));
}

}  // namespace winnow

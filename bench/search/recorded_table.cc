#include "bench/search/recorded_table.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace winnow {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class RecordedTable : public Family {
 public:
  RecordedTable(std::string name, std::vector<FamilyParameter> parameters, std::vector<RecordedRow> rows,
                TablePlay play)
      : Family(std::move(name), std::move(parameters), static_cast<int>(rows[0].curve.size())),
        rows_(std::move(rows)),
        play_(play) {
    for (RecordedRow& row : rows_) row.at = ToUnit(row.at);
    if (play_ == TablePlay::kSmooth) Limit();
    std::vector<double> seconds;
    for (const RecordedRow& row : rows_) seconds.push_back(row.seconds);
    std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
    for (RecordedRow& row : rows_) row.seconds /= seconds[seconds.size() / 2];
    for (const RecordedRow& row : rows_) {
      for (const double value : play_ == TablePlay::kNearest ? row.curve : CurveAt(row.at)) {
        if (!(value > optimum_)) continue;
        optimum_ = value;
        optimizer_ = row.at;
      }
    }
  }

  const std::vector<RecordedRow>& rows() const { return rows_; }
  double optimum() const override { return optimum_; }
  std::vector<double> optimizer() const override { return optimizer_; }

  Curve WholeCurve(const std::vector<double>& unit, uint64_t /*seed*/) const override {
    std::vector<double> curve = CurveAt(ToUnit(ToNative(unit)));
    return {curve, curve};
  }
  double Slowness(const std::vector<double>& unit) const override {
    double slowness = 0, weights = 0;
    for (const auto& [row, weight] : WeightsAt(ToUnit(ToNative(unit)))) {
      slowness += weight * row->seconds;
      weights += weight;
    }
    return slowness / weights;
  }

 protected:
  double ValueAt(const std::vector<double>& native, int level) const override {
    return CurveAt(ToUnit(native))[static_cast<size_t>(level) - 1];
  }
  double ObservedAt(const std::vector<double>& native, int level, uint64_t /*seed*/) const override {
    return ValueAt(native, level);
  }

 private:
  static constexpr size_t kNearestRows = 12;  // of a smooth play

  // Diverged losses go up to 1e18 and would be all that a mean shows: nothing counts as worse than the worst
  // of the better nine tenths of all values at the first level, as far below it again.
  void Limit() {
    std::vector<double> first;
    for (const RecordedRow& row : rows_) {
      if (std::isfinite(row.curve[0])) first.push_back(row.curve[0]);
    }
    std::sort(first.begin(), first.end());
    const double low = first[first.size() / 10], high = first.back();
    const double least = low - (high - low);
    for (RecordedRow& row : rows_) {
      for (double& value : row.curve) value = std::isfinite(value) ? std::max(value, least) : least;
    }
  }

  double SquaredDistance(const std::vector<double>& a, const std::vector<double>& b) const {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double apart =
          parameters()[i].kind == FamilyKind::kCategorical ? (a[i] != b[i] ? 1 : 0) : a[i] - b[i];
      sum += apart * apart;
    }
    return sum;
  }

  // The rows that a configuration is played by, with their weights.
  std::vector<std::pair<const RecordedRow*, double>> WeightsAt(const std::vector<double>& unit) const {
    std::vector<std::pair<double, size_t>> nearest;  // the first of equally near rows
    const size_t most = play_ == TablePlay::kNearest ? 1 : std::min(kNearestRows, rows_.size() - 1);
    // One row more than are averaged: its distance is the width.
    const size_t keep = play_ == TablePlay::kNearest ? 1 : most + 1;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const double distance = SquaredDistance(unit, rows_[i].at);
      if (nearest.size() == keep && distance >= nearest.back().first) continue;
      if (nearest.size() == keep) nearest.pop_back();
      nearest.insert(std::upper_bound(nearest.begin(), nearest.end(), std::pair{distance, i}), {distance, i});
    }
    if (play_ == TablePlay::kNearest) return {{&rows_[nearest[0].second], 1}};
    std::vector<std::pair<const RecordedRow*, double>> weights;
    const double width = nearest.back().first;
    for (size_t i = 0; i < most; ++i) {
      // Falls to 0 at the width, so that the mean has no steps.
      weights.emplace_back(&rows_[nearest[i].second],
                           std::pow(1 - nearest[i].first / (width + 1e-12), 2) + 1e-12);
    }
    return weights;
  }

  std::vector<double> CurveAt(const std::vector<double>& unit) const {
    const auto weights = WeightsAt(unit);
    if (weights.size() == 1) return weights[0].first->curve;
    std::vector<double> mean(rows_[0].curve.size(), 0);
    double sum = 0;
    for (const auto& [row, weight] : weights) {
      sum += weight;
      for (size_t level = 0; level < mean.size(); ++level) mean[level] += weight * row->curve[level];
    }
    for (double& value : mean) value /= sum;
    return mean;
  }

  std::vector<RecordedRow> rows_;
  TablePlay play_;
  double optimum_ = -std::numeric_limits<double>::infinity();
  std::vector<double> optimizer_;
};

// The whole file, also of a compressed one; absent: it cannot be read.
std::optional<std::string> Contents(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return std::nullopt;
  std::string text, part(1 << 16, 0);
  int count = 0;
  while ((count = gzread(file, part.data(), static_cast<unsigned>(part.size()))) > 0) {
    text.append(part, 0, static_cast<size_t>(count));
  }
  gzclose(file);
  if (count < 0) return std::nullopt;
  return text;
}

class RecordedReader {
 public:
  RecordedReader(std::string path, const std::string& text) : path_(std::move(path)), lines_(text) {}

  absl::StatusOr<std::unique_ptr<Family>> Run(TablePlay play) {
    std::istringstream head = Line();
    std::string goal, kind;
    size_t levels = 0, parameters = 0, rows = 0;
    if (!(head >> goal >> kind >> levels >> parameters >> rows) ||
        (goal != "maximize" && goal != "minimize") || (kind != "rows" && kind != "grid") || levels == 0 ||
        parameters == 0 || rows < 2) {
      return Error("maximize|minimize rows|grid LEVELS PARAMETERS ROWS [timed]");
    }
    std::string word;
    const bool timed = static_cast<bool>(head >> word);
    if (timed && word != "timed") return Error("timed or nothing behind ROWS");
    for (size_t i = 0; i < parameters; ++i) {
      if (!ReadParameter())
        return Error("NAME int|float LEAST GREATEST lin|log, NAME disc NUMBERS or NAME cat WORDS");
    }
    sign_ = goal == "maximize" ? 1 : -1;
    std::vector<RecordedRow> read;
    for (size_t i = 0; i < rows; ++i) {
      RecordedRow row;
      std::istringstream line = Line();
      if (kind == "grid") {
        row.at = Combination(i);
      } else if (!ReadNumbers(line, parameters, row.at)) {
        return Error("a number per hyperparameter");
      }
      std::vector<double> seconds;
      if (timed && (!ReadNumbers(line, 1, seconds) || !(seconds[0] > 0))) return Error("seconds above 0");
      if (timed) row.seconds = seconds[0];
      if (!ReadNumbers(line, levels, row.curve)) return Error(std::to_string(levels) + " values");
      for (double& value : row.curve) value *= sign_;
      read.push_back(std::move(row));
    }
    return std::make_unique<RecordedTable>(path_, std::move(parameters_), std::move(read), play);
  }

 private:
  std::istringstream Line() {
    std::string line;
    std::getline(lines_, line);
    ++number_;
    return std::istringstream(line);
  }

  absl::Status Error(const std::string& expected) const {
    return absl::InvalidArgumentError(path_ + ":" + std::to_string(number_) + ": expected " + expected);
  }

  bool ReadParameter() {
    std::istringstream line = Line();
    FamilyParameter parameter;
    std::string kind, word;
    if (!(line >> parameter.name >> kind)) return false;
    if (kind == "disc" || kind == "cat") {
      double words = 0;
      while (line >> word) ++words;
      parameter.kind = kind == "disc" ? FamilyKind::kInteger : FamilyKind::kCategorical;
      parameter.max = words - 1;
    } else {
      parameter.kind = kind == "int" ? FamilyKind::kInteger : FamilyKind::kContinuous;
      if (!(line >> parameter.min >> parameter.max >> word) || (kind != "int" && kind != "float"))
        return false;
      parameter.log = word == "log";
    }
    parameters_.push_back(parameter);
    return parameter.min < parameter.max;
  }

  // Number `index` of all combinations, the last hyperparameter fastest.
  std::vector<double> Combination(size_t index) const {
    std::vector<double> at(parameters_.size());
    for (size_t i = parameters_.size(); i-- > 0;) {
      const auto count = static_cast<size_t>(parameters_[i].max - parameters_[i].min) + 1;
      at[i] = parameters_[i].min + static_cast<double>(index % count);
      index /= count;
    }
    return at;
  }

  static bool ReadNumbers(std::istringstream& line, size_t count, std::vector<double>& numbers) {
    std::string word;
    while (numbers.size() < count && line >> word) {
      char* end = nullptr;
      const double number = word == "nan" ? kNaN : std::strtod(word.c_str(), &end);
      if (end != nullptr && *end != 0) return false;
      numbers.push_back(number);
    }
    return numbers.size() == count;
  }

  std::string path_;
  std::istringstream lines_;
  size_t number_ = 0;
  double sign_ = 1;
  std::vector<FamilyParameter> parameters_;
};

}  // namespace

const std::vector<RecordedRow>& RecordedRows(const Family& table) {
  return dynamic_cast<const RecordedTable&>(table).rows();
}

absl::StatusOr<std::unique_ptr<Family>> ReadRecordedTable(const std::string& path, TablePlay play) {
  const auto text = Contents(path);
  if (!text) return absl::NotFoundError(path + ": cannot be read");
  return RecordedReader(path, *text).Run(play);
}

}  // namespace winnow

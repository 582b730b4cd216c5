#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/space/space.h"
#include "scheduler/space/types.h"

namespace winnow::cli {

// Recorded learning curves of configurations of a space. A configuration has the curve of the nearest row,
// the first among equals, by Euclidean distance in the unit cube. Values of an unordered category, and a
// value and none, have distance 1.
class CurveTable {
 public:
  // Reads CSV, separated by commas, with a header: a column per hyperparameter (NAME or NAME:KIND:MIN:MAX,
  // where only the name counts; empty if inactive); optionally seconds_per_unit (or seconds_per_round), above
  // 0; then the values at levels 1, 2, … An unconditional parameter that sets where a trial ends by itself
  // needs no column: the level of the curve takes its place. Skips rows outside the space. NOT_FOUND: the
  // file cannot be read. INVALID_ARGUMENT: names line, column, the text and what was expected.
  static absl::StatusOr<CurveTable> Read(const std::string& path, const SearchSpec& spec);

  int64_t levels() const { return levels_; }
  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }
  int64_t left_out() const { return left_out_; }
  bool has_seconds() const { return has_seconds_; }
  double mean_seconds() const;  // per unit; 0 without that column

  // Returns the values by level, the first at index 0. REQUIRES: the configuration is in the space.
  const std::vector<double>& CurveOf(const Configuration& configuration) const;

 private:
  struct Row {
    Configuration configuration;
    std::vector<double> at;  // in the unit cube
    double seconds = 0;
    std::vector<double> curve;
  };

  CurveTable(const SearchSpec& spec, int skipped)
      : space_(spec.parameters, spec.constraints), skipped_(skipped) {}
  double Distance(const Configuration& configuration, const std::vector<double>& at, const Row& row) const;

  SearchSpace space_;
  int skipped_;  // index of the parameter without a column; -1: none
  int64_t levels_ = 0;
  int64_t left_out_ = 0;
  bool has_seconds_ = false;
  std::vector<Row> rows_;
};

}  // namespace winnow::cli

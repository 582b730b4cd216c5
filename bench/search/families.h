#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

enum class FamilyKind { kInteger, kContinuous, kCategorical };

// One hyperparameter of a family. Categories are the numbers 0, 1, ... max, written as text, with min 0.
struct FamilyParameter {
  std::string name;
  FamilyKind kind = FamilyKind::kContinuous;
  double min = 0;
  double max = 1;
  bool log = false;
};

// A learning problem with known curves. The objective is maximised. Curves of closed-form families never fall
// and reach their final value at max_resource; so the value at any level is a fair score, and the regret
// optimum() - Value() is never negative. Configurations are points of the unit cube, one coordinate per
// parameter, clamped to [0, 1], and mapped to the ranges as by SearchSpace::FromUnit. Const methods are
// thread-safe.
class Family {
 public:
  virtual ~Family() = default;

  const std::string& name() const { return name_; }
  const std::vector<FamilyParameter>& parameters() const { return parameters_; }
  int max_resource() const { return max_resource_; }  // R; levels are 1..R

  // The greatest value of any configuration at any level. optimizer(): a configuration with that value at
  // level R (for a table: at some level).
  virtual double optimum() const = 0;
  virtual std::vector<double> optimizer() const = 0;

  // Converts coordinates to hyperparameters' values (categories as their numbers), and back: to the middle of
  // an integer's or a category's cell.
  std::vector<double> ToNative(const std::vector<double>& unit) const;
  std::vector<double> ToUnit(const std::vector<double>& native) const;

  // Without noise, at a level of 1..R. REQUIRES: one coordinate per parameter.
  double Value(const std::vector<double>& unit, int level) const;

  // A trainer's report: a pure function of its arguments and the family. Equal to Value for a family without
  // noise.
  double Observed(const std::vector<double>& unit, int level, uint64_t seed) const;

  // Value and Observed at levels 1..R, computed faster together.
  struct Curve {
    std::vector<double> values;
    std::vector<double> observed;
  };
  virtual Curve WholeCurve(const std::vector<double>& unit, uint64_t seed) const;

  // The time of a unit beside that of the median configuration; 1 where times are not known.
  virtual double Slowness(const std::vector<double>& /*unit*/) const { return 1; }

 protected:
  Family(std::string name, std::vector<FamilyParameter> parameters, int max_resource)
      : name_(std::move(name)), parameters_(std::move(parameters)), max_resource_(max_resource) {}

  // `native`: the hyperparameters' values; categories as their numbers.
  virtual double ValueAt(const std::vector<double>& native, int level) const = 0;
  virtual double ObservedAt(const std::vector<double>& native, int level, uint64_t seed) const = 0;

 private:
  std::string name_;
  std::vector<FamilyParameter> parameters_;
  int max_resource_;
};

// The names of the closed-form families.
std::vector<std::string> FamilyNames();

// Returns one of FamilyNames(), or recorded curves: for "table:PATH" those of curve_table.h, for "rows:PATH"
// and "smooth:PATH" those of recorded_table.h; and for "repeated:NAME" one of these whose levels are repeats
// (repeated.h). kNotFound: no such name or file. kInvalidArgument: the file is
// not such a table.
absl::StatusOr<std::unique_ptr<Family>> MakeFamily(std::string_view name);

}  // namespace winnow

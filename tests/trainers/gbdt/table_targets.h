#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "trainers/collective/communicator.h"
#include "trainers/data/data_set.h"
#include "trainers/gbdt/objective/metric.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {

// Targets of a whole table without groups, on one rank.
inline Targets TargetsOf(const DataSet& data) { return {data.rows, data.label, data.weight, {}, 0}; }

inline absl::Status CheckLabels(const GbdtParameters& parameters, const DataSet& data) {
  return CheckLabels(parameters, TargetsOf(data));
}

struct Derivatives {
  std::vector<float> gradient, hessian;
};

inline Derivatives DerivativesOf(const GbdtParameters& parameters, const Targets& targets,
                                 const std::vector<float>& margin) {
  Derivatives d{std::vector<float>(margin.size()), std::vector<float>(margin.size())};
  ComputeGradients(parameters, targets, margin, 0, targets.rows, d.gradient.data(), d.hessian.data());
  return d;
}

inline Derivatives DerivativesOf(const GbdtParameters& parameters, const DataSet& data,
                                 const std::vector<float>& margin) {
  return DerivativesOf(parameters, TargetsOf(data), margin);
}

inline double EvaluateMetric(const Metric& metric, const GbdtParameters& parameters, const DataSet& data,
                             const std::vector<float>& margin) {
  const std::unique_ptr<Communicator> alone = MakeSoleRank();
  return EvaluateMetric(metric, parameters, TargetsOf(data), margin, alone.get())
      .value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace winnow::gbdt

#include "trainers/gbdt/objective/metric.h"

#include "trainers/gbdt/objective/metric_area.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {

bool HigherIsBetter(const Metric& metric) {
  switch (metric.kind) {
    case Metric::kAuc:
    case Metric::kAucPr:
    case Metric::kNdcg:
    case Metric::kMap:
    case Metric::kPrecision:
    case Metric::kAccuracy:
    case Metric::kF1:
      return true;
    default:
      return false;
  }
}

absl::StatusOr<double> EvaluateMetric(const Metric& metric, const GbdtParameters& parameters,
                                      const Targets& targets, std::span<const float> margin,
                                      Communicator* communicator) {
  const bool of_area = metric.kind == Metric::kAuc || metric.kind == Metric::kAucPr;
  if (metric.kind == Metric::kF1) return ClassMetric(parameters, targets, margin, communicator);
  if (metric.kind == Metric::kAccuracy || (!of_area && !HigherIsBetter(metric)))
    return RowMetric(metric, parameters, targets, margin, communicator);
  // A rank without rows does not know whether the others have groups.
  uint64_t grouped = targets.group_begin.empty() || parameters.multi() ? 0 : 1;
  if (of_area) {
    if (absl::Status status = communicator->AllReduceMax({&grouped, 1}); !status.ok()) return status;
  }
  if (grouped == 0 && of_area) return AreaMetric(metric, parameters, targets, margin, communicator);
  return GroupMetric(metric, parameters, targets, margin, communicator);
}

}  // namespace winnow::gbdt

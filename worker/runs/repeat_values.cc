#include "worker/runs/repeat_values.h"

#include <algorithm>
#include <cmath>

namespace winnow {

void RepeatValues::Add(const MetricReading& reading) {
  for (const auto& [name, value] : reading.metrics) {
    if (name == objective_) {
      AddObjective(value);
    } else {
      others_[name] = value;
    }
  }
}

void RepeatValues::AddObjective(double value) {
  const bool first = reports_++ == 0;
  if (!first && !std::isfinite(value_)) return;
  if (first || !std::isfinite(value) || repeat_.value() == v1::ObjectiveSpec::LAST) {
    value_ = value;
  } else if (repeat_.value() == v1::ObjectiveSpec::MEAN) {
    value_ += value;
  } else {
    value_ = repeat_.goal() == v1::MINIMIZE ? std::min(value_, value) : std::max(value_, value);
  }
}

v1::Report RepeatValues::Report() const {
  v1::Report report;
  report.set_resource(repeat_.number());
  const auto add = [&report](const std::string& name, double value) {
    v1::MetricValue* metric = report.add_metrics();
    metric->set_name(name);
    metric->set_value(value);
  };
  const bool mean = repeat_.value() == v1::ObjectiveSpec::MEAN;
  add(objective_, mean ? value_ / static_cast<double>(reports_) : value_);
  for (const auto& [name, value] : others_) add(name, value);
  return report;
}

}  // namespace winnow

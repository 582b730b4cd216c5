#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "winnow/v1/worker.pb.h"
#include "worker/runs/metric_parser.h"

namespace winnow {

// What a program reports in one repeat of a configuration, as the single report of the repeat.
class RepeatValues {
 public:
  // `objective`: the metric that v1::Repeat::value says something about; of others the newest value counts.
  RepeatValues(v1::Repeat repeat, std::string objective)
      : repeat_(std::move(repeat)), objective_(std::move(objective)) {}

  void Add(const MetricReading& reading);

  // Whether the objective was reported.
  bool complete() const { return reports_ > 0; }
  // At the repeat's number. REQUIRES complete().
  v1::Report Report() const;

 private:
  void AddObjective(double value);

  const v1::Repeat repeat_;
  const std::string objective_;
  int64_t reports_ = 0;  // of the objective
  double value_ = 0;     // what counts of them; the sum where the mean does. Once not finite, it stays so
  std::map<std::string, double> others_;
};

}  // namespace winnow

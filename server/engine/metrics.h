#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "server/engine/state_counts.h"

namespace winnow {

// What Prometheus is told of the server: times as they are observed, how things stand as they were counted
// last, and what is read when it asks. Thread-safe; nothing waits for long, so that it answers whatever else
// stands still.
class Metrics {
 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // A value that is read for each Text, on its thread. `name` and `help` as Prometheus wants them. REQUIRES
  // no Text yet.
  void AddGauge(const std::string& name, const std::string& help, std::function<double()> read);
  // Times of the calls of one method and of how they ended, for whoever calls them. It lives as long as the
  // metrics.
  prometheus::Histogram& Calls(const std::string& service, const std::string& method,
                               const std::string& code);

  void Put(StateCounts counts);

  // In the text format, version 0.0.4.
  std::string Text();

 private:
  std::vector<prometheus::MetricFamily> Standing();

  prometheus::Registry registry_;
  prometheus::Family<prometheus::Histogram>& calls_;
  std::vector<std::pair<prometheus::Gauge*, std::function<double()>>> gauges_;
  Mutex mutex_;
  StateCounts counts_ ABSL_GUARDED_BY(mutex_);

 public:
  // In seconds.
  prometheus::Histogram& sync;    // from a Sync's coming in until what it says is committed
  prometheus::Histogram& batch;   // of use cases, with its commit
  prometheus::Histogram& commit;  // alone
  prometheus::Histogram&
      dispatch;  // from a trial's being placed until all its workers have said that they run it
  prometheus::Histogram& suggest;  // of one question to a job's model
};

}  // namespace winnow

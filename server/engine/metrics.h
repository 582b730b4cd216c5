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
#include "server/engine/preparations.h"
#include "server/engine/state_counts.h"

namespace winnow {

// The server's metrics for Prometheus: durations as they are observed, the newest StateCounts, and gauges
// that are read at each Text. Thread-safe. No method waits for the coordinator, so that Text answers whatever
// else hangs.
class Metrics {
 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // A value that each Text reads, on its thread. REQUIRES Text was not called yet.
  void AddGauge(const std::string& name, const std::string& help, std::function<double()> read);
  // Metrics that each Text reads, on its thread. REQUIRES Text was not called yet.
  void AddFamilies(std::function<std::vector<prometheus::MetricFamily>()> read) {
    families_.push_back(std::move(read));
  }
  // Durations of the calls of one method that ended with one status code. Lives as long as the metrics.
  prometheus::Histogram& Calls(const std::string& service, const std::string& method,
                               const std::string& code);

  void Put(StateCounts counts);

  // In the text format, version 0.0.4.
  // `shows`, if given: of which jobs, by id, there may be metrics.
  std::string Text(const std::function<bool(const std::string&)>& shows = nullptr);

 private:
  std::vector<prometheus::MetricFamily> Standing();

  prometheus::Registry registry_;
  prometheus::Family<prometheus::Histogram>& calls_;
  std::vector<std::pair<prometheus::Gauge*, std::function<double()>>> gauges_;
  std::vector<std::function<std::vector<prometheus::MetricFamily>()>> families_;
  Mutex mutex_;
  StateCounts counts_ ABSL_GUARDED_BY(mutex_);

 public:
  // Durations in seconds.
  prometheus::Histogram& sync;      // from a Sync's arrival until what it says is committed
  prometheus::Histogram& batch;     // a batch of use cases, commit included
  prometheus::Histogram& commit;    // the commit of a batch
  prometheus::Histogram& dispatch;  // from placing a trial until all its workers have said that they run it
  prometheus::Histogram& suggest;   // one question to a search model

  Preparations preparations;  // not for Prometheus, but measured and not recorded like them
};

}  // namespace winnow

#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "base/mutex.h"
#include "scheduler/placement.h"
#include "winnow/v1/pools.pb.h"

namespace winnow {

// The pools as of the newest round, for those who must not wait for the coordinator. Thread-safe.
class PoolStandings {
 public:
  struct Entry {
    WorkerRoom node;  // what a worker of the pool offers
    v1::Pool pool;
  };

  // In the order of the pools.
  void Put(std::vector<Entry> entries);

  // What there is to say, to a job that waits for ranks of this shape, of the pools that could hold one: why
  // they get no allocation, what the engine says of one that waits, or why the newest has ended. Sentences;
  // "": nothing.
  std::string WordsFor(const RankShape& shape) const;

  std::vector<prometheus::MetricFamily> Metrics() const;

 private:
  mutable Mutex mutex_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

// What there is to say of a pool, in a sentence or two; "": nothing.
std::string PoolWords(const v1::Pool& pool);

}  // namespace winnow

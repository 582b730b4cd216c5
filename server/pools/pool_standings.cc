#include "server/pools/pool_standings.h"

#include <fmt/format.h>

#include <utility>

namespace winnow {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// Values of one metric by pool, and by a further label if that has a name.
class PoolFamily {
 public:
  PoolFamily(const char* name, const char* help, MetricType type, const char* label = "") : label_(label) {
    family_.name = name;
    family_.help = help;
    family_.type = type;
  }

  void Add(const v1::Pool& pool, double value, const std::string& of = "") {
    ClientMetric& metric = family_.metric.emplace_back();
    metric.label.push_back({"pool", pool.name()});
    if (!label_.empty()) metric.label.push_back({label_, of});
    (family_.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  }

  MetricFamily Take() { return std::move(family_); }

 private:
  const std::string label_;
  MetricFamily family_;
};

// The server asked it to end because nothing needed it: nobody wonders why.
bool WasGivenBack(const v1::Allocation& allocation) {
  return allocation.reason().starts_with("Idle for") || allocation.reason().starts_with("Nothing waits");
}

}  // namespace

std::string PoolWords(const v1::Pool& pool) {
  std::string words = pool.state_reason();  // its last words may be the engine's, without a full stop
  if (!words.empty() && words.back() != '.') words += '.';
  const auto say = [&words](const std::string& sentence) { words += (words.empty() ? "" : " ") + sentence; };
  for (const v1::Allocation& allocation : pool.allocations()) {
    if (allocation.state() == v1::Allocation::ENDED) {
      if (words.empty() && !allocation.reason().empty() && !WasGivenBack(allocation))
        say(fmt::format("{} has ended: {}", allocation.name(), allocation.reason()));
      break;
    }
    if (allocation.state() == v1::Allocation::RUNNING) {
      // Such as a pod whose image cannot be pulled.
      if (words.empty() && allocation.workers() < allocation.nodes() && !allocation.reason().empty() &&
          !allocation.reason().starts_with("to end"))
        say(fmt::format("{} lacks workers: {}.", allocation.name(), allocation.reason()));
      continue;
    }
    say(fmt::format("{} waits at the engine{}{}", allocation.name(), allocation.reason().empty() ? "." : ": ",
                    allocation.reason()));
    if (words.back() != '.') words += '.';
    break;
  }
  return words;
}

void PoolStandings::Put(std::vector<Entry> entries) {
  const MutexLock lock(mutex_);
  entries_ = std::move(entries);
}

std::string PoolStandings::WordsFor(const RankShape& shape) const {
  const MutexLock lock(mutex_);
  std::string text;
  for (const Entry& entry : entries_) {
    const std::string words = Capacity(entry.node, shape) > 0 ? PoolWords(entry.pool) : "";
    if (!words.empty())
      text += fmt::format("{}Pool {}: {}", text.empty() ? "" : " ", entry.pool.name(), words);
  }
  return text;
}

std::vector<MetricFamily> PoolStandings::Metrics() const {
  PoolFamily nodes("winnow_pool_nodes", "Nodes that a pool's engine was asked for: queued, running",
                   MetricType::Gauge, "state");
  PoolFamily workers("winnow_pool_workers", "Connected workers of a pool", MetricType::Gauge);
  PoolFamily seconds("winnow_pool_node_seconds_total", "Time of the nodes of all allocations of a pool",
                     MetricType::Counter);
  PoolFamily cost("winnow_pool_cost_total", "Cost of the nodes of all allocations of a pool",
                  MetricType::Counter);
  PoolFamily reasons("winnow_pool_reason", "1, with what the pool's engine or the server says of the pool",
                     MetricType::Gauge, "reason");
  const MutexLock lock(mutex_);
  for (const Entry& entry : entries_) {
    const v1::Pool& pool = entry.pool;
    nodes.Add(pool, pool.queued_nodes(), "queued");
    nodes.Add(pool, pool.running_nodes(), "running");
    workers.Add(pool, pool.workers());
    seconds.Add(pool, pool.node_seconds());
    cost.Add(pool, pool.cost());
    if (const std::string words = PoolWords(pool); !words.empty()) reasons.Add(pool, 1, words);
  }
  return {nodes.Take(), workers.Take(), seconds.Take(), cost.Take(), reasons.Take()};
}

}  // namespace winnow

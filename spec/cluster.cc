#include "spec/cluster.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "scheduler/space/types.h"

namespace winnow {

RankShape ShapeOf(const v1::TuningJobSpec& spec, const std::string& project) {
  const v1::ClusterSpec& cluster = spec.cluster();
  RankShape shape;
  shape.slots = cluster.slots() == 0 ? 1 : cluster.slots();
  shape.cpus = cluster.cpus();
  shape.memory_gib = cluster.memory_gib();
  shape.gpus = cluster.gpus();
  shape.gpu_share = cluster.gpu_share();
  shape.labels.insert(cluster.labels().begin(), cluster.labels().end());
  shape.pools.assign(cluster.pools().begin(), cluster.pools().end());
  shape.project = project;
  return shape;
}

int64_t RanksPerWorker(const v1::TuningJobSpec& spec, int64_t slots, int64_t gpus) {
  const RankShape asked = ShapeOf(spec);
  RankShape shape;
  shape.slots = asked.slots;
  WorkerRoom room{"", static_cast<int32_t>(slots), ""};
  if (gpus >= 0) {
    shape.gpus = asked.gpus;
    shape.gpu_share = asked.gpu_share;
    for (int64_t i = 0; i < gpus; ++i) room.gpus.push_back({std::to_string(i)});
  }
  return Capacity(room, shape);
}

double WeightOf(const v1::TuningJobSpec& spec) {
  return spec.scheduling().has_weight() ? spec.scheduling().weight() : 1;
}

bool IsNodesParameter(const v1::TuningJobSpec& spec, const std::string& name) {
  return !name.empty() && spec.cluster().nodes_parameter() == name;
}

std::vector<int32_t> NodeCounts(const v1::TuningJobSpec& spec) {
  std::set<int32_t> counts;
  const auto add = [&counts](double count) {
    if (count >= 1 && count <= kMostNodes && count == std::floor(count))
      counts.insert(static_cast<int32_t>(count));
  };
  if (spec.cluster().nodes_parameter().empty()) add(std::max(1, spec.cluster().nodes()));
  for (const v1::ParameterSpec& parameter : spec.parameters()) {
    if (!IsNodesParameter(spec, parameter.name())) continue;
    if (parameter.has_integer()) {
      for (int64_t count = 1; count <= kMostNodes; ++count) {
        if (count >= parameter.integer().min() && count <= parameter.integer().max())
          add(static_cast<double>(count));
      }
    }
    for (const double count : parameter.discrete().values()) add(count);
    for (const std::string& text : parameter.categorical().values()) {
      int64_t count = 0;
      std::from_chars(text.data(), text.data() + text.size(), count);
      add(static_cast<double>(count));
    }
  }
  return {counts.begin(), counts.end()};
}

}  // namespace winnow

#include "spec/checks/mlp.h"

#include <fmt/format.h>

#include <algorithm>

#include "spec/builtin_trainers.h"
#include "spec/cluster.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow {

std::vector<Violation> CheckMlpRanks(const v1::TuningJobSpec& spec) {
  const Given given = GivenIn(spec);
  const mlp::MlpParameters p = mlp::KnownMlpParameters(given);
  const std::vector<int32_t> counts = NodeCounts(spec);
  const int64_t most = counts.empty() ? 1 : counts.back();
  const std::string nodes =
      spec.cluster().nodes_parameter().empty() ? "cluster.nodes" : "cluster.nodes_parameter";
  const auto known = [&given](std::initializer_list<const char*> names) {
    return std::none_of(names.begin(), names.end(),
                        [&](const char* name) { return given.open.count(name) > 0; });
  };
  std::vector<Violation> violations;
  const auto add = [&violations](const char* name, const std::string& description) {
    violations.push_back({"static_hyperparameters." + std::string(name), description});
  };
  if (!known({"distribution"})) return violations;

  const bool asynchronous = p.distribution == mlp::Distribution::kParameterServer;
  if (most > 1 && known({"batch_norm"}) && p.batch_norm == mlp::BatchNorm::kSynchronised &&
      (asynchronous || p.distribution == mlp::Distribution::kLocalSgd))
    add("batch_norm", fmt::format("is synchronised; expected none or per_rank with distribution {}",
                                  asynchronous ? "PARAMETER_SERVER" : "LOCAL_SGD"));

  const bool of_shards =
      p.distribution == mlp::Distribution::kAllReduce || p.distribution == mlp::Distribution::kZero;
  const bool fixed_shards = known({"virtual_shards"}) && (p.virtual_shards > 0 || known({"batch_size"}));
  if (of_shards && fixed_shards && known({"batch_scaling"}) && p.batch_scaling == mlp::BatchScaling::kNone) {
    const int shards = p.virtual_shards > 0 ? p.virtual_shards : mlp::DefaultVirtualShards(p.batch_size);
    if (most > shards)
      violations.push_back(
          {nodes, fmt::format("is {}; expected at most virtual_shards, which is {}: each rank "
                              "takes whole parts of a batch",
                              most, shards)});
  }

  if (p.distribution != mlp::Distribution::kPipeline || !known({"pipeline_stages"}) || p.pipeline_stages == 0)
    return violations;
  for (const int32_t count : counts) {
    if (count > 1 && count % p.pipeline_stages != 0)
      add("pipeline_stages",
          fmt::format("is {}; expected a divisor of {}, {}", p.pipeline_stages, nodes, count));
  }
  return violations;
}

}  // namespace winnow

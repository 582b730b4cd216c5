#include "spec/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/names.h"
#include "spec/builtin_trainers.h"
#include "spec/cluster.h"
#include "spec/launch.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow {
namespace {

// The least momentum that is known to make training with stale gradients collapse on several nodes.
constexpr double kRiskyMomentum = 0.5;

using mlp::Distribution;

// What is known of the spec's mlp.
struct MlpJob {
  explicit MlpJob(const v1::TuningJobSpec& job)
      : spec(job), given(GivenIn(job)), known(mlp::KnownMlpParameters(given)) {}

  bool IsOpen(const char* name) const { return given.open.count(name) > 0; }

  // Whether some trial may have this value: it is static or the default, or one of the values that are
  // searched.
  template <class Enum>
  bool MayBe(const char* name, Enum mlp::MlpParameters::*member, Enum value) const {
    for (const v1::ParameterSpec& parameter : spec.parameters()) {
      const Hyperparameter* tuned = mlp::MlpDeclaration().Find(parameter.name());
      if (tuned == nullptr || tuned->name != name) continue;
      const auto& values = parameter.categorical().values();
      return std::any_of(values.begin(), values.end(), [&](const std::string& text) {
        const auto reading = Read(*tuned, text);
        return reading && reading->whole == static_cast<int64_t>(value);
      });
    }
    return !IsOpen(name) && known.*member == value;
  }

  // The largest momentum that a trial may have.
  double MostMomentum() const {
    for (const v1::ParameterSpec& parameter : spec.parameters()) {
      if (mlp::MlpDeclaration().FirstName(parameter.name()) != "momentum") continue;
      if (parameter.has_continuous()) return parameter.continuous().max();
      const auto& values = parameter.discrete().values();
      return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
    }
    return known.momentum;
  }

  const v1::TuningJobSpec& spec;
  const Given given;
  const mlp::MlpParameters known;
};

void WarnOfMlp(const v1::TuningJobSpec& spec, std::vector<std::string>* warnings) {
  const MlpJob job(spec);
  const mlp::MlpParameters& p = job.known;
  const auto may_distribute = [&job](Distribution way) {
    return job.MayBe("distribution", &mlp::MlpParameters::distribution, way);
  };
  const std::vector<int32_t> counts = NodeCounts(spec);
  const int64_t nodes = counts.empty() ? 1 : counts.back();
  if (nodes == 1) {
    const std::pair<const char*, Distribution> ways[] = {
        {"ZERO", Distribution::kZero},
        {"PIPELINE", Distribution::kPipeline},
        {"LOCAL_SGD", Distribution::kLocalSgd},
        {"PARAMETER_SERVER", Distribution::kParameterServer}};
    for (const auto& [name, way] : ways) {
      if (may_distribute(way))
        warnings->push_back(
            fmt::format("distribution {} does nothing on one node; cluster.nodes says how "
                        "many train one model",
                        name));
    }
    return;
  }
  const bool scales = job.IsOpen("scale_learning_rate") || p.scale_learning_rate;
  const bool warms_up = job.IsOpen("warmup_epochs") || p.warmup_epochs > 0;
  if (job.MayBe("batch_scaling", &mlp::MlpParameters::batch_scaling, mlp::BatchScaling::kLinear)) {
    const std::string batch = job.IsOpen("batch_size") ? "" : fmt::format(" = {}", p.batch_size * nodes);
    std::string text = fmt::format(
        "batch_scaling LINEAR: on {} nodes the batch is batch_size x {}{}: the model takes {} times fewer "
        "steps an epoch, and is another one than on one node",
        nodes, nodes, batch, nodes);
    if (!scales || !warms_up)
      text +=
          fmt::format("; what helps: {}{}{} (Goyal et al. 2017)", scales ? "" : "scale_learning_rate true",
                      scales || warms_up ? "" : " and ", warms_up ? "" : "warmup_epochs 5");
    warnings->push_back(text);
  }
  if (!may_distribute(Distribution::kParameterServer)) return;
  warnings->push_back(
      "distribution PARAMETER_SERVER depends on which node is faster: its results cannot be repeated");
  const double momentum = job.MostMomentum();
  const bool has_momentum =
      job.MayBe("optimizer", &mlp::MlpParameters::optimizer, mlp::OptimizerKind::kSgd) &&
      momentum >= kRiskyMomentum;
  // Nothing else corrects staleness: with a bound of 0 a gradient is still as old as there are other workers,
  // and where steps are divided by staleness, fresh gradients among the stale ones keep their whole rate.
  const bool corrects = job.IsOpen("implicit_momentum_correction") || p.implicit_momentum_correction > 0;
  if (!has_momentum || corrects) return;
  warnings->push_back(fmt::format(
      "distribution PARAMETER_SERVER with momentum {} on {} nodes: gradients that are computed on old "
      "weights "
      "act like further momentum, and training may collapse (published on MNIST: accuracy 0.97 on one node, "
      "0.11 on 4 nodes at momentum 0.9); what helps: implicit_momentum_correction 1, momentum "
      "below {}, a tenth of the learning_rate, clip_norm 0.25, or distribution ALL_REDUCE, which gives the "
      "same model on any number of nodes",
      momentum, nodes, kRiskyMomentum));
}

// A built-in trainer reads no variables, and an external one is given none.
void WarnOfSharedVariables(const v1::TuningJobSpec& spec, std::vector<std::string>* warnings) {
  if (spec.trainer().command().empty()) return;
  std::map<std::string, std::set<std::string>> names;  // by variable
  for (const auto& [name, text] : spec.static_hyperparameters())
    names[HyperparameterVariable(name)].insert(name);
  for (const v1::ParameterSpec& parameter : spec.parameters())
    names[HyperparameterVariable(parameter.name())].insert(parameter.name());
  for (const auto& [variable, of] : names) {
    if (of.size() == 1) continue;
    warnings->push_back(fmt::format(
        "the hyperparameters {} share the environment variable {}, which has the value of the last one: a "
        "program that reads it may train with a wrong value; what helps: names that differ by more than case "
        "and signs, or a program that reads its arguments or SM_HPS",
        Joined({of.begin(), of.end()}), variable));
  }
}

}  // namespace

std::vector<std::string> SpecWarnings(const v1::TuningJobSpec& spec) {
  std::vector<std::string> warnings;
  WarnOfSharedVariables(spec, &warnings);
  if (spec.trainer().builtin() == "mlp") WarnOfMlp(spec, &warnings);
  return warnings;
}

}  // namespace winnow

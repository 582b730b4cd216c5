#include "spec/warnings.h"

#include <fmt/format.h>

#include <algorithm>

#include "spec/builtin_trainers.h"
#include "spec/check_mlp.h"

namespace winnow {
namespace {

// From which on momentum and stale gradients together are known to be fatal on several nodes.
constexpr double kRiskyMomentum = 0.5;

// Whether some trial may have it: its static value, or one of the values that are searched.
bool MayBe(const v1::TuningJobSpec& spec, const char* name, const std::string& otherwise,
           const std::string& choice) {
  const BuiltinTrainer& mlp = *FindBuiltinTrainer(spec.trainer().builtin());
  for (const v1::ParameterSpec& parameter : spec.parameters()) {
    if (mlp.FirstName(parameter.name()) != name) continue;
    const auto& values = parameter.categorical().values();
    return std::any_of(values.begin(), values.end(),
                       [&](const std::string& value) { return ChoiceOf(*mlp.Find(name), value) == choice; });
  }
  return MlpSettings(spec).FixedIs(name, otherwise, choice);
}

// The largest momentum that a trial may have.
double MostMomentum(const v1::TuningJobSpec& spec) {
  const BuiltinTrainer& mlp = *FindBuiltinTrainer(spec.trainer().builtin());
  for (const v1::ParameterSpec& parameter : spec.parameters()) {
    if (mlp.FirstName(parameter.name()) != "momentum") continue;
    if (parameter.has_continuous()) return parameter.continuous().max();
    const auto& values = parameter.discrete().values();
    return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  }
  return MlpSettings(spec).FixedNumber("momentum", 0).value_or(0);
}

// A bound on staleness is none: with one of 0 a gradient is still as old as there are other workers. Steps
// divided by staleness are not enough: fresh gradients among the stale keep their whole rate.
bool CorrectsStaleness(const v1::TuningJobSpec& spec) {
  const MlpSettings settings(spec);
  return settings.IsTuned("implicit_momentum_correction") ||
         settings.FixedNumber("implicit_momentum_correction", 0).value_or(0) > 0;
}

void WarnOfMlp(const v1::TuningJobSpec& spec, std::vector<std::string>* warnings) {
  const MlpSettings settings(spec);
  const int64_t nodes = settings.nodes();
  if (nodes == 1) {
    for (const char* other : {"ZERO", "PIPELINE", "LOCAL_SGD", "PARAMETER_SERVER"}) {
      if (MayBe(spec, "distribution", "ALL_REDUCE", other))
        warnings->push_back(
            fmt::format("distribution {} does nothing on one node; cluster.nodes says how "
                        "many train one model",
                        other));
    }
    return;
  }
  const bool scales =
      settings.IsTuned("scale_learning_rate") || settings.FixedIs("scale_learning_rate", "false", "true");
  const bool warms_up =
      settings.IsTuned("warmup_epochs") || settings.FixedNumber("warmup_epochs", 0).value_or(0) > 0;
  if (MayBe(spec, "batch_scaling", "NONE", "LINEAR")) {
    const auto batch = settings.FixedNumber("batch_size", 128);
    std::string text = fmt::format(
        "batch_scaling LINEAR: on {} nodes the batch is batch_size x {}{}: the model takes {} times fewer "
        "steps an epoch, and is another one than on one node",
        nodes, nodes, batch ? fmt::format(" = {}", *batch * static_cast<double>(nodes)) : "", nodes);
    if (!scales || !warms_up)
      text +=
          fmt::format("; what helps: {}{}{} (Goyal et al. 2017)", scales ? "" : "scale_learning_rate true",
                      scales || warms_up ? "" : " and ", warms_up ? "" : "warmup_epochs 5");
    warnings->push_back(text);
  }
  if (!MayBe(spec, "distribution", "ALL_REDUCE", "PARAMETER_SERVER")) return;
  warnings->push_back(
      "distribution PARAMETER_SERVER depends on which node is faster: its results cannot be repeated");
  const double momentum = MostMomentum(spec);
  if (!MayBe(spec, "optimizer", "sgd", "sgd") || momentum < kRiskyMomentum || CorrectsStaleness(spec)) return;
  warnings->push_back(fmt::format(
      "distribution PARAMETER_SERVER with momentum {} on {} nodes: gradients that are computed on old "
      "weights "
      "act like further momentum, and training may collapse (published on MNIST: accuracy 0.97 on one node, "
      "0.11 on 4 nodes at momentum 0.9); what helps: implicit_momentum_correction 1, momentum "
      "below {}, a tenth of the learning_rate, clip_norm 0.25, or distribution ALL_REDUCE, which gives the "
      "same model on any number of nodes",
      momentum, nodes, kRiskyMomentum));
}

}  // namespace

std::vector<std::string> SpecWarnings(const v1::TuningJobSpec& spec) {
  std::vector<std::string> warnings;
  if (spec.trainer().builtin() == "mlp") WarnOfMlp(spec, &warnings);
  return warnings;
}

}  // namespace winnow

#include "server/sagemaker/jobs/autotune.h"

#include <algorithm>
#include <string>

#include "server/sagemaker/jobs/job_spec.h"
#include "server/sagemaker/wire/aws_error.h"

namespace winnow {
namespace {

using nlohmann::json;

// The range in which winnow-gbdt, as XGBoost, is worth tuning.
struct KnownRange {
  const char* name;
  double least, most;
  v1::Scaling scaling;
  bool integer;
  bool matters;  // it is tuned if nothing is named
};
constexpr KnownRange kRanges[] = {
    {"alpha", 1e-3, 100, v1::LOG, false, true},
    {"colsample_bylevel", 0.1, 1, v1::LINEAR, false, false},
    {"colsample_bynode", 0.1, 1, v1::LINEAR, false, false},
    {"colsample_bytree", 0.5, 1, v1::LINEAR, false, false},
    {"eta", 0.01, 0.5, v1::LOG, false, true},
    {"gamma", 0, 5, v1::LINEAR, false, false},
    {"lambda", 1e-3, 100, v1::LOG, false, false},
    {"max_delta_step", 0, 10, v1::LINEAR, false, false},
    {"max_depth", 1, 10, v1::LINEAR, true, true},
    {"min_child_weight", 0.1, 120, v1::LOG, false, true},
    {"subsample", 0.5, 1, v1::LINEAR, false, true},
};

void AddKnownRange(const KnownRange& known, v1::TuningJobSpec& spec) {
  v1::ParameterSpec& parameter = *spec.add_parameters();
  parameter.set_name(known.name);
  if (known.integer) {
    parameter.mutable_integer()->set_min(static_cast<int64_t>(known.least));
    parameter.mutable_integer()->set_max(static_cast<int64_t>(known.most));
    parameter.mutable_integer()->set_scaling(known.scaling);
  } else {
    parameter.mutable_continuous()->set_min(known.least);
    parameter.mutable_continuous()->set_max(known.most);
    parameter.mutable_continuous()->set_scaling(known.scaling);
  }
}

bool IsGiven(const std::string& name, const json& ranges, const v1::TuningJobSpec& spec) {
  if (spec.static_hyperparameters().contains(name)) return true;
  for (const char* list :
       {"IntegerParameterRanges", "ContinuousParameterRanges", "CategoricalParameterRanges"}) {
    const auto found = ranges.find(list);
    if (found == ranges.end()) continue;
    for (const json& range : *found) {
      if (range["Name"] == name) return true;
    }
  }
  return false;
}

}  // namespace

absl::Status AddAutomaticRanges(const json& ranges, v1::TuningJobSpec& spec) {
  if (spec.trainer().builtin().empty())
    return AwsError("ValidationException",
                    "Autotune is offered for XGBoost only here; give the ranges of the hyperparameters.");
  const auto automatic = ranges.find("AutoParameters");
  if (automatic != ranges.end()) {
    for (const json& parameter : *automatic) {
      const std::string name = parameter["Name"];
      const auto* const known = std::find_if(std::begin(kRanges), std::end(kRanges),
                                             [&](const KnownRange& each) { return each.name == name; });
      if (IsGiven(name, ranges, spec)) continue;  // the range, or the value, that is given counts
      if (known == std::end(kRanges)) {
        (*spec.mutable_static_hyperparameters())[name] = parameter["ValueHint"].get<std::string>();
      } else {
        AddKnownRange(*known, spec);
      }
    }
  }
  bool others = spec.parameters_size() > 0;
  for (const char* list :
       {"IntegerParameterRanges", "ContinuousParameterRanges", "CategoricalParameterRanges"})
    others = others || (ranges.contains(list) && !ranges[list].empty());
  if (others) return absl::OkStatus();
  for (const KnownRange& known : kRanges) {
    if (known.matters && !IsGiven(known.name, ranges, spec)) AddKnownRange(known, spec);
  }
  return absl::OkStatus();
}

}  // namespace winnow

#include "spec/strategy.h"

#include <algorithm>
#include <array>

#include "spec/builtin_trainers.h"
#include "spec/values.h"

namespace winnow {
namespace {

constexpr double kDefaultMinChance = 0.05;  // of LEARNING_CURVE

// Defaults of PBT.
constexpr int64_t kPopulation = 20, kPopulationFactor = 4, kGenerations = 10;

struct Row {
  v1::Strategy strategy;
  SamplerKind sampler;
  PrunerKind pruner;
};
constexpr std::array<Row, 8> kStrategies = {{{v1::RANDOM, SamplerKind::kRandom, PrunerKind::kNone},
                                             {v1::HYPERBAND, SamplerKind::kSobol, PrunerKind::kHyperband},
                                             {v1::GRID, SamplerKind::kGrid, PrunerKind::kNone},
                                             {v1::BAYESIAN, SamplerKind::kGp, PrunerKind::kNone},
                                             {v1::ASHA, SamplerKind::kSobol, PrunerKind::kAsha},
                                             {v1::BOHB, SamplerKind::kTpe, PrunerKind::kHyperband},
                                             {v1::FREEZE_THAW, SamplerKind::kGp, PrunerKind::kFreezeThaw},
                                             {v1::PBT, SamplerKind::kSobol, PrunerKind::kPbt}}};

SamplerKind ToKind(v1::SamplerSpec::Kind kind, SamplerKind otherwise) {
  switch (kind) {
    case v1::SamplerSpec::RANDOM:
      return SamplerKind::kRandom;
    case v1::SamplerSpec::SOBOL:
      return SamplerKind::kSobol;
    case v1::SamplerSpec::GRID:
      return SamplerKind::kGrid;
    case v1::SamplerSpec::GP:
      return SamplerKind::kGp;
    case v1::SamplerSpec::TPE:
      return SamplerKind::kTpe;
    default:
      return otherwise;
  }
}

PrunerKind ToKind(v1::PrunerSpec::Kind kind, PrunerKind otherwise) {
  switch (kind) {
    case v1::PrunerSpec::NONE:
      return PrunerKind::kNone;
    case v1::PrunerSpec::MEDIAN:
      return PrunerKind::kMedian;
    case v1::PrunerSpec::HYPERBAND:
      return PrunerKind::kHyperband;
    case v1::PrunerSpec::ASHA:
      return PrunerKind::kAsha;
    case v1::PrunerSpec::SUCCESSIVE_HALVING:
      return PrunerKind::kSuccessiveHalving;
    case v1::PrunerSpec::LEARNING_CURVE:
      return PrunerKind::kLearningCurve;
    case v1::PrunerSpec::FREEZE_THAW:
      return PrunerKind::kFreezeThaw;
    case v1::PrunerSpec::PAIRED_TEST:
      return PrunerKind::kPairedTest;
    case v1::PrunerSpec::PBT:
      return PrunerKind::kPbt;
    default:
      return otherwise;
  }
}

bool Resumes(const v1::TuningJobSpec& spec) {
  return !spec.trainer().has_resumes() || spec.trainer().resumes();
}

bool TunesItsEnd(const v1::TuningJobSpec& spec, const BuiltinTrainer& trainer) {
  return std::any_of(spec.parameters().begin(), spec.parameters().end(), [&trainer](const auto& p) {
    return trainer.FirstName(p.name()) == trainer.resource_parameter;
  });
}

// Whether trials all go equally far, and that is known.
bool EndIsKnown(const v1::TuningJobSpec& spec) {
  if (spec.pruner().max_resource() != 0 || spec.limits().max_trial_resource() != 0) return true;
  const BuiltinTrainer* trainer = FindBuiltinTrainer(spec.trainer().builtin());
  return trainer != nullptr && !TunesItsEnd(spec, *trainer) && OwnEndOf(spec) > 0;
}

v1::Strategy DefaultStrategy(const v1::TuningJobSpec& spec) {
  if (spec.has_hyperband()) return v1::HYPERBAND;
  if (RepeatsOf(spec) > 0) return v1::BAYESIAN;
  return EndIsKnown(spec) && Resumes(spec) ? v1::FREEZE_THAW : v1::BAYESIAN;
}

// HYPERBAND's short form and the pruner's own block hold the same numbers.
template <class Block>
RungSettings ToRungs(const Block& block, const v1::TuningJobSpec& spec) {
  const RungSettings defaults;
  return {OrDefault(block.min_resource(), defaults.min_resource),
          OrDefault(block.max_resource(), OrDefault(spec.limits().max_trial_resource(), OwnEndOf(spec))),
          OrDefault(block.reduction_factor(), defaults.reduction_factor)};
}

PrunerSettings ToPruner(const v1::TuningJobSpec& spec, PrunerKind kind) {
  const v1::PrunerSpec& block = spec.pruner();
  PrunerSettings pruner;
  pruner.kind = kind;
  if (HasRungs(kind))
    pruner.rungs = spec.has_hyperband() ? ToRungs(spec.hyperband(), spec) : ToRungs(block, spec);
  if (TraitsOf(kind).population) {
    const int64_t most = pruner.rungs.max_resource;
    pruner.rungs.min_resource = OrDefault(block.min_resource(), std::max<int64_t>(1, most / kGenerations));
    pruner.rungs.reduction_factor = OrDefault(block.reduction_factor(), kPopulationFactor);
  }
  // FREEZE_THAW promotes by ASHA's rungs too, whatever the trainer can.
  const bool stops = block.form() == v1::PrunerSpec::STOPPING ||
                     (block.form() == v1::PrunerSpec::FORM_UNSPECIFIED && !Resumes(spec));
  pruner.asha_form = kind == PrunerKind::kAsha && stops ? AshaForm::kStopping : AshaForm::kPromotion;
  pruner.asha_brackets = OrDefault(block.brackets(), pruner.asha_brackets);
  pruner.bracket_trials = TraitsOf(kind).population ? OrDefault(block.trials(), kPopulation) : block.trials();
  if (block.has_stop_weak_brackets()) pruner.stop_weak_brackets = block.stop_weak_brackets();
  if (block.weak_bracket_level() != 0) pruner.weak_bracket_level = block.weak_bracket_level();
  pruner.warm_up_resource = block.warm_up_resource();
  if (block.has_warm_up_trials()) pruner.warm_up_trials = block.warm_up_trials();
  pruner.min_chance = kind == PrunerKind::kLearningCurve ? kDefaultMinChance
                      : kind == PrunerKind::kPairedTest  ? kPairedTestChance
                                                         : 0;
  if (block.has_min_chance()) pruner.min_chance = block.min_chance();
  return pruner;
}

}  // namespace

int64_t RepeatsOf(const v1::TuningJobSpec& spec) {
  return std::max<int64_t>(0, spec.repeats().seeds() != 0 ? spec.repeats().seeds() : spec.repeats().folds());
}

int64_t OwnEndOf(const v1::TuningJobSpec& spec) {
  const BuiltinTrainer* trainer = FindBuiltinTrainer(spec.trainer().builtin());
  if (trainer == nullptr) return 0;
  for (const v1::ParameterSpec& parameter : spec.parameters()) {
    if (trainer->FirstName(parameter.name()) == trainer->resource_parameter && parameter.has_integer())
      return parameter.integer().max();
  }
  return FixedEndOf(spec);
}

Strategy StrategyOf(const v1::TuningJobSpec& spec) {
  Strategy strategy;
  const bool own_kinds = spec.sampler().kind() != v1::SamplerSpec::KIND_UNSPECIFIED ||
                         spec.pruner().kind() != v1::PrunerSpec::KIND_UNSPECIFIED;
  strategy.name = spec.strategy();
  if (strategy.name == v1::STRATEGY_UNSPECIFIED && (spec.has_hyperband() || !own_kinds)) {
    strategy.name = DefaultStrategy(spec);
  }
  SamplerKind sampler = SamplerKind::kGp;
  PrunerKind pruner = PrunerKind::kNone;
  for (const Row& row : kStrategies) {
    if (row.strategy != strategy.name) continue;
    sampler = row.sampler;
    pruner = row.pruner;
  }
  if (RepeatsOf(spec) > 0 && pruner == PrunerKind::kNone) pruner = PrunerKind::kPairedTest;
  strategy.sampler.kind = ToKind(spec.sampler().kind(), sampler);
  strategy.sampler.startup_trials = spec.sampler().startup_trials();
  strategy.pruner = ToPruner(spec, ToKind(spec.pruner().kind(), pruner));
  return strategy;
}

std::string KindName(SamplerKind kind) {
  for (int k = v1::SamplerSpec::RANDOM; k <= v1::SamplerSpec::Kind_MAX; ++k) {
    const auto named = static_cast<v1::SamplerSpec::Kind>(k);
    if (ToKind(named, SamplerKind::kRandom) == kind) return v1::SamplerSpec::Kind_Name(named);
  }
  return "";
}

std::string KindName(PrunerKind kind) {
  for (int k = v1::PrunerSpec::NONE; k <= v1::PrunerSpec::Kind_MAX; ++k) {
    const auto named = static_cast<v1::PrunerSpec::Kind>(k);
    if (ToKind(named, PrunerKind::kNone) == kind) return v1::PrunerSpec::Kind_Name(named);
  }
  return "";
}

std::string StrategyName(SamplerKind sampler, PrunerKind pruner) {
  for (const Row& row : kStrategies) {
    if (row.sampler == sampler && row.pruner == pruner) return v1::Strategy_Name(row.strategy);
  }
  return KindName(sampler) + " sampler, " + KindName(pruner) + " pruner";
}

}  // namespace winnow

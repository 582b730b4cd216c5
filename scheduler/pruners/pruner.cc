#include "scheduler/pruners/pruner.h"

#include "scheduler/pruners/asha.h"
#include "scheduler/pruners/freeze_thaw.h"
#include "scheduler/pruners/hyperband.h"
#include "scheduler/pruners/learning_curve.h"
#include "scheduler/pruners/median.h"
#include "scheduler/pruners/none.h"
#include "scheduler/pruners/paired_test.h"
#include "scheduler/pruners/pbt.h"

namespace winnow {

const Pruner& PrunerOf(const SearchSpec& spec) {
  static const NoPruner none;
  static const HyperbandPruner hyperband("Hyperband: ", true),
      successive_halving("Successive halving: ", false);
  static const AshaPruner asha;
  static const MedianPruner median;
  static const LearningCurvePruner learning_curve;
  static const FreezeThawPruner freeze_thaw;
  static const PairedTestPruner paired_test;
  static const PbtPruner pbt;
  switch (spec.pruner.kind) {
    case PrunerKind::kHyperband:
      return hyperband;
    case PrunerKind::kSuccessiveHalving:
      return successive_halving;
    case PrunerKind::kAsha:
      return asha;
    case PrunerKind::kMedian:
      return median;
    case PrunerKind::kLearningCurve:
      return learning_curve;
    case PrunerKind::kFreezeThaw:
      return freeze_thaw;
    case PrunerKind::kPairedTest:
      return paired_test;
    case PrunerKind::kPbt:
      return pbt;
    default:
      return none;
  }
}

}  // namespace winnow

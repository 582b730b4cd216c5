#include "scheduler/pruners/pruner.h"

#include "scheduler/pruners/hyperband.h"
#include "scheduler/pruners/none.h"

namespace winnow {

const Pruner& PrunerOf(const SearchSpec& spec) {
  static const NoPruner none;
  static const HyperbandPruner hyperband;
  switch (spec.pruner.kind) {
    case PrunerKind::kHyperband:
    case PrunerKind::kSuccessiveHalving:
      return hyperband;
    default:
      return none;
  }
}

}  // namespace winnow

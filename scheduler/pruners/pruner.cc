#include "scheduler/pruners/pruner.h"

#include "scheduler/pruners/hyperband.h"
#include "scheduler/pruners/none.h"

namespace winnow {

const Pruner& PrunerOf(const SearchSpec& spec) {
  static const NoPruner none;
  static const HyperbandPruner hyperband;
  if (spec.strategy == Strategy::kHyperband) return hyperband;
  return none;
}

}  // namespace winnow

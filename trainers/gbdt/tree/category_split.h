#pragma once

#include <functional>
#include <vector>

#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/tree/split.h"

namespace winnow::gbdt {

// The gain of a cut with this left side, not above 0 where it may not be made; and the value of a node.
using CategoryGain = std::function<float(const GradientSum& left)>;
using CategoryWeight = std::function<double(const GradientSum& sum)>;

// The best division of a categorical feature's bins, as XGBoost 1.7's hist makes it: of fewer than
// max_cat_to_onehot categories, one against the others; of more, those in order of their weight are cut in two
// (Fisher 1958), with at most max_cat_threshold of them on the smaller side. Split::gain is 0 where there is
// none. The split's feature is left to the caller.
Split BestCategorySplit(const GbdtParameters& parameters, const std::vector<GradientSum>& bins,
                        const GradientSum& missing, const GradientSum& total, const CategoryGain& gain,
                        const CategoryWeight& weight);

}  // namespace winnow::gbdt

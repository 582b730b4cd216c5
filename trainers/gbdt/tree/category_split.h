#pragma once

#include <functional>
#include <vector>

#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/tree/split.h"

namespace winnow::gbdt {

// The gain of a cut with this left side, at most 0 if it is not allowed; and the value of a node.
using CategoryGain = std::function<float(const GradientSum& left)>;
using CategoryWeight = std::function<double(const GradientSum& sum)>;

// Returns the best division of a categorical feature's bins, as in XGBoost 1.7's hist: with fewer than
// max_cat_to_onehot categories, one against the others; with more, those sorted by their weight are cut in
// two (Fisher 1958), with at most max_cat_threshold of them on the smaller side. Split::gain is 0 if there is
// none. The caller sets the split's feature.
Split BestCategorySplit(const GbdtParameters& parameters, const std::vector<GradientSum>& bins,
                        const GradientSum& missing, const GradientSum& total, const CategoryGain& gain,
                        const CategoryWeight& weight);

}  // namespace winnow::gbdt

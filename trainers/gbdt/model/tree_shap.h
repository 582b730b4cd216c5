#pragma once

#include <cstdint>
#include <vector>

#include "trainers/gbdt/model/model.h"

namespace winnow::gbdt {

// Returns each feature's contribution to a row's margins: path-dependent SHAP values (Lundberg, Erion and
// Lee, "Consistent Individualized Feature Attribution for Tree Ensembles", 2018, Algorithm 2), leaf by leaf
// as in Mitchell, Frank and Holmes, "GPUTreeShap", 2022, section 3. They equal XGBoost's pred_contribs.
//
// [row][class][feature, then the bias]; those of a row and class sum to its margin from the first `rounds`
// rounds. pool may be null.
std::vector<float> PredictContributions(const Model& model, const DataSet& data, int64_t rounds,
                                        ThreadPool* pool = nullptr);

}  // namespace winnow::gbdt

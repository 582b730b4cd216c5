#pragma once

#include "trainers/gbdt/model/model.h"
#include "trainers/gbdt/model/model_document.h"

namespace winnow::gbdt {

// XGBoost 3.1 and later keep the names of categories, from data frames, beside the trees, which know their
// numbers. Makes text columns of these features, so that their names are read from data files; as such
// columns have their levels sorted, categories get new numbers. gbtree_model: the document's
// gradient_booster.model. REQUIRES: model's schema has a column for each feature. Throws MalformedDocument.
void ReadCategoryNames(const Document& gbtree_model, Model* model);

}  // namespace winnow::gbdt

#pragma once

#include "worker/gbdt/model.h"
#include "worker/gbdt/model_document.h"

namespace winnow {

// XGBoost 3.1 and later keep the names of categories, from data frames, beside the trees, which know their
// numbers. Makes text columns of these features, so that their names are read from data files; as such
// columns have their levels sorted, categories get new numbers. gbtree_model: the document's
// gradient_booster.model. REQUIRES: model's schema has a column for each feature. Throws MalformedDocument.
void ReadCategoryNames(const Document& gbtree_model, GbdtModel* model);

}  // namespace winnow

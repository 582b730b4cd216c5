#pragma once

#include "trainers/gbdt/model/model.h"
#include "trainers/gbdt/model/model_document.h"

namespace winnow::gbdt {

// Reads the names of categories, which XGBoost 3.1 and later take from data frames and keep beside the trees;
// the trees contain numbers. Makes these features text columns, so that their names are read from data files;
// because such columns have sorted levels, categories get new numbers. gbtree_model: the document's
// gradient_booster.model. REQUIRES: the model's schema has a column for each feature. Throws
// MalformedDocument.
void ReadCategoryNames(const Document& gbtree_model, Model* model);

}  // namespace winnow::gbdt

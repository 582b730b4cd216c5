#pragma once

#include <cstdint>

#include "trainers/gbdt/model/model_document.h"
#include "trainers/gbdt/tree/tree.h"

namespace winnow::gbdt {

// A tree as XGBoost's model files hold it (version 1.6 and later): lists with an entry for each node.
Document XgboostTree(const Tree& tree, int64_t id, int64_t features);

// The tree of such a document, also of older and newer versions. Nodes keep their order if it is one that
// Tree allows and are numbered anew otherwise; nodes that XGBoost has pruned are left out. Throws
// MalformedDocument for everything that is no tree over `features` features.
Tree ReadXgboostTree(const Document& document, int64_t features);

}  // namespace winnow::gbdt

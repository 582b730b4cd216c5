#pragma once

#include <cstdint>

#include "trainers/gbdt/model/model_document.h"
#include "trainers/gbdt/tree/tree.h"

namespace winnow::gbdt {

// Returns a tree as in XGBoost's model files (version 1.6 and later): lists with an entry per node.
Document XgboostTree(const Tree& tree, int64_t id, int64_t features);

// Reads the tree of such a document, also of older and newer versions. Keeps the order of nodes if Tree
// allows it, otherwise renumbers them; leaves out nodes that XGBoost has pruned. Throws MalformedDocument for
// anything that is not a tree over `features` features.
Tree ReadXgboostTree(const Document& document, int64_t features);

}  // namespace winnow::gbdt

#pragma once

#include "trainers/gbdt/model/model.h"
#include "trainers/gbdt/model/model_document.h"

namespace winnow::gbdt {

constexpr const char* kVersion1Format = "winnow-gbdt-model";  // its member "format"

// The model of a file that winnow-gbdt wrote before models were XGBoost's. Throws MalformedDocument.
GbdtModel ReadVersion1Model(const Document& document);

}  // namespace winnow::gbdt

#pragma once

#include "worker/gbdt/model.h"
#include "worker/gbdt/model_document.h"

namespace winnow {

constexpr const char* kVersion1Format = "winnow-gbdt-model";  // its member "format"

// The model of a file that winnow-gbdt wrote before models were XGBoost's. Throws MalformedDocument.
GbdtModel ReadVersion1Model(const Document& document);

}  // namespace winnow

#pragma once

#include <stdexcept>

#include "trainers/gbdt/model/model.h"
#include "trainers/gbdt/model/model_document.h"

namespace winnow::gbdt {

// Thrown by ReadXgboostModel for a valid model of a kind that winnow-gbdt does not support.
struct UnsupportedModel : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Returns a model as XGBoost 1.7.4 writes it, so that XGBoost loads it and predicts the same. Properties that
// XGBoost cannot represent (how data is read, all hyperparameters) are JSON text in the attribute "winnow".
// Features of data without a header have no names there. reg:quantileerror, unknown to 1.7.4, is written as
// by 2.0.
Document XgboostModel(const Model& model);

// Reads the model of such a document, written by XgboostModel or by XGBoost from version 1.0 on. Unnamed
// features are f0, f1, …; their data is matched by position. The attribute best_iteration determines the used
// rounds. Throws MalformedDocument and UnsupportedModel.
Model ReadXgboostModel(const Document& document);

}  // namespace winnow::gbdt

#pragma once

#include <stdexcept>

#include "trainers/gbdt/model/model.h"
#include "trainers/gbdt/model/model_document.h"

namespace winnow::gbdt {

// Thrown by ReadXgboostModel for a valid model of a kind that winnow-gbdt does not support.
struct UnsupportedModel : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A model as XGBoost 1.7.4 writes it, so that XGBoost loads it and predicts the same. What XGBoost has no
// place for (how data is read, all hyperparameters) is JSON text in the attribute "winnow". Features of data
// without a header have no names there. reg:quantileerror, which 1.7.4 does not know, is as 2.0 writes it.
Document XgboostModel(const Model& model);

// The model of such a document, written by XgboostModel or by XGBoost, from version 1.0 on. Features without
// names are f0, f1, …; their data is matched by position. The attribute best_iteration decides which rounds
// are used. Throws MalformedDocument and UnsupportedModel.
Model ReadXgboostModel(const Document& document);

}  // namespace winnow::gbdt

#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainers/gbdt/model/model.h"
#include "trainers/gbdt/model/model_document.h"

namespace winnow::gbdt {

// Properties that XGBoost's model files cannot represent.
struct ModelExtras {
  std::map<std::string, std::string> hyperparameters;
  bool base_score_estimated = false;
  DataOptions reading;
  DataSchema schema;
  int64_t best_round = -1;

  // Whether the schema has as many features as the model.
  bool Fit(const Model& model) const;
};

// Converts to JSON text and back; throws MalformedDocument.
std::string ExtrasText(const Model& model);
ModelExtras ReadExtras(const std::string& text);

// Returns hyperparameters as the JSON object that ParseHyperparameters reads.
std::string HyperparametersText(const std::map<std::string, std::string>& values);

DataOptions ReadReading(const Document& document);
DataSchema ReadSchema(const Document& document);

}  // namespace winnow::gbdt

#pragma once

#include <string>

#include "trainers/mlp/model/model_file.h"

namespace winnow::mlp {

// Two hidden layers with batch norm, of 18 and 3 units, so that one is padded beyond a panel; a column of
// numbers and one of texts; three classes. Every number of its state differs from the others.
inline Model SampleModel() {
  Model model;
  model.parameters.hidden_layers = {18, 3};
  model.parameters.batch_norm = BatchNorm::kSynchronised;
  model.parameters.activation = Activation::kGelu;
  model.parameters.learning_rate = 0.1;
  model.reading.label = "kind";
  model.reading.drop = {"id"};
  FeatureSchema& schema = model.schema;
  schema.features = 3;
  schema.names = {"size", "drink_caf\xe9", "drink_tea"};  // as Latin-1, which is not UTF-8
  schema.table.columns = {{"size", false, {}, false}, {"drink", true, {"caf\xe9", "tea"}, false}};
  schema.table.label_levels = schema.label_levels = {"cat", "dog", "\"fox\""};
  schema.scaling = {{1.5f, 0.1f, 0.3333333f}, {2, 0.1f, 1e-3f}};
  model.network = MakeNetwork(model.parameters, schema.features, 3);
  model.state = InitialState(model.network, model.parameters);
  for (std::vector<float>& slot : model.state.slots) slot.clear();
  float next = 0;
  for (const Layer& layer : model.network.layers) {
    for (int output = 0; output < layer.outputs; ++output) {
      const auto set = [&](std::vector<float>* array, std::size_t at) {
        (*array)[at + output] = next += 0.1f;
      };
      set(&model.state.parameters, layer.bias);
      if (!layer.batch_norm) continue;
      set(&model.state.parameters, layer.gamma);
      set(&model.state.parameters, layer.beta);
      set(&model.state.statistics, layer.statistics);
      set(&model.state.statistics, layer.statistics + layer.padded());
    }
  }
  return model;
}

}  // namespace winnow::mlp

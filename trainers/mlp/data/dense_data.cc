#include "trainers/mlp/data/dense_data.h"

#include <utility>

namespace winnow::mlp {

DenseData MakeDenseData(int features, std::vector<float> values, std::vector<float> label) {
  struct Owner {
    std::vector<float> values, label;
  };
  auto owner = std::make_shared<Owner>(Owner{std::move(values), std::move(label)});
  DenseData data;
  data.features = features;
  data.rows = features > 0 ? static_cast<int64_t>(owner->values.size()) / features : 0;
  data.values = owner->values;
  data.label = owner->label;
  data.owner = std::move(owner);
  return data;
}

}  // namespace winnow::mlp

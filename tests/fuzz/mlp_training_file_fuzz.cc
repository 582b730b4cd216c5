// Training data of winnow-mlp as an entry of the cache holds them.

#include "tests/fuzz/sections.h"
#include "trainers/mlp/data/dense_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  using namespace winnow::mlp;
  const auto entry = fuzz::SectionsFrom(fuzz::Input(data, size));
  if (entry == nullptr) return 0;
  const absl::StatusOr<TrainingData> read = ReadDense(entry);
  if (!read.ok()) return 0;
  const DenseData& train = read->train;
  const size_t numbers = static_cast<size_t>(train.rows) * static_cast<size_t>(train.features);
  fuzz::Require(train.bytes.size() + train.values.size() == numbers, "rows are whole");
  fuzz::Require(train.label.size() == static_cast<size_t>(train.rows), "each row has its label");
  return 0;
}

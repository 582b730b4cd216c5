// Training data of winnow-gbdt as an entry of the cache holds them.

#include "tests/fuzz/sections.h"
#include "trainers/gbdt/training_data.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  using namespace winnow::gbdt;
  const auto entry = fuzz::SectionsFrom(fuzz::Input(data, size));
  if (entry == nullptr) return 0;
  const absl::StatusOr<TrainingData> read = ReadTrainingData(entry);
  if (!read.ok()) return 0;
  const BinMatrix& matrix = read->train.matrix;
  const auto width = static_cast<size_t>(matrix.narrow() ? 1 : 2);
  const size_t bytes = static_cast<size_t>(matrix.slots()) * static_cast<size_t>(matrix.rows()) * width;
  const auto* const bins = static_cast<const uint8_t*>(matrix.storage().by_column);
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes; ++i) sum += bins[i];
  fuzz::Require(sum <= 255 * bytes, "all bins are there");
  const BinLayout& layout = matrix.layout();
  for (const FeaturePlace& feature : layout.features) {
    if (feature.sparse >= 0) continue;
    const auto& group = layout.groups.at(static_cast<size_t>(feature.group));
    fuzz::Require(static_cast<size_t>(group.slot) < layout.slots.size(), "a feature lies in a slot");
  }
  return 0;
}

// Checkpoints of winnow-gbdt.

#include "tests/fuzz/fuzz.h"
#include "trainers/gbdt/model/model_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  using namespace winnow::gbdt;
  const absl::StatusOr<Checkpoint> checkpoint = ParseCheckpoint({reinterpret_cast<const char*>(data), size});
  if (!checkpoint.ok()) return 0;
  fuzz::Require(checkpoint->history.size() == static_cast<size_t>(checkpoint->model.rounds()),
                "every round has its history");
  const std::string text = CheckpointText(*checkpoint);
  const absl::StatusOr<Checkpoint> again = ParseCheckpoint(text);
  fuzz::Require(again.ok() && CheckpointText(*again) == text, "a checkpoint comes back as it was written");
  return 0;
}

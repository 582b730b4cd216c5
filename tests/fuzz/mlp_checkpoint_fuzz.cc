// Checkpoints of winnow-mlp. Their checksum, which no change to an input would keep, is mended in every
// second input.

#include <span>

#include "tests/fuzz/fuzz.h"
#include "trainers/data/cache/checksum.h"
#include "trainers/mlp/model/checkpoint.h"

namespace {

constexpr std::string_view kFormat = "winnow-mlp checkpoint\n";

// The text of a checkpoint with this content.
std::string WithChecksum(std::string_view content) {
  const uint64_t checksum = winnow::ContentChecksum(std::as_bytes(std::span(content)));
  std::string text = std::string(kFormat) + std::string(content);
  return text.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  using namespace winnow::mlp;
  std::string text(reinterpret_cast<const char*>(data), size);
  constexpr size_t kChecksum = sizeof(uint64_t);
  if (text.starts_with(kFormat) && text.size() >= kFormat.size() + kChecksum && size % 2 == 0)
    text =
        WithChecksum(std::string_view(text).substr(kFormat.size(), text.size() - kFormat.size() - kChecksum));
  const absl::StatusOr<Checkpoint> checkpoint = ParseCheckpoint(text);
  if (!checkpoint.ok()) return 0;
  const std::string written = CheckpointText(*checkpoint);
  const absl::StatusOr<Checkpoint> again = ParseCheckpoint(written);
  fuzz::Require(again.ok() && CheckpointText(*again) == written, "a checkpoint comes back as it was written");
  return 0;
}

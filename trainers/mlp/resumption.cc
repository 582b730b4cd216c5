#include "trainers/mlp/resumption.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"

namespace winnow::mlp {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

// "eta = 1, not 2", or "" where the two are the same.
std::string Difference(const Settings& theirs, const Settings& ours) {
  for (const auto& [name, value] : ours) {
    const auto found = std::find_if(theirs.begin(), theirs.end(),
                                    [&wanted = name](const auto& entry) { return entry.first == wanted; });
    if (found == theirs.end()) return fmt::format("no {}, not {}", name, value);
    if (found->second != value) return fmt::format("{} = {}, not {}", name, found->second, value);
  }
  return "";
}

}  // namespace

std::optional<MlpCheckpoint> FindCheckpoint(const std::string& folder, const MlpParameters& parameters,
                                            int64_t target, std::vector<std::string>* warnings) {
  if (folder.empty()) return std::nullopt;
  const std::size_t warned = warnings->size();
  absl::StatusOr<MlpCheckpoint> found = ReadNewestCheckpoint(folder, warnings);
  if (!found.ok()) {
    if (warnings->size() > warned) warnings->push_back("training starts anew");
    return std::nullopt;
  }
  if (const std::string difference = Difference(found->hyperparameters, ModelHyperparameters(parameters));
      !difference.empty()) {
    warnings->push_back(
        fmt::format("the checkpoint in {} was made with {}: training starts anew", folder, difference));
    return std::nullopt;
  }
  // What an epoch has learned cannot be taken back.
  if (found->epochs > target) {
    warnings->push_back(fmt::format("the checkpoint in {} has {} epochs, more than {}: training starts anew",
                                    folder, found->epochs, target));
    return std::nullopt;
  }
  if (found->epochs == 0) return std::nullopt;
  return *std::move(found);
}

absl::Status ShareCheckpoint(std::optional<MlpCheckpoint>* checkpoint, Communicator* ranks) {
  if (ranks->size() == 1) return absl::OkStatus();
  const bool is_first = ranks->rank() == 0;
  std::string text;
  if (is_first && *checkpoint) text = CheckpointText(**checkpoint);
  if (absl::Status status = ranks->Broadcast(0, &text); !status.ok()) return status;
  if (is_first || text.empty()) return absl::OkStatus();
  absl::StatusOr<MlpCheckpoint> parsed = ParseCheckpoint(text);
  if (!parsed.ok()) return parsed.status();
  *checkpoint = *std::move(parsed);
  return absl::OkStatus();
}

}  // namespace winnow::mlp

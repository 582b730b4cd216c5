#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/mlp/data/dense_data.h"
#include "trainers/mlp/network/network.h"

namespace winnow::mlp {

// The state, besides the data, from which training continues as if it had not stopped.
struct Checkpoint {
  std::vector<std::pair<std::string, std::string>> hyperparameters;  // ModelHyperparameters
  NetworkState state;
  std::string extra;   // of the way of training (EpochTrainer::Collect)
  int64_t epochs = 0;  // done
  uint64_t data_fingerprint = 0;
  FeatureSchema schema;  // of the data, to write the model of a completed training without them
  int outputs = 0;       // of the network
  std::vector<std::string> metric_names;
  std::vector<std::vector<double>> history;  // [epoch][metric]; NaN and infinite values are kept
  bool stopped_early = false;
  int64_t best_epoch = -1;           // from 0, by the metric of early stopping; -1: none is kept
  std::optional<NetworkState> best;  // parameters and statistics after that epoch; slots are empty
};

// Returns the same bytes for the same checkpoint, with a checksum: Parse is InvalidArgument for a damaged
// text or another version.
std::string CheckpointText(const Checkpoint& checkpoint);
absl::StatusOr<Checkpoint> ParseCheckpoint(std::string_view text);

// Checkpoints of a folder, "checkpoint-00000012.mlp". Write is WriteCheckpointFile. Read returns the newest
// complete one: NotFound if there is none; adds skipped ones to *warnings. The caller checks that
// hyperparameters, network and data match.
absl::Status WriteCheckpoint(const std::string& folder, const Checkpoint& checkpoint,
                             const std::set<std::string>& begun_with = {});
absl::StatusOr<Checkpoint> ReadNewestCheckpoint(const std::string& folder,
                                                std::vector<std::string>* warnings);

}  // namespace winnow::mlp

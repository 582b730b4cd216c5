#include "trainers/mlp/model/checkpoint.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "trainers/common/checkpoint_folder.h"
#include "trainers/data/cache/byte_codec.h"
#include "trainers/data/cache/checksum.h"
#include "trainers/mlp/data/model_metadata.h"

namespace winnow::mlp {
namespace {

constexpr std::string_view kCheckpointFormat = "winnow-mlp checkpoint\n";
constexpr uint64_t kCheckpointVersion = 1;
constexpr const char* kEnding = ".mlp";

uint64_t ChecksumOf(std::string_view text) { return ContentChecksum(std::as_bytes(std::span(text))); }

void WriteFloats(const std::vector<float>& values, ByteWriter* bytes) {
  bytes->Text({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

std::vector<float> ReadFloats(ByteReader* bytes) {
  const std::string_view text = bytes->Text();
  std::vector<float> values(text.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), text.data(), values.size() * sizeof(float));
  return values;
}

void WriteState(const NetworkState& state, ByteWriter* bytes) {
  WriteFloats(state.parameters, bytes);
  for (const std::vector<float>& slot : state.slots) WriteFloats(slot, bytes);
  WriteFloats(state.statistics, bytes);
  bytes->Number(static_cast<uint64_t>(state.step));
}

NetworkState ReadState(ByteReader* bytes) {
  NetworkState state;
  state.parameters = ReadFloats(bytes);
  for (std::vector<float>& slot : state.slots) slot = ReadFloats(bytes);
  state.statistics = ReadFloats(bytes);
  state.step = static_cast<int64_t>(bytes->Number());
  return state;
}

void WriteHistory(const Checkpoint& checkpoint, ByteWriter* bytes) {
  bytes->Number(checkpoint.metric_names.size());
  for (const std::string& name : checkpoint.metric_names) bytes->Text(name);
  bytes->Number(checkpoint.history.size());
  for (const std::vector<double>& epoch : checkpoint.history) {
    bytes->Number(epoch.size());
    for (double value : epoch) bytes->Number(std::bit_cast<uint64_t>(value));
  }
}

void ReadHistory(ByteReader* bytes, Checkpoint* checkpoint) {
  for (uint64_t left = bytes->Number(); left > 0 && bytes->ok(); --left)
    checkpoint->metric_names.emplace_back(bytes->Text());
  for (uint64_t left = bytes->Number(); left > 0 && bytes->ok(); --left) {
    std::vector<double>& epoch = checkpoint->history.emplace_back();
    for (uint64_t values = bytes->Number(); values > 0 && bytes->ok(); --values)
      epoch.push_back(std::bit_cast<double>(bytes->Number()));
  }
}

}  // namespace

std::string CheckpointText(const Checkpoint& checkpoint) {
  ByteWriter bytes;
  bytes.Number(kCheckpointVersion);
  bytes.Number(checkpoint.hyperparameters.size());
  for (const auto& [name, value] : checkpoint.hyperparameters) {
    bytes.Text(name);
    bytes.Text(value);
  }
  WriteState(checkpoint.state, &bytes);
  bytes.Text(checkpoint.extra);
  bytes.Number(static_cast<uint64_t>(checkpoint.epochs));
  bytes.Number(checkpoint.data_fingerprint);
  bytes.Text(checkpoint.schema.features > 0 ? SchemaJson(checkpoint.schema) : "");
  bytes.Number(static_cast<uint64_t>(checkpoint.outputs));
  WriteHistory(checkpoint, &bytes);
  bytes.Number(checkpoint.stopped_early);
  bytes.Number(static_cast<uint64_t>(checkpoint.best_epoch));
  bytes.Number(checkpoint.best.has_value());
  if (checkpoint.best) WriteState(*checkpoint.best, &bytes);
  ByteWriter checksum;
  checksum.Number(ChecksumOf(bytes.bytes()));
  return std::string(kCheckpointFormat) + bytes.bytes() + checksum.bytes();
}

absl::StatusOr<Checkpoint> ParseCheckpoint(std::string_view text) {
  constexpr std::size_t kNumber = sizeof(uint64_t);
  if (!text.starts_with(kCheckpointFormat))
    return absl::InvalidArgumentError("this is not a checkpoint of winnow-mlp");
  text.remove_prefix(kCheckpointFormat.size());
  if (text.size() < 2 * kNumber)
    return absl::InvalidArgumentError("damaged: the file ends before its content does");
  const std::string_view content = text.substr(0, text.size() - kNumber);
  ByteReader bytes(content);
  if (const uint64_t version = bytes.Number(); version != kCheckpointVersion)
    return absl::InvalidArgumentError(
        fmt::format("version {}: this program reads version {}", version, kCheckpointVersion));
  if (ByteReader(text.substr(content.size())).Number() != ChecksumOf(content))
    return absl::InvalidArgumentError(
        "damaged: the content does not have the checksum that it was written with");

  Checkpoint checkpoint;
  for (uint64_t left = bytes.Number(); left > 0 && bytes.ok(); --left) {
    const std::string_view name = bytes.Text();
    checkpoint.hyperparameters.emplace_back(name, bytes.Text());
  }
  checkpoint.state = ReadState(&bytes);
  checkpoint.extra = bytes.Text();
  checkpoint.epochs = static_cast<int64_t>(bytes.Number());
  checkpoint.data_fingerprint = bytes.Number();
  const std::string schema(bytes.Text());
  checkpoint.outputs = static_cast<int>(bytes.Number());
  ReadHistory(&bytes, &checkpoint);
  checkpoint.stopped_early = bytes.Number() != 0;
  checkpoint.best_epoch = static_cast<int64_t>(bytes.Number());
  if (bytes.Number() != 0) checkpoint.best = ReadState(&bytes);
  if (!bytes.ok() || !bytes.rest().empty())
    return absl::InvalidArgumentError("malformed: the content is not as long as its parts");
  if (!schema.empty()) {
    absl::StatusOr<FeatureSchema> parsed = ParseSchema(schema);
    if (!parsed.ok()) return parsed.status();
    checkpoint.schema = *std::move(parsed);
  }
  if (checkpoint.history.size() != static_cast<uint64_t>(checkpoint.epochs))
    return absl::InvalidArgumentError(fmt::format("malformed: a history of {} epochs after {}",
                                                  checkpoint.history.size(), checkpoint.epochs));
  for (const std::vector<double>& epoch : checkpoint.history) {
    if (epoch.size() != checkpoint.metric_names.size())
      return absl::InvalidArgumentError(fmt::format("malformed: {} values of history for {} metrics",
                                                    epoch.size(), checkpoint.metric_names.size()));
  }
  return checkpoint;
}

absl::Status WriteCheckpoint(const std::string& folder, const Checkpoint& checkpoint,
                             const std::set<std::string>& begun_with) {
  return WriteCheckpointFile(folder, checkpoint.epochs, kEnding, CheckpointText(checkpoint), begun_with);
}

absl::StatusOr<Checkpoint> ReadNewestCheckpoint(const std::string& folder,
                                                std::vector<std::string>* warnings) {
  return winnow::ReadNewestCheckpoint(folder, kEnding, ParseCheckpoint, warnings);
}

}  // namespace winnow::mlp

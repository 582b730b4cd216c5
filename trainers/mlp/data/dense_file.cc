#include "trainers/mlp/data/dense_file.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/status_text.h"
#include "trainers/common/whole_numbers.h"
#include "trainers/mlp/data/model_metadata.h"

namespace winnow::mlp {
namespace {

using Json = nlohmann::json;

template <typename T>
std::span<const std::byte> Bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

uint64_t HashOfBytes(uint64_t seed, std::span<const std::byte> bytes) {
  uint64_t hash = HashOf(seed, bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    hash = MixBits(hash ^ word);
  }
  return hash;
}

// Adds the sections "<name>.bytes" … of one set of rows, and mixes them into *hash.
absl::Status WriteRows(const std::string& name, const RawRows& rows, SectionWriter& writer, uint64_t* hash) {
  const std::pair<const char*, std::span<const std::byte>> sections[] = {{".bytes", Bytes(rows.bytes)},
                                                                         {".values", Bytes(rows.values)},
                                                                         {".label", Bytes(rows.label)},
                                                                         {".weight", Bytes(rows.weight)}};
  for (const auto& [section, content] : sections) {
    *hash = HashOfBytes(*hash, content);
    if (content.empty()) continue;
    if (absl::Status status = writer.AddCopy(name + section, content); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<DenseData> ReadRows(const std::string& name, const std::shared_ptr<const MappedFile>& file,
                                   const FeatureSchema& schema, int64_t rows) {
  DenseData data;
  data.rows = rows;
  data.features = schema.features;
  data.bytes = file->Array<uint8_t>(name + ".bytes");
  data.values = file->Array<float>(name + ".values");
  data.label = file->Array<float>(name + ".label");
  data.weight = file->Array<float>(name + ".weight");
  data.owner = file;
  if (!data.bytes.empty()) SetByteScaling(schema.scaling, &data);
  const auto count = static_cast<std::size_t>(rows);
  if (data.bytes.size() + data.values.size() != count * static_cast<std::size_t>(schema.features) ||
      data.label.size() != count || (!data.weight.empty() && data.weight.size() != count))
    return absl::DataLossError("sections of " + name + " have another size than their rows");
  return data;
}

}  // namespace

absl::Status WriteDense(const RawRows& train, const RawRows* validation, const FeatureSchema& schema,
                        SectionWriter& writer) {
  Json json = {{"schema", SchemaJson(schema)}, {"train", train.rows}};
  const std::vector<uint8_t> described = Json::to_ubjson(json);
  uint64_t fingerprint = HashOfBytes(0, Bytes(described));
  absl::Status status = WriteRows("train", train, writer, &fingerprint);
  if (status.ok() && validation != nullptr) {
    json["validation"] = validation->rows;
    status = WriteRows("validation", *validation, writer, &fingerprint);
  }
  if (!status.ok()) return status;
  json["fingerprint"] = fingerprint;
  return writer.AddCopy("meta", Bytes(Json::to_ubjson(json)));
}

absl::StatusOr<TrainingData> ReadDense(const std::shared_ptr<const MappedFile>& file) {
  try {
    const auto meta = file->Array<uint8_t>("meta");
    const Json json = Json::from_ubjson(meta.begin(), meta.end());
    if (!HasOnlyWholeNumbers(json))
      return absl::DataLossError("sections of training data: a number is not whole");
    TrainingData data;
    absl::StatusOr<FeatureSchema> schema = ParseSchema(json.at("schema").get<std::string>());
    if (!schema.ok()) return absl::DataLossError("sections of training data: " + MessageOf(schema.status()));
    data.schema = *std::move(schema);
    json.at("fingerprint").get_to(data.fingerprint);
    absl::StatusOr<DenseData> train = ReadRows("train", file, data.schema, json.at("train").get<int64_t>());
    if (!train.ok()) return train.status();
    data.train = *std::move(train);
    if (!json.contains("validation")) return data;
    absl::StatusOr<DenseData> validation =
        ReadRows("validation", file, data.schema, json.at("validation").get<int64_t>());
    if (!validation.ok()) return validation.status();
    data.validation = *std::move(validation);
    return data;
  } catch (const Json::exception& error) {
    return absl::DataLossError(std::string("sections of training data: ") + error.what());
  }
}

}  // namespace winnow::mlp

#include "worker/mlp/dense_file.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "worker/trainer/hash.h"

namespace winnow {
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

Json JsonOf(const FeatureSchema& schema) {
  Json columns = Json::array();
  for (const ColumnSchema& column : schema.table.columns)
    columns.push_back({column.name, column.text, column.levels});
  return {{"names", schema.names},
          {"image_rows", schema.image_rows},
          {"of_bytes", schema.of_bytes},
          {"columns", columns},
          {"image_columns", schema.image_columns},
          {"mean", schema.scaling.mean},
          {"deviation", schema.scaling.deviation},
          {"levels", schema.label_levels},
          {"features", schema.features},
          {"of_bytes", schema.of_bytes},
          {"table", schema.table.label_levels}};
}

FeatureSchema SchemaOf(const Json& json) {
  FeatureSchema schema;
  json.at("names").get_to(schema.names);
  json.at("image_rows").get_to(schema.image_rows);
  json.at("image_columns").get_to(schema.image_columns);
  json.at("of_bytes").get_to(schema.of_bytes);
  json.at("mean").get_to(schema.scaling.mean);
  json.at("deviation").get_to(schema.scaling.deviation);
  json.at("levels").get_to(schema.label_levels);
  json.at("features").get_to(schema.features);
  json.at("of_bytes").get_to(schema.of_bytes);
  json.at("table").get_to(schema.table.label_levels);
  for (const Json& column : json.at("columns")) {
    ColumnSchema& read = schema.table.columns.emplace_back();
    column.at(0).get_to(read.name);
    read.text = column.at(1).get<bool>();
    column.at(2).get_to(read.levels);
  }
  return schema;
}

// Sections "<name>.bytes" … of one set of rows, mixed into *hash too.
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
  Json json = {{"schema", JsonOf(schema)}, {"train", train.rows}};
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

absl::StatusOr<MlpData> ReadDense(const std::shared_ptr<const MappedFile>& file) {
  try {
    const auto meta = file->Array<uint8_t>("meta");
    const Json json = Json::from_ubjson(meta.begin(), meta.end());
    MlpData data;
    data.schema = SchemaOf(json.at("schema"));
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

}  // namespace winnow

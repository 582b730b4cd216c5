#include "trainers/mlp/data/model_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace winnow::mlp {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson TextJson(const std::string& text) {
  const OrderedJson json = text;
  try {
    (void)json.dump();
    return json;
  } catch (const OrderedJson::type_error&) {  // not UTF-8
    return std::vector<uint8_t>(text.begin(), text.end());
  }
}

std::string TextOf(const OrderedJson& json) {
  if (json.is_string()) return json.get<std::string>();
  const auto bytes = json.get<std::vector<uint8_t>>();
  return {bytes.begin(), bytes.end()};
}

OrderedJson TextsJson(const std::vector<std::string>& texts) {
  OrderedJson json = OrderedJson::array();
  for (const std::string& text : texts) json.push_back(TextJson(text));
  return json;
}

std::vector<std::string> TextsOf(const OrderedJson& json) {
  std::vector<std::string> texts;
  for (const OrderedJson& text : json.get<std::vector<OrderedJson>>()) texts.push_back(TextOf(text));
  return texts;
}

// A whole number in [0, 2^31). Throws as the library does.
int WholeAt(const OrderedJson& json, const char* name) {
  const OrderedJson& value = json.at(name);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > INT32_MAX)
    throw OrderedJson::other_error::create(0, fmt::format("{}: expected a whole number", name), &value);
  return value.get<int>();
}

// Returns the result of `read` on the JSON in `text`; converts the library's exceptions to a status.
template <typename Read>
auto Parsed(const std::string& text, Read read) -> absl::StatusOr<decltype(read(OrderedJson()))> {
  try {
    return read(OrderedJson::parse(text));
  } catch (const OrderedJson::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

absl::Status CheckScaling(const FeatureScaling& scaling, std::size_t entries) {
  if (scaling.mean.size() != entries || scaling.deviation.size() != entries)
    return absl::InvalidArgumentError(fmt::format("{} means and {} deviations: expected {}",
                                                  scaling.mean.size(), scaling.deviation.size(), entries));
  for (std::size_t i = 0; i < entries; ++i) {
    if (!std::isfinite(scaling.mean[i]) || !std::isfinite(scaling.deviation[i]) || scaling.deviation[i] <= 0)
      return absl::InvalidArgumentError(
          fmt::format("feature {}: mean {} and deviation {}", i, scaling.mean[i], scaling.deviation[i]));
  }
  return absl::OkStatus();
}

absl::Status CheckSchema(const FeatureSchema& schema) {
  const auto wrong = [&](const std::string& what, int64_t count) {
    return absl::InvalidArgumentError(fmt::format("{} {} for {} features", count, what, schema.features));
  };
  if (schema.features < 1) return absl::InvalidArgumentError("no features");
  const LabelScaling& labels = schema.label_scaling;
  if (!std::isfinite(labels.mean) || !std::isfinite(labels.deviation) || labels.deviation <= 0)
    return absl::InvalidArgumentError(
        fmt::format("labels: mean {} and deviation {}", labels.mean, labels.deviation));
  const int64_t pixels = static_cast<int64_t>(schema.image_rows) * schema.image_columns;
  if (pixels > 0 && pixels != schema.features) return wrong("pixels", pixels);
  if (schema.names.empty()) return CheckScaling(schema.scaling, 1);
  int64_t columns = 0;
  for (const ColumnSchema& column : schema.table.columns)
    columns += column.text && !column.categorical ? static_cast<int64_t>(column.levels.size()) : 1;
  if (columns != schema.features) return wrong("columns", columns);
  if (schema.names.size() != static_cast<std::size_t>(schema.features) || pixels > 0 || schema.of_bytes)
    return wrong("names", static_cast<int64_t>(schema.names.size()));
  return CheckScaling(schema.scaling, schema.names.size());
}

}  // namespace

std::string HyperparametersJson(const std::vector<std::pair<std::string, std::string>>& hyperparameters) {
  OrderedJson json = OrderedJson::object();
  for (const auto& [name, value] : hyperparameters) json[name] = value;
  return json.dump();
}

std::string ReadingJson(const DataOptions& reading) {
  return OrderedJson{
      {"label", TextJson(reading.label)},         {"drop", TextsJson(reading.drop)},
      {"weight", TextJson(reading.weight)},       {"group", TextJson(reading.group)},
      {"format", TextJson(reading.format)},       {"header", TextJson(reading.header)},
      {"separator", TextJson(reading.separator)}, {"max_levels", std::max(0, reading.max_levels)},
      {"categorical", reading.categorical}}
      .dump();
}

absl::StatusOr<DataOptions> ParseReading(const std::string& json) {
  return Parsed(json, [](const OrderedJson& document) {
    DataOptions reading;
    reading.label = TextOf(document.at("label"));
    reading.drop = TextsOf(document.at("drop"));
    reading.weight = TextOf(document.at("weight"));
    reading.group = TextOf(document.at("group"));
    reading.format = TextOf(document.at("format"));
    reading.header = TextOf(document.at("header"));
    reading.separator = TextOf(document.at("separator"));
    reading.max_levels = WholeAt(document, "max_levels");
    reading.categorical = document.at("categorical").get<bool>();
    return reading;
  });
}

std::string SchemaJson(const FeatureSchema& schema) {
  OrderedJson columns = OrderedJson::array();
  for (const ColumnSchema& column : schema.table.columns)
    columns.push_back({{"name", TextJson(column.name)},
                       {"text", column.text},
                       {"levels", TextsJson(column.levels)},
                       {"categorical", column.categorical}});
  OrderedJson json{{"features", schema.features},
                   {"names", TextsJson(schema.names)},
                   {"image_rows", schema.image_rows},
                   {"image_columns", schema.image_columns},
                   {"of_bytes", schema.of_bytes},
                   {"columns", std::move(columns)},
                   {"table_label_levels", TextsJson(schema.table.label_levels)},
                   {"label_levels", TextsJson(schema.label_levels)},
                   {"mean", schema.scaling.mean},
                   {"deviation", schema.scaling.deviation}};
  if (schema.label_scaling.scales()) {
    json["label_mean"] = schema.label_scaling.mean;
    json["label_deviation"] = schema.label_scaling.deviation;
  }
  return json.dump();
}

absl::StatusOr<FeatureSchema> ParseSchema(const std::string& json) {
  absl::StatusOr<FeatureSchema> schema = Parsed(json, [](const OrderedJson& document) {
    FeatureSchema read;
    read.features = WholeAt(document, "features");
    read.names = TextsOf(document.at("names"));
    read.image_rows = WholeAt(document, "image_rows");
    read.image_columns = WholeAt(document, "image_columns");
    read.of_bytes = document.at("of_bytes").get<bool>();
    for (const OrderedJson& column : document.at("columns").get<std::vector<OrderedJson>>())
      read.table.columns.push_back({TextOf(column.at("name")), column.at("text").get<bool>(),
                                    TextsOf(column.at("levels")), column.at("categorical").get<bool>()});
    read.table.label_levels = TextsOf(document.at("table_label_levels"));
    read.label_levels = TextsOf(document.at("label_levels"));
    read.scaling.mean = document.at("mean").get<std::vector<float>>();
    read.scaling.deviation = document.at("deviation").get<std::vector<float>>();
    if (document.contains("label_mean"))
      read.label_scaling = {document.at("label_mean").get<float>(),
                            document.at("label_deviation").get<float>()};
    return read;
  });
  if (!schema.ok()) return schema;
  if (absl::Status status = CheckSchema(*schema); !status.ok()) return status;
  return schema;
}

}  // namespace winnow::mlp

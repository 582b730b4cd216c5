#include "trainers/gbdt/model/model_extras.h"

#include <fmt/format.h>

namespace winnow::gbdt {
namespace {

constexpr int64_t kVersion = 2;

Document TextsDocument(const std::vector<std::string>& texts) {
  std::vector<Document> items;
  for (const std::string& text : texts) items.push_back(Document::Text(text));
  return Document::Array(std::move(items));
}

Document ReadingDocument(const DataOptions& reading) {
  return Document::Object()
      .With("label", Document::Text(reading.label))
      .With("drop", TextsDocument(reading.drop))
      .With("weight", Document::Text(reading.weight))
      .With("group", Document::Text(reading.group))
      .With("format", Document::Text(reading.format))
      .With("header", Document::Text(reading.header))
      .With("separator", Document::Text(reading.separator))
      .With("max_levels", Document::Whole(reading.max_levels))
      .With("categorical", Document::Whole(reading.categorical));
}

Document SchemaDocument(const DataSchema& schema) {
  std::vector<Document> columns;
  for (const ColumnSchema& column : schema.columns)
    columns.push_back(Document::Object()
                          .With("name", Document::Text(column.name))
                          .With("text", Document::Whole(column.text))
                          .With("levels", TextsDocument(column.levels))
                          .With("categorical", Document::Whole(column.categorical)));
  return Document::Object()
      .With("columns", Document::Array(std::move(columns)))
      .With("label_levels", TextsDocument(schema.label_levels));
}

Document HyperparametersDocument(const std::map<std::string, std::string>& values) {
  Document object = Document::Object();
  for (const auto& [name, value] : values) object.members.emplace(name, Document::Text(value));
  return object;
}

// 0 where it is absent.
bool IsSet(const Document& document, const char* name) {
  return document.Find(name) != nullptr && document.WholeAt(name) != 0;
}

}  // namespace

bool ModelExtras::Fit(const Model& model) const {
  std::size_t features = 0;
  for (const ColumnSchema& column : schema.columns)
    features += column.text && !column.categorical ? column.levels.size() : 1;
  return features == model.feature_names.size();
}

std::string HyperparametersText(const std::map<std::string, std::string>& values) {
  return JsonText(HyperparametersDocument(values));
}

std::string ExtrasText(const Model& model) {
  std::string text =
      JsonText(Document::Object()
                   .With("version", Document::Whole(kVersion))
                   .With("best_round", Document::Whole(model.best_round))
                   .With("hyperparameters", HyperparametersDocument(ModelHyperparameters(model.parameters)))
                   .With("reading", ReadingDocument(model.reading))
                   .With("schema", SchemaDocument(model.schema)));
  text.pop_back();  // the end of line
  return text;
}

ModelExtras ReadExtras(const std::string& text) {
  const Document document = ParseJsonDocument(text);
  if (const int64_t version = document.WholeAt("version"); version != kVersion)
    throw MalformedDocument(
        fmt::format("attribute winnow: version {}: this program reads version {}", version, kVersion));
  ModelExtras extras;
  for (const auto& [name, value] : document.At("hyperparameters").members)
    extras.hyperparameters[name] = document.At("hyperparameters").TextAt(name);
  extras.base_score_estimated = extras.hyperparameters["base_score"] == "estimated";
  extras.reading = ReadReading(document.At("reading"));
  extras.schema = ReadSchema(document.At("schema"));
  extras.best_round = document.WholeAt("best_round");
  if (extras.best_round < -1) throw MalformedDocument(fmt::format("best_round {}", extras.best_round));
  return extras;
}

DataOptions ReadReading(const Document& document) {
  DataOptions reading;
  reading.label = document.TextAt("label");
  reading.drop = document.TextsAt("drop");
  reading.weight = document.TextAt("weight");
  if (document.Find("group") != nullptr) reading.group = document.TextAt("group");
  reading.format = document.TextAt("format");
  reading.header = document.TextAt("header");
  reading.separator = document.TextAt("separator");
  reading.max_levels = static_cast<int>(std::clamp<int64_t>(document.WholeAt("max_levels"), 0, 1 << 30));
  reading.categorical = IsSet(document, "categorical");
  return reading;
}

DataSchema ReadSchema(const Document& document) {
  DataSchema schema;
  for (const Document& column : document.ItemsAt("columns"))
    schema.columns.push_back({column.TextAt("name"), IsSet(column, "text"), column.TextsAt("levels"),
                              IsSet(column, "categorical")});
  schema.label_levels = document.TextsAt("label_levels");
  return schema;
}

}  // namespace winnow::gbdt

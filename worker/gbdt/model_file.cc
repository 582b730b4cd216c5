#include "worker/gbdt/model_file.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "worker/gbdt/status_text.h"

namespace winnow {
namespace {

// JSON whose numbers are floats: written in the fewest digits that bring the same float back, and read as
// one.
using Json = nlohmann::basic_json<std::map, std::vector, std::string, bool, int64_t, uint64_t, float>;

constexpr const char* kModelFormat = "winnow-gbdt-model";
constexpr const char* kCheckpointFormat = "winnow-gbdt-checkpoint";
constexpr int kVersion = 1;

absl::Status Malformed(const std::string& what) { return absl::InvalidArgumentError("malformed: " + what); }

// Names need not be UTF-8; what is not is replaced.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json SchemaJson(const DataSchema& schema) {
  Json columns = Json::array();
  for (const ColumnSchema& column : schema.columns)
    columns.push_back({{"name", column.name}, {"text", column.text}, {"levels", column.levels}});
  return {{"columns", columns}, {"label_levels", schema.label_levels}};
}

Json ReadingJson(const DataOptions& reading) {
  return {{"label", reading.label},          {"drop", reading.drop},     {"weight", reading.weight},
          {"format", reading.format},        {"header", reading.header}, {"separator", reading.separator},
          {"max_levels", reading.max_levels}};
}

Json TreeJson(const Tree& tree) {
  std::vector<int32_t> feature, left, missing_left;
  std::vector<float> threshold, value, gain, cover;
  for (const Tree::Node& node : tree.nodes) {
    feature.push_back(node.feature);
    left.push_back(node.left);
    missing_left.push_back(node.missing_left);
    threshold.push_back(node.threshold);
    value.push_back(node.value);
    gain.push_back(node.gain);
    cover.push_back(node.cover);
  }
  return {{"feature", feature},     {"left", left},   {"missing_left", missing_left},
          {"threshold", threshold}, {"value", value}, {"gain", gain},
          {"cover", cover}};
}

Json ModelJson(const GbdtModel& model) {
  Json trees = Json::array();
  for (const Tree& tree : model.trees) trees.push_back(TreeJson(tree));
  return {{"format", kModelFormat},
          {"version", kVersion},
          {"hyperparameters", ModelHyperparameters(model.parameters)},
          {"best_round", model.best_round},
          {"reading", ReadingJson(model.reading)},
          {"schema", SchemaJson(model.schema)},
          {"features", model.feature_names},
          {"trees", trees}};
}

// REQUIRES for all Read functions: the caller catches nlohmann's exceptions (a member absent or of another
// type).
absl::StatusOr<Tree> ReadTree(const Json& json, std::size_t features) {
  const auto feature = json.at("feature").get<std::vector<int32_t>>();
  const auto left = json.at("left").get<std::vector<int32_t>>();
  const auto missing_left = json.at("missing_left").get<std::vector<int32_t>>();
  const auto threshold = json.at("threshold").get<std::vector<float>>();
  const auto value = json.at("value").get<std::vector<float>>();
  const auto gain = json.at("gain").get<std::vector<float>>();
  const auto cover = json.at("cover").get<std::vector<float>>();
  const std::size_t size = feature.size();
  for (std::size_t other :
       {left.size(), missing_left.size(), threshold.size(), value.size(), gain.size(), cover.size()})
    if (size == 0 || other != size) return Malformed("a tree's lists differ in length or are empty");
  Tree tree;
  for (std::size_t i = 0; i < size; ++i) {
    if (feature[i] < -1 || (feature[i] >= 0 && static_cast<std::size_t>(feature[i]) >= features))
      return Malformed(fmt::format("a tree asks for feature {} of {}", feature[i], features));
    const auto child = static_cast<int64_t>(left[i]);
    if (feature[i] >= 0 && (child <= static_cast<int64_t>(i) || child + 1 >= static_cast<int64_t>(size)))
      return Malformed(fmt::format("node {} of a tree has child {}, which is not there", i, child));
    tree.nodes.push_back(
        {feature[i], left[i], threshold[i], missing_left[i] != 0, value[i], gain[i], cover[i]});
  }
  return tree;
}

absl::StatusOr<GbdtModel> ReadModelJson(const Json& json) {
  if (!json.is_object() || json.value("format", "") != kModelFormat)
    return absl::InvalidArgumentError("this is not a model of winnow-gbdt");
  if (const int version = json.at("version").get<int>(); version != kVersion)
    return absl::InvalidArgumentError(
        fmt::format("version {}: this program reads version {}", version, kVersion));
  GbdtModel model;
  std::vector<std::string> warnings;
  absl::StatusOr<GbdtParameters> parameters =
      ParseHyperparameters(json.at("hyperparameters").dump(), &warnings);
  if (!parameters.ok()) return Malformed(MessageOf(parameters.status()));
  model.parameters = *parameters;
  const Json& reading = json.at("reading");
  model.reading = {
      reading.at("label").get<std::string>(),  reading.at("drop").get<std::vector<std::string>>(),
      reading.at("weight").get<std::string>(), reading.at("format").get<std::string>(),
      reading.at("header").get<std::string>(), reading.at("separator").get<std::string>(),
      reading.at("max_levels").get<int>()};
  for (const Json& column : json.at("schema").at("columns"))
    model.schema.columns.push_back({column.at("name").get<std::string>(), column.at("text").get<bool>(),
                                    column.at("levels").get<std::vector<std::string>>()});
  model.schema.label_levels = json.at("schema").at("label_levels").get<std::vector<std::string>>();
  model.feature_names = json.at("features").get<std::vector<std::string>>();
  for (const Json& entry : json.at("trees")) {
    absl::StatusOr<Tree> tree = ReadTree(entry, model.feature_names.size());
    if (!tree.ok()) return tree.status();
    model.trees.push_back(*std::move(tree));
  }
  if (model.trees.size() % model.parameters.classes() != 0)
    return Malformed(fmt::format("{} trees for {} classes", model.trees.size(), model.parameters.classes()));
  model.best_round = json.at("best_round").get<int64_t>();
  if (model.best_round < -1 || model.best_round >= model.rounds())
    return Malformed(fmt::format("best_round {} of {} rounds", model.best_round, model.rounds()));
  return model;
}

absl::StatusOr<GbdtCheckpoint> ReadCheckpointJson(const Json& json) {
  if (!json.is_object() || json.value("format", "") != kCheckpointFormat)
    return absl::InvalidArgumentError("this is not a checkpoint of winnow-gbdt");
  if (const int version = json.at("version").get<int>(); version != kVersion)
    return absl::InvalidArgumentError(
        fmt::format("version {}: this program reads version {}", version, kVersion));
  GbdtCheckpoint checkpoint;
  absl::StatusOr<GbdtModel> model = ReadModelJson(json.at("model"));
  if (!model.ok()) return model.status();
  checkpoint.model = *std::move(model);
  checkpoint.data_fingerprint = json.at("data_fingerprint").get<uint64_t>();
  checkpoint.metric_names = json.at("metrics").get<std::vector<std::string>>();
  checkpoint.stopped_early = json.at("stopped_early").get<bool>();
  for (const Json& round : json.at("history")) {
    std::vector<float>& values = checkpoint.history.emplace_back();
    for (const Json& value : round)  // JSON has no NaN: null stands for it
      values.push_back(value.is_null() ? std::nanf("") : value.get<float>());
    if (values.size() != checkpoint.metric_names.size())
      return Malformed("a round of the history has not one value for each metric");
  }
  if (static_cast<int64_t>(checkpoint.history.size()) != checkpoint.model.rounds())
    return Malformed(fmt::format("{} rounds of history for {} rounds", checkpoint.history.size(),
                                 checkpoint.model.rounds()));
  return checkpoint;
}

}  // namespace

std::string ModelText(const GbdtModel& model) { return Dump(ModelJson(model)); }

absl::StatusOr<GbdtModel> ParseModel(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Malformed("not JSON, or cut short");
  try {
    return ReadModelJson(json);
  } catch (const nlohmann::detail::exception& error) {
    return Malformed(error.what());
  }
}

std::string CheckpointText(const GbdtCheckpoint& checkpoint) {
  const Json json = {{"format", kCheckpointFormat},
                     {"version", kVersion},
                     {"model", ModelJson(checkpoint.model)},
                     {"data_fingerprint", checkpoint.data_fingerprint},
                     {"metrics", checkpoint.metric_names},
                     {"history", checkpoint.history},
                     {"stopped_early", checkpoint.stopped_early}};
  return Dump(json);
}

absl::StatusOr<GbdtCheckpoint> ParseCheckpoint(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Malformed("not JSON, or cut short");
  try {
    return ReadCheckpointJson(json);
  } catch (const nlohmann::detail::exception& error) {
    return Malformed(error.what());
  }
}

}  // namespace winnow

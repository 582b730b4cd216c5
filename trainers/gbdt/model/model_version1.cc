#include "trainers/gbdt/model/model_version1.h"

#include <fmt/format.h>

#include "base/status_text.h"
#include "trainers/gbdt/model/model_extras.h"

namespace winnow::gbdt {
namespace {

Tree ReadTree(const Document& document, std::size_t features) {
  const auto feature = document.NumbersAt<int32_t>("feature");
  const auto left = document.NumbersAt<int32_t>("left");
  const auto missing_left = document.NumbersAt<int32_t>("missing_left");
  const auto threshold = document.NumbersAt<float>("threshold");
  const auto value = document.NumbersAt<float>("value");
  const auto gain = document.NumbersAt<float>("gain");
  const auto cover = document.NumbersAt<float>("cover");
  const std::size_t size = feature.size();
  for (std::size_t other :
       {left.size(), missing_left.size(), threshold.size(), value.size(), gain.size(), cover.size()}) {
    if (size == 0 || other != size) throw MalformedDocument("a tree's lists differ in length or are empty");
  }
  Tree tree;
  for (std::size_t i = 0; i < size; ++i) {
    if (feature[i] < -1 || (feature[i] >= 0 && static_cast<std::size_t>(feature[i]) >= features))
      throw MalformedDocument(fmt::format("a tree asks for feature {} of {}", feature[i], features));
    const auto child = static_cast<int64_t>(left[i]);
    if (feature[i] >= 0 && (child <= static_cast<int64_t>(i) || child + 1 >= static_cast<int64_t>(size)))
      throw MalformedDocument(fmt::format("node {} of a tree has child {}, which is not there", i, child));
    Tree::Node& node = tree.nodes.emplace_back();
    node.feature = feature[i];
    node.left = left[i];
    node.threshold = threshold[i];
    node.missing_left = missing_left[i] != 0;
    node.value = value[i];
    node.gain = gain[i];
    node.cover = cover[i];
  }
  return tree;
}

}  // namespace

GbdtModel ReadVersion1Model(const Document& document) {
  if (const int64_t version = document.WholeAt("version"); version != 1)
    throw MalformedDocument(fmt::format("version {}: this program reads version 1 of this format", version));
  GbdtModel model;
  std::map<std::string, std::string> values;
  for (const auto& [name, value] : document.At("hyperparameters").members)
    values[name] = document.At("hyperparameters").TextAt(name);
  std::vector<std::string> warnings;
  absl::StatusOr<GbdtParameters> parameters = ParseHyperparameters(HyperparametersText(values), &warnings);
  if (!parameters.ok()) throw MalformedDocument(MessageOf(parameters.status()));
  model.parameters = *std::move(parameters);
  model.reading = ReadReading(document.At("reading"));
  model.schema = ReadSchema(document.At("schema"));
  model.feature_names = document.TextsAt("features");
  for (const Document& tree : document.ItemsAt("trees"))
    model.trees.push_back(ReadTree(tree, model.feature_names.size()));
  if (static_cast<int64_t>(model.trees.size()) % model.trees_per_round() != 0)
    throw MalformedDocument(
        fmt::format("{} trees: expected {} for each round", model.trees.size(), model.trees_per_round()));
  model.best_round = document.WholeAt("best_round");
  if (model.best_round < -1 || model.best_round >= model.rounds())
    throw MalformedDocument(fmt::format("best_round {} of {} rounds", model.best_round, model.rounds()));
  return model;
}

}  // namespace winnow::gbdt

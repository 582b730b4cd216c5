#include <yaml-cpp/yaml.h>

#include <cstdint>

#include "cli/imports/imported_job.h"

namespace winnow::cli::imports {
namespace {

constexpr int kMostDepth = 50;
constexpr int64_t kMostNodes = 100'000;  // an alias within an alias could be endless

struct TooMuch {};

OrderedJson FromScalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  const OrderedJson number = OrderedJson::parse(text, nullptr, false);
  if (number.is_number()) return number;
  double value = 0;
  if (!text.empty() && text.find_first_not_of("0123456789+-.eE") == std::string::npos &&
      NumberOf(text, value))
    return value;
  return text;
}

OrderedJson FromNode(const YAML::Node& node, int depth, int64_t& nodes) {
  if (depth > kMostDepth || ++nodes > kMostNodes) throw TooMuch();
  switch (node.Type()) {
    case YAML::NodeType::Map: {
      OrderedJson object = OrderedJson::object();
      for (const auto& each : node) object[each.first.Scalar()] = FromNode(each.second, depth + 1, nodes);
      return object;
    }
    case YAML::NodeType::Sequence: {
      OrderedJson list = OrderedJson::array();
      for (const YAML::Node& each : node) list.push_back(FromNode(each, depth + 1, nodes));
      return list;
    }
    case YAML::NodeType::Scalar:
      return FromScalar(node);
    default:
      return nullptr;
  }
}

}  // namespace

absl::StatusOr<OrderedJson> ReadYaml(const std::string& text) {
  OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (!json.is_discarded()) return json;
  try {
    int64_t nodes = 0;
    return FromNode(YAML::Load(text), 0, nodes);
  } catch (const YAML::Exception& exception) {
    return absl::InvalidArgumentError(std::string("it is neither JSON nor YAML: ") + exception.what());
  } catch (const TooMuch&) {
    return absl::InvalidArgumentError("it is nested too deeply, or has too many values");
  }
}

}  // namespace winnow::cli::imports

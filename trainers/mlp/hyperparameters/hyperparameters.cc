#include "trainers/mlp/hyperparameters/hyperparameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "trainers/common/hyperparameter_text.h"
#include "trainers/mlp/hyperparameters/hyperparameter_checks.h"
#include "trainers/mlp/hyperparameters/hyperparameter_tables.h"

namespace winnow::mlp {
namespace {

using Json = nlohmann::json;

constexpr const char* kNumLayers = "num_layers";
constexpr const char* kLayerWidth = "layer_width";
constexpr int64_t kDefaultLayers = 2, kDefaultWidth = 128;  // where only the other of the two is given

// num_layers and layer_width, until both are known.
struct Rectangle {
  std::optional<int64_t> layers, width;
};

// The entries of a JSON list, or of a string with commas between or that holds a JSON list.
std::optional<std::vector<Json>> AsList(const Json& value) {
  Json list = value;
  if (value.is_string()) {
    const std::string text = Trimmed(value.get<std::string>());
    if (!text.empty() && text.front() == '[') {
      list = Json::parse(text, nullptr, false);
    } else {
      list = Json::array();
      for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        list.push_back(Trimmed(std::string_view(text).substr(from, comma - from)));
        from = comma + 1;
      }
    }
  }
  if (list.is_number()) list = Json::array({list});
  if (!list.is_array()) return std::nullopt;
  return list.get<std::vector<Json>>();
}

absl::Status ReadLayers(const Json& value, std::vector<int>* layers) {
  const std::string expected = fmt::format("1 to {} widths, each a whole number in [1, {}], as \"256,128\"",
                                           kMostLayers, kMostLayerWidth);
  const auto list = AsList(value);
  if (!list || list->empty() || list->size() > kMostLayers) return BadValue("hidden_layers", value, expected);
  layers->clear();
  for (const Json& entry : *list) {
    const std::optional<int64_t> width = AsWhole(entry);
    if (!width || *width < 1 || *width > kMostLayerWidth) return BadValue("hidden_layers", value, expected);
    layers->push_back(static_cast<int>(*width));
  }
  return absl::OkStatus();
}

absl::Status ReadMetricNames(const Json& value, std::vector<std::string>* metrics) {
  constexpr const char* kExpected = "names with commas between, or a JSON list of names";
  const auto list = AsList(value);
  if (!list || list->empty()) return BadValue("eval_metric", value, kExpected);
  for (const Json& entry : *list) {
    if (!entry.is_string()) return BadValue("eval_metric", value, kExpected);
    const std::string name = Trimmed(entry.get<std::string>());
    if (std::find(metrics->begin(), metrics->end(), name) == metrics->end()) metrics->push_back(name);
  }
  return absl::OkStatus();
}

absl::Status ReadReal(const MlpReal& known, const Json& value, MlpParameters* p) {
  const std::optional<double> real = AsReal(value);
  const bool inside = real && std::isfinite(*real) &&
                      (known.low_open ? *real > known.low : *real >= known.low) &&
                      (known.high_open ? *real < known.high : *real <= known.high);
  if (!inside)
    return BadValue(known.name, value,
                    fmt::format("a number in {}{}, {}{}", known.low_open ? "(" : "[", known.low, known.high,
                                known.high_open ? ")" : "]"));
  p->*known.field = *real;
  return absl::OkStatus();
}

absl::Status ReadWhole(const char* name, const Json& value, int64_t low, int64_t high, int64_t* whole) {
  const std::optional<int64_t> read = AsWhole(value);
  if (!read || *read < low || *read > high)
    return BadValue(name, value, fmt::format("a whole number in [{}, {}]", low, high));
  *whole = *read;
  return absl::OkStatus();
}

absl::Status ReadChoice(const MlpChoice& known, const Json& value, MlpParameters* p) {
  const std::string text = Lowercase(Trimmed(Shown(value)));
  for (const MlpWord& word : known.words) {
    if (Lowercase(word.word) != text) continue;
    known.set(p, word.value);
    return absl::OkStatus();
  }
  return BadValue(known.name, value, "one of " + WordsOf(known));
}

std::vector<std::string> AllNames() {
  std::vector<std::string> names = {"hidden_layers", kNumLayers, kLayerWidth, "teacher", "eval_metric"};
  for (const MlpReal& known : MlpReals()) names.emplace_back(known.name);
  for (const MlpWhole& known : MlpWholes()) names.emplace_back(known.name);
  for (const MlpTruth& known : MlpTruths()) names.emplace_back(known.name);
  for (const MlpChoice& known : MlpChoices()) names.emplace_back(known.name);
  return names;
}

// The known name that shares most neighbouring pairs of letters with `name` (Dice's coefficient).
std::string NearestName(const std::string& name) {
  const auto pairs = [](const std::string& text) {
    std::multiset<std::string> all;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) all.insert(text.substr(i, 2));
    return all;
  };
  const std::multiset<std::string> own = pairs(name);
  std::string nearest;
  double best = -1;
  for (const std::string& known : AllNames()) {
    const std::multiset<std::string> other = pairs(known);
    std::vector<std::string> common;
    std::set_intersection(own.begin(), own.end(), other.begin(), other.end(), std::back_inserter(common));
    const double share =
        2.0 * static_cast<double>(common.size()) / static_cast<double>(own.size() + other.size());
    if (share > best) {
      best = share;
      nearest = known;
    }
  }
  return nearest;
}

absl::Status ReadOne(const std::string& name, const Json& value, MlpParameters* p, Rectangle* rectangle) {
  for (const MlpReal& known : MlpReals()) {
    if (name == known.name) return ReadReal(known, value, p);
  }
  int64_t whole = 0;
  for (const MlpWhole& known : MlpWholes()) {
    if (name != known.name) continue;
    if (absl::Status status = ReadWhole(known.name, value, known.low, known.high, &whole); !status.ok())
      return status;
    known.set(p, whole);
    if (name == "seed") p->seed_given = true;
    return absl::OkStatus();
  }
  for (const MlpTruth& known : MlpTruths()) {
    if (name != known.name) continue;
    const std::optional<bool> truth = AsTruth(Lowercase(Shown(value)));
    if (!truth) return BadValue(name, value, "true or false");
    p->*known.field = *truth;
    return absl::OkStatus();
  }
  for (const MlpChoice& known : MlpChoices()) {
    if (name == known.name) return ReadChoice(known, value, p);
  }
  if (name == "hidden_layers") return ReadLayers(value, &p->hidden_layers);
  if (name == kNumLayers || name == kLayerWidth) {
    const bool layers = name == kNumLayers;
    if (absl::Status status = ReadWhole(layers ? kNumLayers : kLayerWidth, value, 1,
                                        layers ? kMostLayers : kMostLayerWidth, &whole);
        !status.ok())
      return status;
    (layers ? rectangle->layers : rectangle->width) = whole;
    return absl::OkStatus();
  }
  if (name == "eval_metric") return ReadMetricNames(value, &p->metrics);
  if (name == "teacher") {
    if (!value.is_string()) return BadValue(name, value, "the path of a model file");
    p->teacher = value.get<std::string>();
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("unknown hyperparameter {}; did you mean {}?", name, NearestName(name)));
}

}  // namespace

absl::StatusOr<MlpParameters> ParseMlpHyperparameters(const std::string& json,
                                                      std::vector<std::string>* warnings) {
  const Json object = Json::parse(json, nullptr, false);
  if (object.is_discarded()) return absl::InvalidArgumentError("hyperparameters: this is not valid JSON");
  if (!object.is_object())
    return absl::InvalidArgumentError("hyperparameters: expected a JSON object of names and values");
  MlpParameters parameters;
  Rectangle rectangle;
  std::set<std::string> given;
  for (const auto& [as_given, value] : object.items()) {
    const std::string name = FirstMlpName(as_given);
    if (!given.insert(name).second)
      return absl::InvalidArgumentError(
          fmt::format("hyperparameter {} is given twice, by its two names", name));
    if (absl::Status status = ReadOne(name, value, &parameters, &rectangle); !status.ok()) return status;
  }
  if (rectangle.layers || rectangle.width) {
    if (given.count("hidden_layers") > 0)
      return absl::InvalidArgumentError(
          "hyperparameters hidden_layers and num_layers or layer_width: expected one of the two ways");
    parameters.hidden_layers.assign(static_cast<std::size_t>(rectangle.layers.value_or(kDefaultLayers)),
                                    static_cast<int>(rectangle.width.value_or(kDefaultWidth)));
  }
  if (absl::Status status = CheckMlpTogether(parameters, given); !status.ok()) return status;
  for (std::string& warning : MlpWarnings(parameters, given)) warnings->push_back(std::move(warning));
  return parameters;
}

std::vector<std::pair<std::string, std::string>> ModelHyperparameters(const MlpParameters& parameters) {
  std::vector<std::pair<std::string, std::string>> values;
  values.emplace_back("hidden_layers", fmt::format("{}", fmt::join(parameters.hidden_layers, ",")));
  for (const MlpChoice& known : MlpChoices())
    values.emplace_back(known.name, WordOf(known, known.get(parameters)));
  for (const MlpReal& known : MlpReals())
    values.emplace_back(known.name, fmt::format("{}", parameters.*known.field));
  for (const MlpWhole& known : MlpWholes())
    values.emplace_back(known.name, fmt::format("{}", known.get(parameters)));
  for (const MlpTruth& known : MlpTruths())
    values.emplace_back(known.name, parameters.*known.field ? "true" : "false");
  values.emplace_back("teacher", parameters.teacher);
  if (!parameters.metrics.empty())
    values.emplace_back("eval_metric", fmt::format("{}", fmt::join(parameters.metrics, ",")));
  const bool ends = parameters.schedule == ScheduleKind::kCosine;
  std::erase_if(values, [ends](const auto& entry) {
    return entry.first == "nthread" || entry.first == "profile" || (entry.first == "epochs" && !ends);
  });
  return values;
}

}  // namespace winnow::mlp

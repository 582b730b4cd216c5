#include "trainers/hyperparameters/json_object.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/names.h"

namespace winnow {

using Json = nlohmann::json;

namespace {

// InvalidArgument if the text is not JSON, with line and column, has a number that is too large, or a name of
// the outermost object twice.
absl::StatusOr<Json> ParsedJson(const std::string& text) {
  std::set<std::string> names;
  std::optional<std::string> twice;
  const auto note_name = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::key && !names.insert(parsed).second && !twice)
      twice = parsed.get<std::string>();
    return true;
  };
  try {
    Json parsed = Json::parse(text, note_name);
    if (twice) return absl::InvalidArgumentError(fmt::format("hyperparameter {} is given twice", *twice));
    return parsed;
  } catch (const Json::parse_error& error) {
    const std::string_view what = error.what();
    const std::size_t line = what.find("line ");
    return absl::InvalidArgumentError(fmt::format("hyperparameters: this is not valid JSON: {}",
                                                  what.substr(line == std::string_view::npos ? 0 : line)));
  } catch (const Json::out_of_range& error) {
    const std::string_view what = error.what();  // "[…] number overflow parsing '1e999'"
    return absl::InvalidArgumentError(
        fmt::format("hyperparameters: {}; expected numbers up to 1.8e308", what.substr(what.find("] ") + 2)));
  }
}

}  // namespace

absl::StatusOr<GivenValues> ReadHyperparameters(const Declaration& declaration, const std::string& json) {
  const absl::StatusOr<Json> object = ParsedJson(json);
  if (!object.ok()) return object.status();
  if (!object->is_object())
    return absl::InvalidArgumentError("hyperparameters: expected a JSON object of names and values");
  GivenValues values;
  for (const auto& [given, value] : object->items()) {
    const Hyperparameter* known = declaration.Find(given);
    if (known == nullptr)
      return absl::InvalidArgumentError(
          fmt::format("unknown hyperparameter {}{}", given, DidYouMean(given, declaration.Names())));
    const auto& [entry, is_new] = values.try_emplace(std::string(known->name), given, value);
    if (!is_new)
      return absl::InvalidArgumentError(fmt::format("hyperparameter {} is given twice, as {} and as {}",
                                                    known->name, entry->second.name, given));
  }
  return values;
}

Given TextsOf(const GivenValues& values) {
  Given given;
  for (const auto& [first_name, one] : values) given.values[first_name] = Shown(one.value);
  return given;
}

std::string Shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

absl::Status BadValue(const GivenValue& given, const std::string& expected) {
  return absl::InvalidArgumentError(
      fmt::format("hyperparameter {} = {}: expected {}", given.name, Shown(given.value), expected));
}

absl::Status CheckTogether(const Declaration& declaration, const GivenValues& values) {
  const std::vector<Contradiction> found = declaration.contradictions(TextsOf(values));
  if (found.empty()) return absl::OkStatus();
  const Contradiction& first = found.front();
  const auto given = values.find(first.name);
  return BadValue({given == values.end() ? first.name : given->second.name,
                   first.value.value_or(declaration.DefaultOf(first.name))},
                  first.expected);
}

}  // namespace winnow

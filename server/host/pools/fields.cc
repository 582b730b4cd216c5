#include "server/host/pools/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/read_file.h"
#include "base/status_text.h"

namespace winnow {
namespace {

constexpr size_t kMostShown = 60;  // characters of a wrong value

std::string Shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > kMostShown) text = text.substr(0, kMostShown) + "…";
  return text;
}

}  // namespace

absl::StatusOr<nlohmann::json> ReadJsonFile(const std::string& file) {
  const absl::StatusOr<std::string> text = ReadFile(file);
  if (!text.ok())
    return absl::InvalidArgumentError(fmt::format("{} cannot be read: {}", file, MessageOf(text.status())));
  try {
    return nlohmann::json::parse(*text, nullptr, true, true);
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(fmt::format("{} is not JSON: {}", file, error.what()));
  }
}

absl::Status ProblemsOf(const std::string& file, const std::vector<std::string>& problems) {
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{} has {}:\n  {}", file, problems.size() == 1 ? "an error" : "errors", fmt::join(problems, "\n  ")));
}

Fields::Fields(const nlohmann::json& object, std::string path, std::vector<std::string>& problems)
    : object_(object), path_(std::move(path)), problems_(problems) {
  if (!object_.is_object())
    problems_.push_back(fmt::format("{}: is {}; expected an object", path_, Shown(object_)));
}

bool Fields::Has(const char* name) const { return object_.is_object() && object_.contains(name); }

std::string Fields::PathOf(const char* name) const { return path_.empty() ? name : path_ + "." + name; }

void Fields::Problem(const char* name, const std::string& problem) {
  problems_.push_back(fmt::format("{}: {}", PathOf(name), problem));
}

const nlohmann::json* Fields::Find(const char* name) {
  asked_.insert(name);
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

int64_t Fields::Int(const char* name, int64_t otherwise, int64_t least, int64_t most) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return otherwise;
  const bool fits = value->is_number_integer() &&
                    !(value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX) &&
                    value->get<int64_t>() >= least && value->get<int64_t>() <= most;
  if (fits) return value->get<int64_t>();
  Problem(name, fmt::format("is {}; expected a whole number from {} to {}", Shown(*value), least, most));
  return otherwise;
}

double Fields::Real(const char* name, double otherwise, double least, double most) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->is_number() && value->get<double>() >= least && value->get<double>() <= most)
    return value->get<double>();
  Problem(name, fmt::format("is {}; expected a number from {} to {}", Shown(*value), least, most));
  return otherwise;
}

bool Fields::Bool(const char* name, bool otherwise) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  Problem(name, fmt::format("is {}; expected true or false", Shown(*value)));
  return otherwise;
}

std::string Fields::Text(const char* name, const std::string& otherwise) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  Problem(name, fmt::format("is {}; expected a string", Shown(*value)));
  return otherwise;
}

std::vector<std::string> Fields::Texts(const char* name) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return {};
  std::vector<std::string> texts;
  bool good = value->is_array();
  for (size_t i = 0; good && i < value->size(); ++i) {
    good = (*value)[i].is_string();
    if (good) texts.push_back((*value)[i].get<std::string>());
  }
  if (good) return texts;
  Problem(name, fmt::format("is {}; expected a list of strings", Shown(*value)));
  return {};
}

std::map<std::string, std::string> Fields::TextMap(const char* name) {
  const nlohmann::json* value = Find(name);
  std::map<std::string, std::string> texts;
  if (value == nullptr) return texts;
  bool good = value->is_object();
  if (good) {
    for (const auto& [key, text] : value->items()) {
      if (!text.is_string()) {
        good = false;
        break;
      }
      texts[key] = text.get<std::string>();
    }
  }
  if (good) return texts;
  Problem(name, fmt::format("is {}; expected an object of strings", Shown(*value)));
  return {};
}

nlohmann::json Fields::Object(const char* name) {
  const nlohmann::json* value = Find(name);
  return value == nullptr ? nlohmann::json::object() : *value;
}

void Fields::Done() {
  if (!object_.is_object()) return;
  for (const auto& [name, value] : object_.items()) {
    if (asked_.contains(name)) continue;
    std::string known;
    for (const std::string& other : asked_) known += (known.empty() ? "" : ", ") + other;
    problems_.push_back(fmt::format("{}: is not a field; expected one of {}", PathOf(name.c_str()), known));
  }
}

}  // namespace winnow

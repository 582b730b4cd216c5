#include "trainers/common/contract.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace winnow {
namespace {

using Json = nlohmann::json;

constexpr const char* kDataConfig = "SM_INPUT_DATA_CONFIG";

// A non-negative whole number; `otherwise` if the variable is absent or empty.
absl::StatusOr<int64_t> WholeFrom(const EnvironmentReader& environment, const char* name, int64_t otherwise) {
  const std::string text = ValueOf(environment, name);
  if (text.empty()) return otherwise;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    return absl::InvalidArgumentError(
        fmt::format("{} = {}: expected a whole number from 0 to 2^63 - 1", name, text));
  return value;
}

// Reads the members of one channel's declaration, under their proto names or in proto3 JSON's camel case.
// Absent members, and those at proto3's zero, leave the field unchanged.
class ChannelReader {
 public:
  ChannelReader(std::string channel, const Json& declaration)
      : channel_(std::move(channel)), declaration_(declaration) {}

  const absl::Status& status() const { return status_; }

  void Text(const char* name, std::string* field) {
    const Json* value = Find(name);
    if (value == nullptr) return;
    if (value->is_number_integer())
      *field = value->dump();  // a column's number
    else if (!value->is_string())
      Refuse(name, *value, "a string");
    else if (!value->get<std::string>().empty())
      *field = value->get<std::string>();
  }
  void Texts(const char* name, std::vector<std::string>* field) {
    const Json* value = Find(name);
    if (value == nullptr) return;
    if (!value->is_array()) return Refuse(name, *value, "a list of column names");
    field->clear();
    for (const Json& entry : *value) {
      if (!entry.is_string() && !entry.is_number_integer())
        return Refuse(name, *value, "a list of column names");
      field->push_back(entry.is_string() ? entry.get<std::string>() : entry.dump());
    }
  }
  void Fraction(const char* name, double* field) {
    const Json* value = Find(name);
    if (value == nullptr) return;
    if (!value->is_number() || !(value->get<double>() >= 0 && value->get<double>() < 1))
      return Refuse(name, *value, "a number from 0 to less than 1");
    *field = value->get<double>();
  }
  void Distribution(bool* sharded) {
    const Json* value = Find("distribution");
    if (value == nullptr || *value == "" || *value == "replicated") return;
    if (*value != "sharded") return Refuse("distribution", *value, "replicated or sharded");
    *sharded = true;
  }
  void Mode(bool* piped) {
    const Json* value = Find("mode");
    if (value == nullptr || *value == "" || *value == "file") return;
    if (*value != "pipe") return Refuse("mode", *value, "file or pipe");
    *piped = true;
  }
  void Flag(const char* name, bool* field) {
    const Json* value = Find(name);
    if (value == nullptr) return;
    if (!value->is_boolean()) return Refuse(name, *value, "true or false");
    *field = *field || value->get<bool>();
  }
  // 64-bit integers are strings in proto3 JSON.
  void Whole(const char* name, uint64_t highest, uint64_t* field) {
    const Json* value = Find(name);
    if (value == nullptr) return;
    const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
    uint64_t whole = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (error != std::errc() || end != text.data() + text.size() || whole > highest)
      return Refuse(name, *value, fmt::format("a whole number from 0 to {}", highest));
    if (whole > 0) *field = whole;
  }

  void Reading(DataOptions* reading) {
    std::string label;
    Text("label", &label);
    if (!label.empty()) {
      reading->label = label;
      reading->label_is_of_training = false;
    }
    Texts("drop", &reading->drop);
    Text("weight", &reading->weight);
    Text("group", &reading->group);
    Flag("categorical", &reading->categorical);
    Text("format", &reading->format);
    Text("header", &reading->header);
    Text("separator", &reading->separator);
    if (reading->separator == "tab") reading->separator = "\t";
    if (reading->separator == "blank") reading->separator = " ";
    uint64_t levels = static_cast<uint64_t>(reading->max_levels);
    Whole("max_levels", std::numeric_limits<int>::max(), &levels);
    reading->max_levels = static_cast<int>(levels);
  }

 private:
  const Json* Find(const std::string& name) const {
    std::string camel;
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (name[i] == '_')
        camel += static_cast<char>(std::toupper(name[++i]));
      else
        camel += name[i];
    }
    for (const std::string& key : {name, camel}) {
      const auto found = declaration_.find(key);
      if (found != declaration_.end() && !found->is_null()) return &*found;
    }
    return nullptr;
  }
  void Refuse(const char* name, const Json& value, const std::string& expected) {
    if (status_.ok())
      status_ = absl::InvalidArgumentError(fmt::format("{}: channel {}: {} = {}: expected {}", kDataConfig,
                                                       channel_, name, value.dump(), expected));
  }

  const std::string channel_;
  const Json& declaration_;
  absl::Status status_;
};

absl::Status ReadChannels(const EnvironmentReader& environment, TrainFiles* files) {
  files->train_path = ValueOf(environment, "SM_CHANNEL_TRAIN");
  files->validation_path = ValueOf(environment, "SM_CHANNEL_VALIDATION");
  if (files->train_path.empty())
    return absl::InvalidArgumentError("SM_CHANNEL_TRAIN is not set: expected the path of the channel train");
  Json config = Json::object();
  if (const std::string text = ValueOf(environment, kDataConfig); !text.empty())
    config = Json::parse(text, nullptr, false);
  if (config.is_discarded() || !config.is_object())
    return absl::InvalidArgumentError(fmt::format("{}: expected a JSON object of channels", kDataConfig));
  for (const char* channel : {"train", "validation"}) {
    if (config.contains(channel) && !config[channel].is_object())
      return absl::InvalidArgumentError(fmt::format("{}: channel {} = {}: expected a JSON object",
                                                    kDataConfig, channel, config[channel].dump()));
  }
  const Json train = config.value("train", Json::object()),
             validation = config.value("validation", Json::object());
  ChannelReader train_reader("train", train);
  train_reader.Reading(&files->train_reading);
  train_reader.Distribution(&files->train_sharded);
  train_reader.Mode(&files->train_piped);
  train_reader.Fraction("validation_fraction", &files->validation_fraction);
  train_reader.Whole("split_seed", std::numeric_limits<uint64_t>::max(), &files->split_seed);
  if (!train_reader.status().ok()) return train_reader.status();
  DataOptions& of_validation = files->validation_reading;
  of_validation = files->train_reading;  // validation inherits all unset values from train except weights
  of_validation.label_is_of_training = true;
  of_validation.training_weight = std::exchange(of_validation.weight, "");
  ChannelReader validation_reader("validation", validation);
  validation_reader.Reading(&of_validation);
  if (!of_validation.weight.empty()) of_validation.training_weight = "";
  if (!validation.contains("drop")) UseOwnColumns(&of_validation);
  files->train_name = "channel train";
  files->validation_name = "channel validation";
  validation_reader.Distribution(&files->validation_sharded);
  validation_reader.Mode(&files->validation_piped);
  return validation_reader.status();
}

}  // namespace

std::string ValueOf(const EnvironmentReader& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<TrainFiles> FilesFromContract(const EnvironmentReader& environment) {
  TrainFiles files;
  if (absl::Status status = ReadChannels(environment, &files); !status.ok()) return status;
  const absl::StatusOr<int64_t> from = WholeFrom(environment, "WINNOW_RESOURCE_FROM", 0);
  const absl::StatusOr<int64_t> to = WholeFrom(environment, "WINNOW_RESOURCE_TO", 0);
  if (!from.ok()) return from.status();
  if (!to.ok()) return to.status();
  files.resource_from = *from;
  files.resource_to = *to;
  files.has_origin = !ValueOf(environment, "WINNOW_ORIGIN_TRIAL").empty();
  files.model_folder = ValueOf(environment, "SM_MODEL_DIR");
  files.checkpoint_folder = ValueOf(environment, "WINNOW_CHECKPOINT_DIR");
  files.output_folder = ValueOf(environment, "SM_OUTPUT_DATA_DIR");
  return files;
}

absl::StatusOr<int64_t> SeedFromContract(const EnvironmentReader& environment, int64_t otherwise) {
  return WholeFrom(environment, "WINNOW_SEED", otherwise);
}

}  // namespace winnow

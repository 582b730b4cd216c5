#include "spec/launch.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/data_url.h"
#include "scheduler/space/space.h"
#include "spec/builtin_trainers.h"
#include "spec/cluster.h"
#include "spec/placeholders.h"
#include "spec/strategy.h"

namespace winnow {
namespace {

using Json = nlohmann::json;

constexpr int64_t kDefaultGraceMs = 10'000;

struct GivenValue {
  std::string name;
  std::string text;
  bool number = false;
};

bool IsJsonNumber(const std::string& text) {
  const Json value = Json::parse(text, nullptr, false);
  return !value.is_discarded() && value.is_number() && text.find_first_of(" \t\r\n") == std::string::npos;
}

// Static ones by name, then those that are tuned and active in the order of the spec.
std::vector<GivenValue> All(const v1::TuningJobSpec& spec, const Configuration& configuration) {
  std::vector<GivenValue> all;
  const std::map<std::string, std::string> fixed(spec.static_hyperparameters().begin(),
                                                 spec.static_hyperparameters().end());
  for (const auto& [name, text] : fixed) all.push_back({name, text, IsJsonNumber(text)});
  for (int i = 0; i < spec.parameters_size(); ++i) {
    const Value& value = configuration[static_cast<size_t>(i)];
    if (std::holds_alternative<Inactive>(value)) continue;
    all.push_back(
        {spec.parameters(i).name(), ValueToString(value), !std::holds_alternative<std::string>(value)});
  }
  return all;
}

// The name of an environment variable: upper case, anything but letters and digits becomes '_'.
std::string VariableName(const std::string& prefix, const std::string& name) {
  std::string variable = prefix;
  for (unsigned char c : name) variable += std::isalnum(c) ? static_cast<char>(std::toupper(c)) : '_';
  return variable;
}

std::string Escaped(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string HyperparametersJson(const std::vector<GivenValue>& hyperparameters) {
  std::string json;
  for (const GivenValue& h : hyperparameters) {
    json += (json.empty() ? "{" : ", ") + Escaped(h.name) + ": " + (h.number ? h.text : Escaped(h.text));
  }
  return json.empty() ? "{}" : json + "}";
}

std::string AbsolutePath(const v1::TuningJobSpec& spec, const std::string& path) {
  return (std::filesystem::path(spec.working_directory()) / path).lexically_normal().string();
}

Json ChannelJson(const v1::Channel& channel, const std::string& path) {
  Json json = {{"path", path}};
  const auto text = [&json](const char* name, const std::string& value) {
    if (!value.empty()) json[name] = value;
  };
  text("label", channel.label());
  if (channel.drop_size() > 0)
    json["drop"] = std::vector<std::string>(channel.drop().begin(), channel.drop().end());
  text("weight", channel.weight());
  text("group", channel.group());
  if (channel.categorical()) json["categorical"] = true;
  text("format", channel.format());
  text("header", channel.header());
  text("separator", channel.separator());
  if (channel.max_levels() > 0) json["max_levels"] = channel.max_levels();
  if (channel.validation_fraction() > 0) json["validation_fraction"] = channel.validation_fraction();
  if (channel.split_seed() > 0) json["split_seed"] = channel.split_seed();
  text("distribution", channel.distribution());
  if (channel.mode() == "pipe") json["mode"] = "pipe";
  return json;
}

// Whether a channel is more than a path on the worker's host. Built-in trainers divide a directory
// themselves: their ranks learn from each other about the other ranks' files.
bool IsPrepared(const v1::TuningJobSpec& spec, const v1::Channel& channel) {
  const bool several = spec.cluster().nodes() > 1 || !spec.cluster().nodes_parameter().empty();
  const bool divided = several && channel.distribution() == "sharded" &&
                       FindBuiltinTrainer(spec.trainer().builtin()) == nullptr;
  return HasScheme(channel.path()) || channel.mode() == "pipe" || divided;
}

v1::ChannelToPrepare ToPrepare(const v1::TuningJobSpec& spec, const std::string& name,
                               const v1::Channel& channel, const std::string& path) {
  v1::ChannelToPrepare prepared;
  prepared.set_name(name);
  *prepared.mutable_channel() = channel;
  prepared.mutable_channel()->set_path(path);
  if (FindBuiltinTrainer(spec.trainer().builtin()) != nullptr)
    prepared.mutable_channel()->clear_distribution();
  return prepared;
}

void AddBuiltin(const v1::TuningJobSpec& spec, const BuiltinTrainer& trainer, Launch& launch) {
  launch.command = {std::string(trainer.declaration->program)};
  launch.resource_regex = trainer.resource_regex;
  launch.resource_offset = trainer.resource_offset;
  for (const std::string& metric : PrintedMetrics(spec)) {
    v1::MetricDefinition definition;
    definition.set_name(metric);
    definition.set_regex(PrintedMetricRegex(metric));
    launch.metrics.push_back(std::move(definition));
  }
}

// Negative numbers have no exponent: Python's argparse takes "-6e-06" for a flag.
std::string AsArgument(const GivenValue& given) {
  if (!given.number || !given.text.starts_with('-') || given.text.find('e') == std::string::npos)
    return given.text;
  double value = 0;
  std::from_chars(given.text.data(), given.text.data() + given.text.size(), value);
  char digits[512];  // the longest are -DBL_MAX and -DBL_TRUE_MIN, of some 300
  return {digits, std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed).ptr};
}

// `width`: the hyperparameter that is the number of ranks, if there is one; no argument but a placeholder's.
void AddCommand(const v1::TrainerSpec& trainer, const std::vector<GivenValue>& hyperparameters,
                const std::optional<GivenValue>& width, Launch& launch) {
  std::map<std::string, std::string> values;
  for (const GivenValue& h : hyperparameters) values[h.name] = AsArgument(h);
  if (width) values[width->name] = width->text;
  const std::vector<std::string> command(trainer.command().begin(), trainer.command().end());
  // A placeholder has no value where its hyperparameter does not exist.
  for (const std::string& argument :
       ExistingArguments(command, [&values](const std::string& name) { return values.count(name) > 0; }))
    launch.command.push_back(ReplacePlaceholders(argument, values));
  const auto has_none = [](const std::string& argument) { return Placeholders(argument).empty(); };
  if (std::all_of(command.begin(), command.end(), has_none)) {
    for (const GivenValue& h : hyperparameters) {
      launch.command.push_back("--" + h.name);
      launch.command.push_back(AsArgument(h));
    }
  }
  launch.metrics.assign(trainer.metrics().begin(), trainer.metrics().end());
  launch.resource_regex = trainer.resource_regex();
  launch.resource_offset = trainer.resource_offset();
}

}  // namespace

std::string HyperparameterVariable(const std::string& name) { return VariableName("SM_HP_", name); }

Launch MakeLaunch(const v1::TuningJobSpec& spec, const Configuration& configuration, uint64_t seed,
                  int64_t repeat) {
  std::vector<GivenValue> hyperparameters = All(spec, configuration);
  std::optional<GivenValue> width;
  const auto is_width = [&spec](const GivenValue& h) { return IsNodesParameter(spec, h.name); };
  if (const auto found = std::find_if(hyperparameters.begin(), hyperparameters.end(), is_width);
      found != hyperparameters.end()) {
    width = *found;
    hyperparameters.erase(found);
  }
  Launch launch;
  auto& environment = launch.environment;
  environment.insert(spec.trainer().environment().begin(), spec.trainer().environment().end());
  environment["SM_HPS"] = HyperparametersJson(hyperparameters);
  for (const GivenValue& h : hyperparameters) environment[HyperparameterVariable(h.name)] = h.text;
  Json channels = Json::object();
  const std::map<std::string, v1::Channel> sorted(spec.channels().begin(), spec.channels().end());
  for (const auto& [name, channel] : sorted) {
    const std::string path = HasScheme(channel.path()) ? channel.path() : AbsolutePath(spec, channel.path());
    if (IsPrepared(spec, channel)) {
      launch.channels.push_back(ToPrepare(spec, name, channel, path));
    } else {
      environment[VariableName("SM_CHANNEL_", name)] = path;
    }
    channels[name] = ChannelJson(channel, path);
  }
  environment["SM_INPUT_DATA_CONFIG"] = channels.dump(-1, ' ', false, Json::error_handler_t::replace);
  environment["WINNOW_SEED"] = std::to_string(seed);
  if (repeat > 0) {
    const bool folds = spec.repeats().folds() > 0;
    environment[folds ? "WINNOW_FOLD" : "WINNOW_REPEAT"] = std::to_string(repeat);
    environment[folds ? "WINNOW_FOLDS" : "WINNOW_REPEATS"] = std::to_string(RepeatsOf(spec));
  }

  const BuiltinTrainer* builtin = FindBuiltinTrainer(spec.trainer().builtin());
  launch.warm = spec.trainer().warm();
  if (builtin != nullptr) {
    AddBuiltin(spec, *builtin, launch);
    if (launch.warm == v1::TrainerSpec::WARM_UNSPECIFIED) launch.warm = v1::TrainerSpec::FORK;
  } else {
    AddCommand(spec.trainer(), hyperparameters, width, launch);
  }
  launch.resumes = repeat == 0 && (!spec.trainer().has_resumes() || spec.trainer().resumes());
  launch.grace_period_ms = kDefaultGraceMs;
  if (spec.trainer().has_grace_period()) {
    const auto& grace = spec.trainer().grace_period();
    launch.grace_period_ms = grace.seconds() * 1000 + grace.nanos() / 1'000'000;
  }
  launch.working_directory = spec.working_directory();
  return launch;
}

}  // namespace winnow

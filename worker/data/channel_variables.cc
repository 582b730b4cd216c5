#include "worker/data/channel_variables.h"

#include <cctype>

#include "nlohmann/json.hpp"

namespace winnow {
namespace {

using Json = nlohmann::json;

constexpr const char* kInputDataConfig = "SM_INPUT_DATA_CONFIG";

}  // namespace

void SetChannelPaths(const std::map<std::string, std::string>& paths, v1::Assignment& assignment) {
  auto& environment = *assignment.mutable_environment();
  Json config = Json::parse(environment[kInputDataConfig], nullptr, false);
  if (!config.is_object()) config = Json::object();
  for (const auto& [name, path] : paths) {
    std::string variable = "SM_CHANNEL_";
    for (const unsigned char c : name)
      variable += c < 0x80 && std::isalnum(c) != 0 ? static_cast<char>(std::toupper(c)) : '_';
    environment[variable] = path;
    if (!config[name].is_object()) config[name] = Json::object();
    config[name]["path"] = path;
  }
  environment[kInputDataConfig] = config.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace winnow

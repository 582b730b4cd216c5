#include "base/environment.h"

#include <stdlib.h>
#include <string.h>

#include <cstdlib>
#include <fstream>

namespace winnow {

std::string EnvironmentVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string TakeEnvironmentVariable(const char* name) {
  char* const value = std::getenv(name);
  if (value == nullptr) return "";
  std::string taken = value;
  explicit_bzero(value, taken.size());
  unsetenv(name);
  return taken;
}

std::optional<std::string> UserCacheFolder() {
  if (std::getenv("WINNOW_CACHE_DIR") != nullptr) {
    const std::string folder = EnvironmentVariable("WINNOW_CACHE_DIR");
    return folder == "off" ? "" : folder;
  }
  if (const std::string base = EnvironmentVariable("XDG_CACHE_HOME"); base.starts_with("/"))
    return base + "/winnow";
  if (const std::string home = EnvironmentVariable("HOME"); home.starts_with("/"))
    return home + "/.cache/winnow";
  return std::nullopt;
}

const std::string& BootId() {
  static const std::string id = [] {
    std::string text;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
    return text;
  }();
  return id;
}

}  // namespace winnow

#include "cli/session/contexts.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/names.h"
#include "base/read_file.h"
#include "base/status_text.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr mode_t kOthers = 077;

const std::map<std::string, std::string Context::*>& Fields() {
  static const std::map<std::string, std::string Context::*> fields = {
      {"server", &Context::server},     {"http", &Context::http},       {"tls_ca", &Context::tls_ca},
      {"tls_cert", &Context::tls_cert}, {"tls_key", &Context::tls_key}, {"token_file", &Context::token_file},
      {"token", &Context::token}};
  return fields;
}

absl::Status WrongForm(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", path, what));
}

absl::Status FileProblem(const std::string& path) {
  return absl::FailedPreconditionError(fmt::format("{}: {}", path, std::strerror(errno)));
}

absl::StatusOr<Context> ContextOf(const Json& json, const std::string& path, const std::string& name) {
  if (!json.is_object()) return WrongForm(path, fmt::format("contexts.{}: expected an object", Clean(name)));
  Context context;
  for (const auto& [key, value] : json.items()) {
    const auto field = Fields().find(key);
    if (field == Fields().end()) {
      std::vector<std::string> known;
      for (const auto& [other, member] : Fields()) known.push_back(other);
      return WrongForm(path, fmt::format("contexts.{}: unknown field {}{}", Clean(name), Quoted(Clean(key)),
                                         DidYouMean(key, known)));
    }
    if (!value.is_string()) {
      return WrongForm(path, fmt::format("contexts.{}.{}: expected a text", Clean(name), key));
    }
    context.*field->second = value.get<std::string>();
  }
  return context;
}

bool HasTokens(const Contexts& contexts) {
  for (const auto& [name, context] : contexts.all) {
    if (!context.token.empty()) return true;
  }
  return false;
}

// Writes all of `text` into a new file of `path`, which only this user may read, and syncs it.
absl::Status WritePrivate(const std::string& path, const std::string& text) {
  unlink(path.c_str());
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return FileProblem(path);
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t bytes = write(fd, text.data() + written, text.size() - written);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) break;
    written += static_cast<size_t>(bytes);
  }
  const bool good = written == text.size() && fsync(fd) == 0;
  absl::Status status = good ? absl::OkStatus() : FileProblem(path);
  close(fd);
  return status;
}

}  // namespace

bool IsContextName(const std::string& name) {
  return !name.empty() && name.size() <= kLongestContextName && name.front() != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
             std::string::npos;
}

std::string Contexts::DefaultPath() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && *config == '/') return std::string(config) + "/winnow/contexts.json";
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : std::string(home) + "/.config/winnow/contexts.json";
}

absl::StatusOr<Contexts> Contexts::Load(const std::string& path) {
  Contexts contexts;
  struct stat about = {};
  if (path.empty() || (stat(path.c_str(), &about) != 0 && (errno == ENOENT || errno == ENOTDIR)))
    return contexts;
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return absl::FailedPreconditionError(fmt::format("{}: {}", path, MessageOf(text.status())));
  Json json;
  try {
    json = Json::parse(*text);
  } catch (const Json::parse_error& error) {
    return WrongForm(path, fmt::format("is not JSON: byte {}", error.byte));
  } catch (const Json::out_of_range&) {
    return WrongForm(path, "has a number above 1.8e308");
  }
  if (!json.is_object()) return WrongForm(path, "expected an object");
  for (const auto& [key, value] : json.items()) {
    if (key == "current" && value.is_string()) {
      contexts.current = value.get<std::string>();
    } else if (key == "contexts" && value.is_object()) {
      for (const auto& [name, content] : value.items()) {
        absl::StatusOr<Context> context = ContextOf(content, path, name);
        if (!context.ok()) return context.status();
        contexts.all[name] = *std::move(context);
      }
    } else {
      return WrongForm(path, fmt::format("{}: expected \"current\", a text, and \"contexts\", an object",
                                         Quoted(Clean(key))));
    }
  }
  if (HasTokens(contexts) && (about.st_mode & kOthers) != 0) {
    return absl::FailedPreconditionError(
        fmt::format("{} has tokens, and others may read it; expected: chmod 600 {}", path, path));
  }
  return contexts;
}

absl::Status Contexts::Save(const std::string& path) const {
  if (path.empty()) return absl::FailedPreconditionError("HOME is not set; expected the user's directory");
  Json json;
  json["current"] = current;
  json["contexts"] = Json::object();
  for (const auto& [name, context] : all) {
    Json& entry = json["contexts"][name] = Json::object();
    for (const auto& [key, member] : Fields()) {
      if (!(context.*member).empty()) entry[key] = context.*member;
    }
  }
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const std::string part = path + ".part";
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (absl::Status status = WritePrivate(part, text); !status.ok()) return status;
  return rename(part.c_str(), path.c_str()) == 0 ? absl::OkStatus() : FileProblem(path);
}

absl::StatusOr<EndpointContext> Contexts::Find(const std::string& name) const {
  const std::string wanted = name.empty() ? current : name;
  if (wanted.empty()) return EndpointContext();
  const auto found = all.find(wanted);
  if (found == all.end()) {
    std::vector<std::string> known;
    for (const auto& [other, context] : all) known.push_back(other);
    const std::string hint =
        known.empty() ? "; create it with: winnow context add" : DidYouMean(wanted, known);
    return absl::NotFoundError(fmt::format("there is no context {}{}", Quoted(Clean(wanted)), hint));
  }
  const Context& context = found->second;
  EndpointContext endpoint;
  endpoint.name = wanted;
  endpoint.values = {context.server, context.tls_ca, context.tls_cert, context.tls_key, context.token_file};
  endpoint.token = context.token;
  return endpoint;
}

}  // namespace winnow::cli

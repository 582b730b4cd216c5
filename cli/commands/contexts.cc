#include "cli/commands/contexts.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/spawn.h"
#include "base/status_text.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "cli/session/contexts.h"
#include "rpc/address.h"

namespace winnow::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kHidden[] = "(not shown)";

std::string JsonText(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string Absolute(const std::string& file) { return file.empty() ? "" : fs::absolute(file).string(); }

absl::Status CheckName(const std::string& name) {
  if (IsContextName(name)) return absl::OkStatus();
  return UsageError(
      fmt::format("NAME: {} is not a context's name; expected at most {} letters, digits, '-', '_' and '.'",
                  Quoted(Clean(name)), kLongestContextName));
}

// Returns the entry of `name`, which exists; "": of the current one.
absl::StatusOr<std::pair<const std::string, Context>> Entry(const Contexts& contexts,
                                                            const std::string& name) {
  const absl::StatusOr<EndpointContext> found = contexts.Find(name);
  if (!found.ok()) return found.status();
  if (found->name.empty())
    return absl::NotFoundError("no context is current; choose one with: winnow context use NAME");
  return *contexts.all.find(found->name);
}

std::string CredentialText(const Context& context) {
  if (!context.token.empty()) return "kept";
  return context.token_file.empty() ? "none" : context.token_file;
}

}  // namespace

Exit AddContext(Session& session, const AddContextOptions& options) {
  if (absl::Status status = CheckName(options.name); !status.ok()) return status;
  const std::string path = Contexts::DefaultPath();
  absl::StatusOr<Contexts> contexts = Contexts::Load(path);
  if (!contexts.ok()) return contexts.status();
  if (contexts->all.contains(options.name) && !options.force) {
    return absl::AlreadyExistsError(
        fmt::format("there is a context {} already; replace it with --force", options.name));
  }
  Context context;
  context.server = options.endpoint.server;
  if (context.server.empty()) return UsageError("--server is missing: the address of the context's server");
  if (const auto addresses = ParseAddresses(context.server); !addresses.ok())
    return UsageError("--server: " + MessageOf(addresses.status()));
  context.http = options.http;
  context.tls_ca = Absolute(options.endpoint.tls_ca);
  context.tls_cert = Absolute(options.endpoint.tls_cert);
  context.tls_key = Absolute(options.endpoint.tls_key);
  context.token_file = Absolute(options.endpoint.token_file);
  if (options.token_from_input) std::getline(std::cin, context.token);
  // Reads the files once, so that a wrong one is reported now.
  EndpointContext chosen{
      options.name,
      true,
      {context.server, context.tls_ca, context.tls_cert, context.tls_key, context.token_file},
      context.token};
  if (const auto endpoint = MakeEndpoint({}, chosen); !endpoint.ok())
    return UsageError(MessageOf(endpoint.status()));
  contexts->all[options.name] = std::move(context);
  if (contexts->current.empty()) contexts->current = options.name;
  if (absl::Status status = contexts->Save(path); !status.ok()) return status;
  session.out.Print(fmt::format("context {} is kept in {}{}\n", options.name, path,
                                contexts->current == options.name
                                    ? "; commands use it from now on"
                                    : fmt::format("; use it with: winnow context use {}", options.name)));
  return kSuccess;
}

Exit UseContext(Session& session, const std::string& name) {
  const std::string path = Contexts::DefaultPath();
  absl::StatusOr<Contexts> contexts = Contexts::Load(path);
  if (!contexts.ok()) return contexts.status();
  const auto entry = Entry(*contexts, name);
  if (!entry.ok()) return entry.status();
  contexts->current = name;
  if (absl::Status status = contexts->Save(path); !status.ok()) return status;
  session.out.Print(fmt::format("commands use {} at {} from now on\n", name, Clean(entry->second.server)));
  return kSuccess;
}

Exit RemoveContext(Session& session, const std::string& name) {
  const std::string path = Contexts::DefaultPath();
  absl::StatusOr<Contexts> contexts = Contexts::Load(path);
  if (!contexts.ok()) return contexts.status();
  if (const auto entry = Entry(*contexts, name); !entry.ok()) return entry.status();
  contexts->all.erase(name);
  const bool was_current = contexts->current == name;
  if (was_current) contexts->current.clear();
  if (absl::Status status = contexts->Save(path); !status.ok()) return status;
  session.out.Print(fmt::format("removed {}{}\n", name, was_current ? "; no context is current" : ""));
  return kSuccess;
}

Exit ListContexts(Session& session) {
  const absl::StatusOr<Contexts> contexts = Contexts::Load(Contexts::DefaultPath());
  if (!contexts.ok()) return contexts.status();
  if (session.output == Output::kJson) {
    Json list = Json::array();
    for (const auto& [name, context] : contexts->all) {
      list.push_back({{"name", name},
                      {"current", name == contexts->current},
                      {"server", context.server},
                      {"http", context.http},
                      {"token", !context.token.empty() || !context.token_file.empty()}});
    }
    session.out.Print(JsonText(list));
    return kSuccess;
  }
  if (contexts->all.empty()) {
    session.err.Print("no contexts yet; create one with: winnow context add NAME --server HOST:PORT\n");
    return kSuccess;
  }
  Table table({{"", Table::Align::kLeft, 0},
               {"NAME", Table::Align::kLeft, 0},
               {"SERVER", Table::Align::kLeft, 0},
               {"HTTP", Table::Align::kLeft, 2},
               {"TLS-CA", Table::Align::kLeft, 3},
               {"TOKEN", Table::Align::kLeft, 1}});
  for (const auto& [name, context] : contexts->all) {
    table.Add({std::string(name == contexts->current ? "*" : ""), name, context.server, context.http,
               context.tls_ca, CredentialText(context)});
  }
  session.out.Print(table.Text(session.out));
  return kSuccess;
}

Exit ShowContext(Session& session, const std::string& name) {
  const absl::StatusOr<Contexts> contexts = Contexts::Load(Contexts::DefaultPath());
  if (!contexts.ok()) return contexts.status();
  const auto entry = Entry(*contexts, name);
  if (!entry.ok()) return entry.status();
  const Context& context = entry->second;
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"name", entry->first},
      {"server", context.server},
      {"http", context.http},
      {"tls_ca", context.tls_ca},
      {"tls_cert", context.tls_cert},
      {"tls_key", context.tls_key},
      {"token_file", context.token_file},
      {"token", context.token.empty() ? "" : kHidden}};
  Json json = Json::object();
  std::string text;
  for (const auto& [key, value] : rows) {
    if (value.empty()) continue;
    json[key] = value;
    text += session.out.Labelled(key, 11, Clean(value));
  }
  session.out.Print(session.output == Output::kJson ? JsonText(json) : text);
  return kSuccess;
}

Exit ShowConfig(Session& session) {
  Json json = Json::array();
  Table table({{"SETTING", Table::Align::kLeft, 0},
               {"VALUE", Table::Align::kLeft, 0},
               {"FROM", Table::Align::kLeft, 0}});
  for (const EndpointSetting& setting : session.endpoint_settings) {
    const std::string value = setting.name == "token" && !setting.value.empty() ? kHidden : setting.value;
    json.push_back({{"name", setting.name}, {"value", value}, {"from", setting.from}});
    table.Add({setting.name, value, setting.from});
  }
  session.out.Print(session.output == Output::kJson ? JsonText(json) : table.Text(session.out));
  return kSuccess;
}

Exit ShowProgramConfig(Session& session, const std::string& program, const std::string& file) {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  const std::string path = (own.parent_path() / ("winnow-" + program)).string();
  std::vector<std::string> words = {path, "--show-config", session.output == Output::kJson ? "json" : "text"};
  if (!file.empty()) words.insert(words.end(), {"--config", file});
  execv(path.c_str(), Pointers(words).data());
  return absl::NotFoundError(fmt::format("cannot run {}: {}", path, std::strerror(errno)));
}

}  // namespace winnow::cli

#include "server/webhooks/webhooks_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "server/host/pools/fields.h"

namespace winnow {
namespace {

constexpr size_t kLongestWebhookName = 40;
constexpr size_t kShortestSecret = 16;
constexpr size_t kMostWebhooks = 32;

std::vector<v1::Event::Kind> KindsOfEvents() {
  std::vector<v1::Event::Kind> kinds;
  for (int kind = v1::Event::Kind_MIN + 1; kind <= v1::Event::Kind_MAX; ++kind) {
    if (kind != v1::Event::TEST) kinds.push_back(static_cast<v1::Event::Kind>(kind));
  }
  return kinds;
}

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const v1::Event::Kind kind : KindsOfEvents()) names.push_back(v1::Event::Kind_Name(kind));
  return names;
}

bool IsWebhookName(const std::string& name) {
  return !name.empty() && name.size() <= kLongestWebhookName &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

bool IsWebUrl(const std::string& url) {
  const size_t scheme = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
  return scheme > 0 && url.size() > scheme && url[scheme] != '/' &&
         std::none_of(url.begin(), url.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; });
}

// Without the line's end.
std::string ReadSecret(const std::string& file, Fields& fields) {
  std::ifstream stream(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (!stream.is_open()) {
    fields.Problem("secret_file", fmt::format("is \"{}\", which cannot be read; expected a file", file));
  } else if (text.size() < kShortestSecret) {
    fields.Problem("secret_file",
                   fmt::format("is \"{}\", whose text has {} bytes; expected at least {}, such as: openssl "
                               "rand -hex 32",
                               file, text.size(), kShortestSecret));
  }
  return text;
}

DeclaredWebhook ReadWebhook(const nlohmann::json& object, const std::string& path,
                            std::set<std::string>& names, std::vector<std::string>& problems) {
  Fields fields(object, path, problems);
  DeclaredWebhook webhook;
  if (!object.is_object()) return webhook;
  webhook.name = fields.Text("name");
  if (!IsWebhookName(webhook.name)) {
    fields.Problem("name", fmt::format("is \"{}\"; expected 1 to {} lower-case letters, digits and '-'",
                                       webhook.name, kLongestWebhookName));
  } else if (!names.insert(webhook.name).second) {
    fields.Problem("name", fmt::format("is \"{}\", which another webhook has too", webhook.name));
  }
  webhook.url = fields.Text("url");
  if (!IsWebUrl(webhook.url)) {
    fields.Problem("url", fmt::format("is \"{}\"; expected http://HOST… or https://HOST…", webhook.url));
  }
  webhook.secret = ReadSecret(fields.Text("secret_file"), fields);
  for (const std::string& name : fields.Texts("events")) {
    v1::Event::Kind kind = v1::Event::KIND_UNSPECIFIED;
    if (!v1::Event::Kind_Parse(name, &kind) || kind == v1::Event::KIND_UNSPECIFIED ||
        kind == v1::Event::TEST) {
      fields.Problem("events", fmt::format("has \"{}\"; expected {}", name, fmt::join(KindNames(), ", ")));
    } else {
      webhook.events.insert(kind);
    }
  }
  if (!fields.Has("events")) {
    for (const v1::Event::Kind kind : KindsOfEvents()) webhook.events.insert(kind);
  }
  webhook.jobs = fields.Text("jobs");
  webhook.tls_ca = fields.Text("tls_ca");
  if (!webhook.tls_ca.empty() && !std::ifstream(webhook.tls_ca)) {
    fields.Problem("tls_ca",
                   fmt::format("is \"{}\", which cannot be read; expected a PEM file", webhook.tls_ca));
  }
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds(static_cast<int64_t>(1000 * seconds));
  };
  webhook.timeout = milliseconds(fields.Real("timeout_seconds", 10, 0.1, 300));
  webhook.first_wait = milliseconds(fields.Real("first_wait_seconds", 1, 0.01, 3600));
  webhook.give_up_after =
      std::chrono::seconds(static_cast<int64_t>(3600 * fields.Real("give_up_hours", 72, 0.001, 8760)));
  fields.Done();
  return webhook;
}

}  // namespace

std::string AddressOfUrl(const std::string& url) {
  const size_t host = url.find("://");
  if (host == std::string::npos) return "";
  const size_t begin = host + 3;
  std::string authority = url.substr(begin, std::min(url.size(), url.find_first_of("/?#", begin)) - begin);
  // A password may come before the host.
  if (const size_t at = authority.rfind('@'); at != std::string::npos) authority = authority.substr(at + 1);
  return url.substr(0, begin) + authority;
}

absl::StatusOr<std::vector<DeclaredWebhook>> ReadWebhooksFile(const std::string& file) {
  const absl::StatusOr<nlohmann::json> root = ReadJsonFile(file);
  if (!root.ok()) return root.status();
  std::vector<std::string> problems;
  std::vector<DeclaredWebhook> webhooks;
  if (!root->is_object() || !root->contains("webhooks") || !(*root)["webhooks"].is_array()) {
    problems.emplace_back("webhooks: expected a list of webhooks");
  } else {
    for (const auto& [name, value] : root->items()) {
      if (name != "webhooks") problems.push_back(fmt::format("{}: it is not known; expected webhooks", name));
    }
    std::set<std::string> names;
    const nlohmann::json& list = (*root)["webhooks"];
    if (list.size() > kMostWebhooks)
      problems.push_back(
          fmt::format("webhooks: there are {}; expected at most {}", list.size(), kMostWebhooks));
    for (size_t i = 0; i < list.size(); ++i)
      webhooks.push_back(ReadWebhook(list[i], fmt::format("webhooks[{}]", i), names, problems));
  }
  if (absl::Status status = ProblemsOf(file, problems); !status.ok()) return status;
  return webhooks;
}

}  // namespace winnow

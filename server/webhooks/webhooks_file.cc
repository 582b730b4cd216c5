#include "server/webhooks/webhooks_file.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/read_file.h"
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

// As the program that sends to it will read it.
bool IsWebUrl(const std::string& url) {
  const size_t scheme = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
  if (scheme == 0 || url.size() == scheme || url[scheme] == '/' ||
      std::any_of(url.begin(), url.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; }))
    return false;
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), curl_url_cleanup);
  return parsed != nullptr && curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
}

// Without the line's end.
std::string ReadSecret(const std::string& file, Fields& fields) {
  const absl::StatusOr<std::string> read = ReadFile(file);
  std::string text = read.value_or("");
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (!read.ok()) {
    fields.Problem("secret_file", fmt::format("is \"{}\", which cannot be read; expected a file", file));
  } else if (text.size() < kShortestSecret) {
    fields.Problem("secret_file",
                   fmt::format("is \"{}\", whose text has {} bytes; expected at least {}, such as: openssl "
                               "rand -hex 32",
                               file, text.size(), kShortestSecret));
  }
  return text;
}

// An address that is no option of a program and needs no quotes in a header.
bool IsMailAddress(const std::string& address) {
  const size_t at = address.find('@');
  constexpr char kSpecial[] = "<>()[],;:\\\"@";
  return at != std::string::npos && at > 0 && at + 1 < address.size() && address[0] != '-' &&
         address.size() <= 254 && address.find('@', at + 1) == std::string::npos &&
         std::all_of(address.begin(), address.end(), [&](unsigned char c) {
           return c > ' ' && c < 0x7f && (c == '@' || std::strchr(kSpecial, c) == nullptr);
         });
}

// What webhooks and mail have in common.
void ReadCommon(Fields& fields, std::set<std::string>& names, DeclaredWebhook& webhook) {
  webhook.name = fields.Text("name");
  if (!IsWebhookName(webhook.name)) {
    fields.Problem("name", fmt::format("is \"{}\"; expected 1 to {} lower-case letters, digits and '-'",
                                       webhook.name, kLongestWebhookName));
  } else if (!names.insert(webhook.name).second) {
    fields.Problem("name", fmt::format("is \"{}\", which another webhook has too", webhook.name));
  }
  const nlohmann::json events = fields.Object("events");
  if (events.is_array() && events.empty()) {
    fields.Problem("events",
                   fmt::format("is [], so nothing would be sent; expected some of {}, or no such field: then "
                               "all are sent",
                               fmt::join(KindNames(), ", ")));
  }
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
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds(static_cast<int64_t>(1000 * seconds));
  };
  webhook.timeout = milliseconds(fields.Real("timeout_seconds", webhook.mail ? 60 : 10, 0.1, 300));
  webhook.first_wait = milliseconds(fields.Real("first_wait_seconds", 1, 0.01, 3600));
  webhook.give_up_after =
      std::chrono::seconds(static_cast<int64_t>(3600 * fields.Real("give_up_hours", 72, 0.001, 8760)));
}

DeclaredWebhook ReadWebhook(const nlohmann::json& object, const std::string& path,
                            std::set<std::string>& names, std::vector<std::string>& problems) {
  Fields fields(object, path, problems);
  DeclaredWebhook webhook;
  if (!object.is_object()) return webhook;
  ReadCommon(fields, names, webhook);
  webhook.url = fields.Text("url");
  if (!IsWebUrl(webhook.url)) {
    fields.Problem("url", fmt::format("is \"{}\"; expected http://HOST… or https://HOST…", webhook.url));
  }
  webhook.secret = ReadSecret(fields.Text("secret_file"), fields);
  webhook.tls_ca = fields.Text("tls_ca");
  if (const absl::StatusOr<std::string> text =
          webhook.tls_ca.empty() ? absl::StatusOr<std::string>("") : ReadFile(webhook.tls_ca);
      !text.ok()) {
    fields.Problem("tls_ca",
                   fmt::format("is \"{}\", which cannot be read; expected a PEM file", webhook.tls_ca));
  } else if (!webhook.tls_ca.empty() && text->find("CERTIFICATE-----") == std::string::npos) {
    fields.Problem("tls_ca", fmt::format("is \"{}\", which contains no certificate in PEM", webhook.tls_ca));
  }
  fields.Done();
  return webhook;
}

DeclaredWebhook ReadMail(const nlohmann::json& object, const std::string& path, std::set<std::string>& names,
                         std::vector<std::string>& problems) {
  Fields fields(object, path, problems);
  DeclaredWebhook webhook;
  DeclaredMail& mail = webhook.mail.emplace();
  if (!object.is_object()) return webhook;
  ReadCommon(fields, names, webhook);
  const auto check = [&fields](const char* field, const std::string& address) {
    if (IsMailAddress(address)) return;
    fields.Problem(field, fmt::format("has \"{}\"; expected an address such as ana@lab.example", address));
  };
  mail.from = fields.Text("from");
  check("from", mail.from);
  mail.to = fields.Texts("to");
  if (mail.to.empty()) fields.Problem("to", "is missing; expected a list of addresses");
  for (const std::string& address : mail.to) check("to", address);
  if (fields.Has("sendmail")) mail.sendmail = fields.Texts("sendmail");
  if (mail.sendmail.empty() || mail.sendmail[0].empty() || mail.sendmail[0][0] != '/') {
    fields.Problem("sendmail", "names no program; expected a list that begins with its absolute path");
  } else if (access(mail.sendmail[0].c_str(), X_OK) != 0) {
    fields.Problem("sendmail",
                   fmt::format("is \"{}\", which is no program that can be run; expected one such as "
                               "/usr/sbin/sendmail",
                               mail.sendmail[0]));
  }
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

std::string AddressOf(const DeclaredWebhook& webhook) {
  if (!webhook.mail) return AddressOfUrl(webhook.url);
  return fmt::format("mailto:{}", fmt::join(webhook.mail->to, ","));
}

absl::StatusOr<std::vector<DeclaredWebhook>> ReadWebhooksFile(const std::string& file) {
  const absl::StatusOr<nlohmann::json> root = ReadJsonFile(file);
  if (!root.ok()) return root.status();
  std::vector<std::string> problems;
  std::vector<DeclaredWebhook> webhooks;
  const auto is_list = [&root](const char* name) {
    return !root->contains(name) || (*root)[name].is_array();
  };
  const bool any = root->is_object() && (root->contains("webhooks") || root->contains("mail"));
  if (!any || !is_list("webhooks") || !is_list("mail")) {
    problems.emplace_back("webhooks: expected a list of webhooks, or of mail");
  } else {
    std::set<std::string> names;
    for (const auto& [name, list] : root->items()) {
      if (name != "webhooks" && name != "mail") {
        problems.push_back(fmt::format("{}: it is not known; expected webhooks or mail", name));
        continue;
      }
      if (list.size() > kMostWebhooks)
        problems.push_back(
            fmt::format("{}: there are {}; expected at most {}", name, list.size(), kMostWebhooks));
      for (size_t i = 0; i < list.size(); ++i) {
        const std::string path = fmt::format("{}[{}]", name, i);
        webhooks.push_back(name == "mail" ? ReadMail(list[i], path, names, problems)
                                          : ReadWebhook(list[i], path, names, problems));
      }
    }
  }
  if (absl::Status status = ProblemsOf(file, problems); !status.ok()) return status;
  return webhooks;
}

}  // namespace winnow

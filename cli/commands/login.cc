#include "cli/commands/login.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/names.h"
#include "base/status_text.h"
#include "cli/output/text.h"
#include "cli/session/contexts.h"
#include "rpc/address.h"

namespace winnow::cli {
namespace {

using nlohmann::json;

constexpr size_t kMostLoginBytes = 1 << 20;
constexpr int kDefaultHttpPort = 8080;
constexpr int64_t kLongestWait = 3600;

struct LoginAnswer {
  long status = 0;
  json body;
};

size_t TakeLoginBytes(char* bytes, size_t size, size_t count, void* user) {
  auto& body = *static_cast<std::string*>(user);
  if (body.size() + size * count > kMostLoginBytes) return 0;
  body.append(bytes, size * count);
  return size * count;
}

std::string TextIn(const json& object, const char* name) {
  const auto found = object.find(name);
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

int64_t NumberIn(const json& object, const char* name) {
  const auto found = object.find(name);
  return object.is_object() && found != object.end() && found->is_number_integer() ? found->get<int64_t>()
                                                                                   : 0;
}

// UNAVAILABLE: there is no answer.
absl::StatusOr<LoginAnswer> PostToServer(const Session& session, const std::string& url, const json& body,
                                         const std::string& token = "") {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), &curl_easy_cleanup);
  if (curl == nullptr) return absl::ResourceExhaustedError("libcurl cannot be used");
  curl_slist* list = curl_slist_append(nullptr, "Content-Type: application/json");
  if (!token.empty()) list = curl_slist_append(list, ("Authorization: Bearer " + token).c_str());
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(list, &curl_slist_free_all);
  const std::string text = body.dump();
  std::string got;
  char why[CURL_ERROR_SIZE] = "";
  const auto set = [&curl](CURLoption option, const std::string& value) {
    if (!value.empty()) curl_easy_setopt(curl.get(), option, value.c_str());
  };
  set(CURLOPT_URL, url);
  set(CURLOPT_CAINFO, session.endpoint.ca_file);
  set(CURLOPT_SSLCERT, session.endpoint.cert_file);
  set(CURLOPT_SSLKEY, session.endpoint.key_file);
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  // A proxy would read the token; over https:// it sees only the server's name.
  if (url.starts_with("http://")) curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(text.size()));
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, text.c_str());
  // The server itself waits for its provider.
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS,
                   static_cast<long>(std::max(absl::ToInt64Milliseconds(session.timeout), int64_t{30'000})));
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, why);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, TakeLoginBytes);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &got);
  const CURLcode result = curl_easy_perform(curl.get());
  if (result != CURLE_OK) {
    return absl::UnavailableError(
        fmt::format("{}: {}; is it the server's --http address? Name it with --http", Clean(url),
                    why[0] != '\0' ? why : curl_easy_strerror(result)));
  }
  LoginAnswer answer;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  answer.body = json::parse(got, nullptr, false);
  return answer;
}

absl::Status ErrorOf(const LoginAnswer& answer) {
  const std::string message = TextIn(answer.body, "message");
  return absl::UnknownError(message.empty()
                                ? fmt::format("the server answered with HTTP status {}", answer.status)
                                : Clean(message));
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// The name of the context in force; "": none.
std::string ContextInForce(const Session& session) {
  const EndpointSetting& server = session.endpoint_settings.at(1);
  return server.from.starts_with("context ") ? session.endpoint_settings.at(0).value : "";
}

// Where the server answers HTTP. A token may not travel where others can read it.
absl::StatusOr<std::string> HttpUrl(const Session& session, const LoginOptions& options,
                                    const Context* context) {
  const bool tls = session.endpoint.UsesTls();
  std::string url = !options.http.empty() ? options.http : context != nullptr ? context->http : "";
  const absl::StatusOr<std::vector<Address>> addresses = ParseAddresses(session.endpoint.address);
  if (!addresses.ok()) return addresses.status();
  const Address& server = addresses->front();
  if (url.empty()) {
    const std::string host =
        server.host.find(':') == std::string::npos ? server.host : "[" + server.host + "]";
    url = fmt::format("{}:{}", host, kDefaultHttpPort);
  }
  if (url.find("://") == std::string::npos) url = (tls ? "https://" : "http://") + url;
  while (url.ends_with('/')) url.pop_back();
  if (url.starts_with("https://")) return url;
  std::string host = url.substr(url.find("://") + 3);
  host = host.substr(0, host.find('/'));
  if (host.find(':') == std::string::npos || host.ends_with(']')) host += ":80";
  const absl::StatusOr<Address> address = ParseAddress(host);
  const bool near = url.starts_with("http://") && address.ok() && address->kind == Address::Kind::kLoopback;
  if (near) return url;
  return UsageError(
      fmt::format("--http: {} is not a URL over which a token may be sent; expected https://HOST:PORT",
                  Quoted(Clean(url))));
}

// Asks until somebody has confirmed the device login.
absl::StatusOr<json> AwaitToken(Session& session, const std::string& url, const json& grant) {
  const json request = {{"device", TextIn(grant, "device")}};
  int64_t interval = NumberIn(grant, "interval");
  const absl::Time end =
      absl::Now() + absl::Seconds(std::clamp<int64_t>(NumberIn(grant, "expires_in"), 1, kLongestWait));
  while (absl::Now() < end) {
    absl::SleepFor(absl::Seconds(std::clamp<int64_t>(interval, 1, 60)));
    const absl::StatusOr<LoginAnswer> answer = PostToServer(session, url + "/sign-in/token", request);
    if (!answer.ok() || answer->status == 503) continue;  // it may come back
    if (answer->status == 200) return answer->body;
    if (answer->status != 202) return ErrorOf(*answer);
    interval = NumberIn(answer->body, "interval");
  }
  return absl::DeadlineExceededError("nobody confirmed the code in time; begin again with: winnow login");
}

std::string AbsoluteFile(const std::string& file) {
  return file.empty() ? "" : std::filesystem::absolute(file).string();
}

// The context for the token. INVALID_ARGUMENT: it is another server's.
absl::StatusOr<std::string> NameOfContext(const Session& session, const LoginOptions& options,
                                          const Contexts& contexts) {
  std::string name = ContextInForce(session);
  if (!name.empty()) {
    if (options.context.empty() || options.context == name) return name;
    return UsageError(fmt::format("--save-as: the context {} is in force, and keeps the token", name));
  }
  name = options.context;
  if (name.empty()) name = ParseAddresses(session.endpoint.address)->front().host;
  if (name.empty()) return UsageError("--save-as is missing: the name of a context that keeps the token");
  if (!IsContextName(name)) {
    return UsageError(
        fmt::format("--save-as: {} is not a context's name; expected at most {} letters, digits, '-', "
                    "'_' and '.'",
                    Quoted(Clean(name)), kLongestContextName));
  }
  const auto found = contexts.all.find(name);
  if (found == contexts.all.end() || found->second.server == session.endpoint.address) return name;
  return UsageError(
      fmt::format("--save-as: there is a context {} of another server, {}; expected another name", name,
                  Clean(found->second.server)));
}

}  // namespace

Exit Login(Session& session, const LoginOptions& options) {
  const std::string path = Contexts::DefaultPath();
  absl::StatusOr<Contexts> contexts = Contexts::Load(path);
  if (!contexts.ok()) return contexts.status();
  const absl::StatusOr<std::vector<Address>> servers = ParseAddresses(session.endpoint.address);
  if (!servers.ok()) return servers.status();
  if (servers->front().kind == Address::Kind::kUnix && options.http.empty())
    return UsageError("--server: over a socket of this host nobody needs to log in; expected HOST:PORT");
  const absl::StatusOr<std::string> name = NameOfContext(session, options, *contexts);
  if (!name.ok()) return name.status();
  const auto known = contexts->all.find(*name);
  const absl::StatusOr<std::string> url =
      HttpUrl(session, options, known == contexts->all.end() ? nullptr : &known->second);
  if (!url.ok()) return url.status();
  const absl::StatusOr<LoginAnswer> begun = PostToServer(session, *url + "/sign-in/device", json::object());
  if (!begun.ok()) return begun.status();
  if (begun->status != 200) return ErrorOf(*begun);
  const std::string code = Clean(TextIn(begun->body, "user_code"));
  const std::string complete = Clean(TextIn(begun->body, "verification_uri_complete"));
  session.out.Print(complete.empty()
                        ? fmt::format("Open {} in a browser, and enter the code {}\n",
                                      Clean(TextIn(begun->body, "verification_uri")), code)
                        : fmt::format("Open {} in a browser, and confirm the code {}\n", complete, code));
  session.err.Print(
      fmt::format("Waiting until you have signed in with {} …\n", Clean(TextIn(begun->body, "provider"))));
  const absl::StatusOr<json> made = AwaitToken(session, *url, begun->body);
  if (!made.ok()) return made.status();

  contexts = Contexts::Load(path);  // others may have changed it meanwhile
  if (!contexts.ok()) return contexts.status();
  const bool is_new = !contexts->all.contains(*name);
  Context& context = contexts->all[*name];
  if (is_new) {
    context.server = session.endpoint.address;
    context.tls_ca = AbsoluteFile(session.endpoint.ca_file);
    context.tls_cert = AbsoluteFile(session.endpoint.cert_file);
    context.tls_key = AbsoluteFile(session.endpoint.key_file);
  }
  if (context.http.empty() || !options.http.empty()) context.http = *url;
  context.token_file.clear();
  context.token = TextIn(*made, "secret");
  if (contexts->current.empty()) contexts->current = *name;
  if (absl::Status status = contexts->Save(path); !status.ok()) return status;
  const json token = made->is_object() ? made->value("token", json()) : json();
  absl::Time expires = absl::InfiniteFuture();
  absl::ParseTime(absl::RFC3339_full, TextIn(token, "expire_time"), &expires, nullptr);
  session.out.Print(fmt::format(
      "You are signed in as {} (role {}) until {}. The token is kept in the context {} ({}){}\n",
      Clean(TextIn(token, "name")), Clean(Lower(TextIn(token, "role"))),
      absl::FormatTime("%Y-%m-%d %H:%M", expires, absl::LocalTimeZone()), *name, path,
      contexts->current == *name ? "" : fmt::format("; use it with: winnow context use {}", *name)));
  return kSuccess;
}

Exit Logout(Session& session, const LoginOptions& options) {
  const std::string path = Contexts::DefaultPath();
  absl::StatusOr<Contexts> contexts = Contexts::Load(path);
  if (!contexts.ok()) return contexts.status();
  const std::string name = ContextInForce(session);
  const auto found = contexts->all.find(name);
  if (name.empty() || found == contexts->all.end() || found->second.token.empty())
    return absl::NotFoundError("no context with a token is in force; see: winnow context list");
  const absl::StatusOr<std::string> url = HttpUrl(session, options, &found->second);
  if (!url.ok()) return url.status();
  const absl::StatusOr<LoginAnswer> answer =
      PostToServer(session, *url + "/logout", json::object(), found->second.token);
  found->second.token.clear();
  if (absl::Status status = contexts->Save(path); !status.ok()) return status;
  const absl::Status problem = !answer.ok()            ? answer.status()
                               : answer->status == 200 ? absl::OkStatus()
                                                       : ErrorOf(*answer);
  if (!problem.ok()) {
    return absl::UnavailableError(
        fmt::format("the token was removed from the context {}, but the server did not revoke it: {}", name,
                    MessageOf(problem)));
  }
  session.out.Print(fmt::format("logged out: the context {} has no token any more\n", name));
  return kSuccess;
}

}  // namespace winnow::cli

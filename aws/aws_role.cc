#include "aws/aws_role.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aws/aws_files.h"
#include "base/read_file.h"
#include "base/status_text.h"
#include "fmt/format.h"

namespace winnow {
namespace {

constexpr long kConnectMs = 1'000;
constexpr long kAnswerMs = 5'000;
constexpr size_t kMostAnswerBytes = 64 << 10;
constexpr size_t kMostTokenBytes = 16 << 10;
constexpr std::chrono::minutes kRenewBefore(5);  // of the end of credentials
constexpr std::chrono::minutes kNoRolePause(5);  // until a machine without a role is asked again
constexpr std::chrono::minutes kUnlimited(60);   // of credentials that do not say when they end
constexpr const char* kContainerHost = "http://169.254.170.2";
constexpr const char* kMachineHost = "http://169.254.169.254";
constexpr const char* kMachineHostIpv6 = "http://[fd00:ec2::254]";

// The host and port between "://" and the path.
std::string_view HostOf(std::string_view url) {
  const size_t begin = url.find("://");
  if (begin == std::string_view::npos) return "";
  url.remove_prefix(begin + 3);
  return url.substr(0, url.find_first_of("/?#"));
}

// Whether credentials may be asked for without encryption, as AWS's SDKs allow it: on this machine only.
bool IsOfThisMachine(std::string_view host) {
  if (host.find('@') != std::string_view::npos) return false;
  const size_t port = host.rfind(':');
  if (port != std::string_view::npos && host.find(']', port) == std::string_view::npos)
    host = host.substr(0, port);
  constexpr std::string_view kHosts[] = {"localhost",     "127.0.0.1",      "[::1]",
                                         "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
  return std::find(std::begin(kHosts), std::end(kHosts), host) != std::end(kHosts);
}

// What may stand in a header.
bool IsOneLine(std::string_view text) {
  return !text.empty() && text.size() <= kMostTokenBytes &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= ' ' && c < 0x7f; });
}

struct Request {
  std::string url;
  std::vector<std::string> headers = {};  // "Name: value"
  bool puts = false;                      // PUT without a body; otherwise GET
};
struct Answer {
  int status = 0;
  std::string text;
};

size_t TakeBytes(char* data, size_t size, size_t count, void* user) {
  std::string& text = *static_cast<std::string*>(user);
  if (text.size() + size * count > kMostAnswerBytes) return 0;
  text.append(data, size * count);
  return size * count;
}

int LookWhetherCancelled(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return (*static_cast<const std::function<bool()>*>(user))() ? 1 : 0;
}

// The answer of a service of this machine, with any status.
absl::StatusOr<Answer> Ask(const Request& request, const std::function<bool()>& cancelled) {
  const std::unique_ptr<CURL, void (*)(CURL*)> handle(curl_easy_init(), curl_easy_cleanup);
  if (handle == nullptr) return absl::UnavailableError("libcurl has no memory");
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(nullptr, curl_slist_free_all);
  for (const std::string& line : request.headers) {
    curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
    if (longer == nullptr) return absl::UnavailableError("libcurl has no memory");
    static_cast<void>(headers.release());
    headers.reset(longer);
  }
  Answer answer;
  CURL* const curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "winnow");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, kAnswerMs);
  if (request.puts) curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "PUT");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, TakeBytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.text);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, LookWhetherCancelled);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &cancelled);
  const CURLcode code = curl_easy_perform(curl);
  if (cancelled()) return absl::CancelledError("not wanted any more");
  if (code == CURLE_WRITE_ERROR)
    return absl::FailedPreconditionError("its answer is too long for credentials");
  if (code != CURLE_OK) return absl::UnavailableError(curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  return answer;
}

}  // namespace

absl::Status AwsRole::WrongAnswer(const std::string& url, const std::string& what) const {
  return absl::FailedPreconditionError(
      fmt::format("{} {}; expected the credentials of the {}'s role", url, what, whose_));
}

absl::StatusOr<std::optional<AwsCredentials>> AwsRole::Get(const std::function<bool()>& cancelled) {
  const MutexLock lock(mutex_);
  if (found_.has_value() && Clock::now() < found_->until) return found_->credentials;
  absl::StatusOr<Found> found = Find(cancelled);
  if (!found.ok()) return found.status();
  found_ = *std::move(found);
  return found_->credentials;
}

absl::StatusOr<AwsRole::Found> AwsRole::Find(const Cancelled& cancelled) const {
  if (const std::string path = variable_("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); !path.empty())
    return AskContainer(kContainerHost + path, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", cancelled);
  if (const std::string url = variable_("AWS_CONTAINER_CREDENTIALS_FULL_URI"); !url.empty())
    return AskContainer(url, "AWS_CONTAINER_CREDENTIALS_FULL_URI", cancelled);
  std::string disabled = variable_("AWS_EC2_METADATA_DISABLED");
  std::transform(disabled.begin(), disabled.end(), disabled.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (disabled == "true") return Found{std::nullopt, Clock::time_point::max()};
  return AskMachine(cancelled);
}

absl::StatusOr<AwsRole::Found> AwsRole::AskContainer(const std::string& url, const char* variable,
                                                     const Cancelled& cancelled) const {
  const bool plain = url.starts_with("http://");
  if ((!plain && !url.starts_with("https://")) || (plain && !IsOfThisMachine(HostOf(url)))) {
    return absl::FailedPreconditionError(
        fmt::format("{} of the {} is {}; expected https://, or http:// with an address of the machine",
                    variable, whose_, url));
  }
  std::string token = variable_("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string path = variable_("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !path.empty()) {
    const absl::StatusOr<std::string> text = ReadFile(path);
    if (!text.ok()) {
      return absl::FailedPreconditionError(
          fmt::format("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: {}: {}", path, MessageOf(text.status())));
    }
    token = WithoutOuterBlanks(*text);
  }
  Request request{url};
  if (!token.empty()) {
    if (!IsOneLine(token)) {
      return absl::FailedPreconditionError(
          "AWS_CONTAINER_AUTHORIZATION_TOKEN has several lines; expected one of printable characters");
    }
    request.headers.push_back("Authorization: " + token);
  }
  const absl::StatusOr<Answer> answer = Ask(request, cancelled);
  if (absl::IsCancelled(answer.status())) return answer.status();
  if (!answer.ok())
    return WrongAnswer(fmt::format("{} ({})", url, variable), "gave none: " + MessageOf(answer.status()));
  if (answer->status != 200)
    return WrongAnswer(fmt::format("{} ({})", url, variable), fmt::format("answered {}", answer->status));
  return FromJson(answer->text, url, fmt::format("of the {}'s container, from {}", whose_, url));
}

absl::StatusOr<AwsRole::Found> AwsRole::AskMachine(const Cancelled& cancelled) const {
  const Found none{std::nullopt, Clock::now() + kNoRolePause};
  const std::string named = variable_("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  std::string host = named;
  if (host.empty())
    host = variable_("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE") == "IPv6" ? kMachineHostIpv6 : kMachineHost;
  while (host.ends_with('/')) host.pop_back();
  if (!host.starts_with("http://") && !host.starts_with("https://")) {
    return absl::FailedPreconditionError(fmt::format(
        "AWS_EC2_METADATA_SERVICE_ENDPOINT of the {} is {}; expected http:// or https://", whose_, host));
  }
  const auto failed = [&](const std::string& url, const absl::StatusOr<Answer>& answer) {
    return answer.ok() ? WrongAnswer(url, fmt::format("answered {}", answer->status))
                       : WrongAnswer(url, "gave none: " + MessageOf(answer.status()));
  };

  Request session{host + "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds: 21600"}};
  session.puts = true;
  const absl::StatusOr<Answer> token = Ask(session, cancelled);
  if (absl::IsCancelled(token.status())) return token.status();
  if (!token.ok() || token->status != 200 || !IsOneLine(WithoutOuterBlanks(token->text))) {
    if (named.empty()) return none;  // this is no machine of EC2
    return failed(session.url, token);
  }
  const std::vector<std::string> headers = {
      fmt::format("X-aws-ec2-metadata-token: {}", WithoutOuterBlanks(token->text))};
  const std::string roles = host + "/latest/meta-data/iam/security-credentials/";
  const absl::StatusOr<Answer> role = Ask({roles, headers}, cancelled);
  if (absl::IsCancelled(role.status())) return role.status();
  if (role.ok() && role->status == 404) return none;  // the machine has no role
  const std::string_view text = role.ok() ? WithoutOuterBlanks(role->text) : std::string_view();
  const std::string name(text.substr(0, text.find_first_of("\r\n")));
  if (!role.ok() || role->status != 200 || !IsOneLine(name)) return failed(roles, role);
  const absl::StatusOr<Answer> answer = Ask({roles + AwsEncoded(name, false), headers}, cancelled);
  if (absl::IsCancelled(answer.status())) return answer.status();
  if (!answer.ok() || answer->status != 200) return failed(roles + name, answer);
  return FromJson(answer->text, roles + name,
                  fmt::format("of the {}'s role {}, from {}", whose_, name, host));
}

absl::StatusOr<AwsRole::Found> AwsRole::FromJson(const std::string& text, const std::string& url,
                                                 const std::string& origin) const {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  const auto value = [&json](const char* name) -> std::string {
    const auto found = json.is_object() ? json.find(name) : json.end();
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
  };
  Found found{AwsCredentials{value("AccessKeyId"), value("SecretAccessKey"), value("Token"), origin},
              Clock::now() + kUnlimited};
  for (const std::string& word : {found.credentials->id, found.credentials->secret}) {
    if (!IsOneLine(word)) return WrongAnswer(url, "answered without AccessKeyId or SecretAccessKey");
  }
  if (!found.credentials->token.empty() && !IsOneLine(found.credentials->token))
    return WrongAnswer(url, "answered with a Token that is none");
  if (const std::string expiration = value("Expiration"); !expiration.empty()) {
    absl::Time end;
    std::string ignored;
    if (!absl::ParseTime(absl::RFC3339_full, expiration, &end, &ignored))
      return WrongAnswer(url, "answered with an Expiration that is no time");
    if (end <= absl::Now()) {
      return absl::FailedPreconditionError(
          fmt::format("the credentials {} have expired at {}; expected ones that are valid", origin,
                      absl::FormatTime(absl::RFC3339_sec, end, absl::UTCTimeZone())));
    }
    // Where a service gives them for less time than that, they are asked for each time.
    found.until = absl::ToChronoTime(end) - kRenewBefore;
  }
  return found;
}

}  // namespace winnow

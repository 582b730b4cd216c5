#include "worker/data/http_get.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "aws/requests.h"
#include "fmt/format.h"

namespace winnow {
namespace {

constexpr long kConnectSeconds = 15;
constexpr long kSilentSeconds = 30;  // without a byte: the connection is taken for dead
constexpr long kMostRedirections = 5;
constexpr size_t kMostErrorBytes = 4096;
constexpr long kReceiveBytes = 256 << 10;

struct CurlEnd {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// Keeps its connections for the next request of the thread.
CURL* HandleOfThread() {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  thread_local std::unique_ptr<CURL, CurlEnd> handle;
  if (initialised == CURLE_OK && handle == nullptr) handle.reset(curl_easy_init());
  if (handle != nullptr) curl_easy_reset(handle.get());
  return handle.get();
}

struct HttpExchange {
  const HttpBody& body;
  const Cancellation& cancellation;
  CURL* handle;
  HttpAnswer answer;
  absl::Status refused;  // by the body's receiver
};

size_t TakeHeader(char* data, size_t size, size_t count, void* user) {
  auto& exchange = *static_cast<HttpExchange*>(user);
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {  // of another response: after a redirection, or "100 Continue"
    exchange.answer.head.headers.clear();
    return size * count;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size * count;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string_view value = line.substr(colon + 1);
  const size_t begin = value.find_first_not_of(" \t\r\n");
  exchange.answer.head.headers[name] =
      begin == std::string_view::npos
          ? ""
          : std::string(value.substr(begin, value.find_last_not_of(" \t\r\n") + 1 - begin));
  return size * count;
}

size_t TakeBody(char* data, size_t size, size_t count, void* user) {
  auto& exchange = *static_cast<HttpExchange*>(user);
  long status = 0;
  curl_easy_getinfo(exchange.handle, CURLINFO_RESPONSE_CODE, &status);
  exchange.answer.head.status = static_cast<int>(status);
  const std::string_view bytes(data, size * count);
  if (status != 200 && status != 206) {
    std::string& kept = exchange.answer.error_body;
    kept += bytes.substr(0, kMostErrorBytes - std::min(kept.size(), kMostErrorBytes));
    return size * count;
  }
  exchange.refused = exchange.cancellation.cancelled() ? absl::CancelledError("not wanted any more")
                                                       : exchange.body(exchange.answer.head, bytes);
  return exchange.refused.ok() ? size * count : 0;
}

int LookWhetherCancelled(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<HttpExchange*>(user)->cancellation.cancelled() ? 1 : 0;
}

}  // namespace

std::string HttpHead::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

absl::StatusOr<HttpAnswer> HttpGet(const HttpRequest& request, const HttpBody& body,
                                   const Cancellation& cancellation) {
  CURL* const curl = HandleOfThread();
  if (curl == nullptr) return absl::ResourceExhaustedError("libcurl cannot be used");
  HttpExchange exchange{body, cancellation, curl, {}, absl::OkStatus()};
  std::unique_ptr<curl_slist, CurlEnd> headers;
  const auto add = [&headers](const std::string& line) {
    curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
    if (longer != nullptr) {
      static_cast<void>(headers.release());
      headers.reset(longer);
    }
  };
  for (const std::string& line : request.headers) add(line);
  const bool secure = request.url.starts_with("https://");
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kMostRedirections);
  // The path is signed, or in a job's file, as it is.
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "winnow-worker");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  if (!request.slow_reader) {
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
  }
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, kReceiveBytes);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, TakeHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, TakeBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, LookWhetherCancelled);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
  if (request.access == nullptr) {
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  } else if (const AwsCredentials& keys = request.access->credentials; !keys.id.empty()) {
    SignForS3(curl, keys, request.access->region, kEmptySha256, add);
  }
  if (headers != nullptr) curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());

  const CURLcode code = curl_easy_perform(curl);
  if (!exchange.refused.ok()) return exchange.refused;
  if (cancellation.cancelled()) return absl::CancelledError("not wanted any more");
  if (code != CURLE_OK) return absl::UnavailableError(curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  exchange.answer.head.status = static_cast<int>(status);
  return std::move(exchange.answer);
}

}  // namespace winnow

#include "server/host/pools/kubernetes/connection.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "server/host/pools/curl_headers.h"

namespace winnow {
namespace {

constexpr long kConnectMilliseconds = 10'000;
constexpr size_t kMostBodyBytes = 64 << 20;
constexpr long kKeepAliveSeconds = 20;

struct ApiExchange {
  CURL* handle;
  const BodyReceiver& receiver;
  ApiResponse response;
  absl::Status refused;
  bool opened = false;

  bool Streams() {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    response.status = static_cast<int>(status);
    return receiver && status == 200;
  }
};

size_t TakeHeaderLine(char* data, size_t size, size_t count, void* user) {
  auto& exchange = *static_cast<ApiExchange*>(user);
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) exchange.response.headers.clear();
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::string_view value = line.substr(colon + 1);
    const size_t begin = value.find_first_not_of(" \t\r\n");
    exchange.response.headers[name] =
        begin == std::string_view::npos
            ? ""
            : std::string(value.substr(begin, value.find_last_not_of(" \t\r\n") + 1 - begin));
  } else if (line == "\r\n" && !exchange.opened && exchange.Streams()) {
    exchange.opened = true;
    exchange.refused = exchange.receiver("");
    if (!exchange.refused.ok()) return 0;
  }
  return size * count;
}

size_t TakeBodyBytes(char* data, size_t size, size_t count, void* user) {
  auto& exchange = *static_cast<ApiExchange*>(user);
  const std::string_view bytes(data, size * count);
  if (exchange.Streams()) {
    exchange.refused = exchange.receiver(bytes);
    return exchange.refused.ok() ? bytes.size() : 0;
  }
  if (exchange.response.body.size() + bytes.size() > kMostBodyBytes) {
    exchange.refused = absl::UnavailableError(
        fmt::format("the API server's answer has more than {} MiB", kMostBodyBytes >> 20));
    return 0;
  }
  exchange.response.body += bytes;
  return bytes.size();
}

void SetBlob(CURL* handle, CURLoption option, const std::string& text) {
  if (text.empty()) return;
  curl_blob blob = {const_cast<char*>(text.data()), text.size(), CURL_BLOB_COPY};
  curl_easy_setopt(handle, option, &blob);
}

}  // namespace

struct ApiConnection::Handles {
  CURL* easy = nullptr;
  CURLM* multi = nullptr;
  ~Handles() {
    if (easy != nullptr) curl_easy_cleanup(easy);
    if (multi != nullptr) curl_multi_cleanup(multi);
  }
};

absl::StatusOr<std::unique_ptr<ApiConnection>> ApiConnection::Make() {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  auto handles = std::make_unique<Handles>();
  if (initialised == CURLE_OK) {
    handles->easy = curl_easy_init();
    handles->multi = curl_multi_init();
  }
  if (handles->easy == nullptr || handles->multi == nullptr)
    return absl::ResourceExhaustedError("libcurl cannot be used");
  return std::unique_ptr<ApiConnection>(new ApiConnection(std::move(handles)));
}

ApiConnection::ApiConnection(std::unique_ptr<Handles> handles) : handles_(std::move(handles)) {}

ApiConnection::~ApiConnection() = default;

void ApiConnection::Stop() {
  stopped_ = true;
  curl_multi_wakeup(handles_->multi);
}

absl::StatusOr<ApiResponse> ApiConnection::Send(const KubernetesAccess& access, const ApiRequest& request,
                                                const BodyReceiver& receiver) {
  CURL* const easy = handles_->easy;
  curl_easy_reset(easy);
  ApiExchange exchange{easy, receiver, {}, absl::OkStatus()};
  const std::string url = access.server + request.target;
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "winnow-server/" WINNOW_VERSION);
  curl_easy_setopt(easy, CURLOPT_PROXY, access.proxy.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectMilliseconds);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.longest.count()));
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
                   static_cast<long>(std::chrono::ceil<std::chrono::seconds>(request.silent).count()));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, kKeepAliveSeconds);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, kKeepAliveSeconds);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, access.verify ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, access.verify ? 2L : 0L);
  SetBlob(easy, CURLOPT_CAINFO_BLOB, access.authorities);
  SetBlob(easy, CURLOPT_SSLCERT_BLOB, access.certificate);
  SetBlob(easy, CURLOPT_SSLKEY_BLOB, access.key);
  CurlHeaders headers;
  headers.Add("Accept: application/json");
  headers.Add("Expect:");
  if (!access.token.empty()) headers.Add("Authorization: Bearer " + access.token);
  if (!request.body.empty()) {
    headers.Add("Content-Type: application/json");
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, TakeHeaderLine);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, TakeBodyBytes);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
  char error[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);

  CURLcode code = CURLE_FAILED_INIT;
  curl_multi_add_handle(handles_->multi, easy);
  while (!stopped_) {
    int running = 0;
    if (curl_multi_perform(handles_->multi, &running) != CURLM_OK) break;
    if (running == 0) {
      int left = 0;
      if (const CURLMsg* message = curl_multi_info_read(handles_->multi, &left); message != nullptr)
        code = message->data.result;
      break;
    }
    curl_multi_poll(handles_->multi, nullptr, 0, 1000, nullptr);
  }
  curl_multi_remove_handle(handles_->multi, easy);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, nullptr);
  if (!exchange.refused.ok()) return exchange.refused;
  if (stopped_) return absl::CancelledError("stopped");
  if (code != CURLE_OK)
    return absl::UnavailableError(
        fmt::format("{}: {}", access.server, error[0] != '\0' ? error : curl_easy_strerror(code)));
  exchange.Streams();  // reads the status
  return std::move(exchange.response);
}

}  // namespace winnow

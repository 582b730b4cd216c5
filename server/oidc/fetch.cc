#include "server/oidc/fetch.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>

#include "server/host/pools/curl_headers.h"

namespace winnow {
namespace {

constexpr long kMostMs = 10'000;
constexpr size_t kMostBytes = 1 << 20;

struct FetchEnd {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

size_t TakeBytes(char* bytes, size_t size, size_t count, void* user) {
  auto& body = *static_cast<std::string*>(user);
  if (body.size() + size * count > kMostBytes) return 0;
  body.append(bytes, size * count);
  return size * count;
}

int StopsFetch(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return *static_cast<const std::atomic<bool>*>(stop) ? 1 : 0;
}

std::string Escaped(const std::string& text) {
  char* escaped = curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size()));
  if (escaped == nullptr) return "";
  std::string copy(escaped);
  curl_free(escaped);
  return copy;
}

// What a log may have of a URL.
std::string PlaceOf(const std::string& url) { return url.substr(0, url.find_first_of("?#")); }

}  // namespace

std::string EncodeForm(const OidcForm& form) {
  std::string text;
  for (const auto& [name, value] : form) {
    text += fmt::format("{}{}={}", text.empty() ? "" : "&", Escaped(name), Escaped(value));
  }
  return text;
}

absl::StatusOr<OidcAnswer> FetchOidc(const OidcRequest& request, const std::string& tls_ca,
                                     const std::atomic<bool>& stop) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, FetchEnd> handle(initialised == CURLE_OK ? curl_easy_init() : nullptr);
  CURL* const easy = handle.get();
  if (easy == nullptr) return absl::UnavailableError("libcurl could not be started");
  CurlHeaders headers;
  headers.Add("Accept: application/json");
  headers.Add("Expect:");
  if (!request.bearer.empty()) headers.Add("Authorization: Bearer " + request.bearer);
  OidcAnswer answer;
  const std::string body = EncodeForm(request.form);
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "winnow-server/" WINNOW_VERSION);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, kMostMs);
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  if (!tls_ca.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, tls_ca.c_str());
  if (request.basic != nullptr) {
    // RFC 6749, 2.3.1: both are encoded as in a form.
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(easy, CURLOPT_USERNAME, Escaped(request.basic->id).c_str());
    curl_easy_setopt(easy, CURLOPT_PASSWORD, Escaped(request.basic->secret).c_str());
  }
  if (!request.form.empty()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.c_str());
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, TakeBytes);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer.body);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, StopsFetch);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, const_cast<std::atomic<bool>*>(&stop));
  char error[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
  const CURLcode code = curl_easy_perform(easy);
  if (code != CURLE_OK) {
    return absl::UnavailableError(fmt::format("the provider does not answer at {}: {}", PlaceOf(request.url),
                                              error[0] != '\0' ? error : curl_easy_strerror(code)));
  }
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  return answer;
}

}  // namespace winnow

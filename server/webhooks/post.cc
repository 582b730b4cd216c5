#include "server/webhooks/post.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <memory>
#include <utility>

#include "base/utf8.h"
#include "server/host/pools/curl_headers.h"

namespace winnow {
namespace {

struct PostEnd {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

constexpr size_t kMostAnswer = 65'536;

// What a webhook answers beside the status is not kept; what is longer than kMostAnswer is not waited for.
size_t DropBytes(char*, size_t size, size_t count, void* had) {
  size_t& bytes = *static_cast<size_t*>(had);
  bytes += size * count;
  return bytes <= kMostAnswer ? size * count : 0;
}

int StopsPost(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return *static_cast<const std::atomic<bool>*>(stop) ? 1 : 0;
}

}  // namespace

std::string SignatureOf(const std::string& secret, int64_t time_s, const std::string& body) {
  const std::string signed_text = fmt::format("{}.{}", time_s, body);
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(), mac, &length);
  std::string text = "sha256=";
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", mac[i]);
  return text;
}

WebhookAnswer SendPost(const DeclaredWebhook& webhook, const WebhookPost& post,
                       const std::atomic<bool>& stop) {
  const std::unique_ptr<CURL, PostEnd> handle(curl_easy_init());
  CURL* const easy = handle.get();
  if (easy == nullptr) return {false, "libcurl could not be started"};
  CurlHeaders headers;
  headers.Add("Content-Type: application/json");
  headers.Add("Expect:");
  headers.Add("Winnow-Event: " + post.event);
  headers.Add(fmt::format("Winnow-Delivery: {}", post.delivery));
  headers.Add(fmt::format("Winnow-Timestamp: {}", post.time_s));
  headers.Add("Winnow-Signature: " + SignatureOf(webhook.secret, post.time_s, post.body));
  curl_easy_setopt(easy, CURLOPT_URL, webhook.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "winnow-server/" WINNOW_VERSION);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(webhook.timeout.count()));
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  if (!webhook.tls_ca.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, webhook.tls_ca.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, post.body.data());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post.body.size()));
  size_t had = 0;
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, DropBytes);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &had);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, StopsPost);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, const_cast<std::atomic<bool>*>(&stop));
  char error[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
  const CURLcode code = curl_easy_perform(easy);
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  // The status counts, also if the rest of the answer does not end or breaks off.
  if (code != CURLE_OK && status < 200) return {false, error[0] != '\0' ? error : curl_easy_strerror(code)};
  std::string text = fmt::format("status {}", status);
  const char* elsewhere = nullptr;
  curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &elsewhere);
  if (status >= 300 && status < 400 && elsewhere != nullptr) {
    text += fmt::format(": a redirection to {}, which is not followed; expected the final URL",
                        ValidUtf8(AddressOfUrl(elsewhere)));
  }
  return {status >= 200 && status < 300, std::move(text)};
}

}  // namespace winnow

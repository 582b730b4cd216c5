#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "server/webhooks/webhooks_file.h"

namespace winnow {

// What is sent to a webhook.
struct WebhookPost {
  std::string event;  // the name of its kind
  int64_t delivery = 0;
  int64_t time_s = 0;  // of the attempt, since the Unix epoch
  std::string body;    // JSON
};

// "sha256=" and HMAC-SHA256 of TIME "." BODY in hexadecimal: the header Winnow-Signature.
std::string SignatureOf(const std::string& secret, int64_t time_s, const std::string& body);

struct WebhookAnswer {
  bool delivered = false;  // answered with a status of 200 to 299
  std::string text;        // the status, or why there was none
};
// Sends it once; follows no redirection. Ends early when `stop` becomes true.
WebhookAnswer SendPost(const DeclaredWebhook& webhook, const WebhookPost& post,
                       const std::atomic<bool>& stop);

}  // namespace winnow

#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "server/webhooks/post.h"
#include "server/webhooks/webhooks_file.h"
#include "winnow/v1/webhooks.pb.h"

namespace winnow {

// The message as RFC 5322 has it, with lines that end in '\n'. Whatever the event's texts are, they are one
// line of a header or inside the encoded body. `sent_s`: since the Unix epoch.
std::string MailText(const DeclaredMail& mail, const v1::Event& event, int64_t delivery, int64_t sent_s);

// Hands it to the sendmail of `webhook`, which is one of mail; delivered if that ends with 0. Ends early when
// `stop` becomes true.
WebhookAnswer SendMail(const DeclaredWebhook& webhook, const v1::Event& event, int64_t delivery,
                       int64_t sent_s, const std::atomic<bool>& stop);

}  // namespace winnow

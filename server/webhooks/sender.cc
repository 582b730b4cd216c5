#include "server/webhooks/sender.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/status_text.h"
#include "json/message_json.h"
#include "server/webhooks/mail.h"
#include "server/webhooks/post.h"

namespace winnow {
namespace {

constexpr int64_t kTidyEveryUs = 60'000'000;  // removes up to 1,000 each time
constexpr int64_t kAgainUs = 1'000'000;       // after a batch that could not be recorded

}  // namespace

WebhookSender::WebhookSender(Coordinator& coordinator, Hub& hub, std::shared_ptr<WebhookOutbox> outbox)
    : coordinator_(coordinator), hub_(hub), outbox_(std::move(outbox)) {
  subscription_ = hub_.Subscribe(kDeliveryTopic, [this] {
    {
      MutexLock lock(mutex_);
      ++recorded_;
    }
    wake_.NotifyAll();
  });
  (void)coordinator_.CallOrRollBack<absl::Status>(
      [this](Engine& engine) { return outbox_->Begin(engine.context()); });
  Tidy();
  for (const DeclaredWebhook& webhook : outbox_->webhooks())
    threads_.emplace_back([this, &webhook] { Run(webhook); });
}

void WebhookSender::Tidy() {
  (void)coordinator_.CallOrRollBack<absl::Status>(
      [this](Engine& engine) { return outbox_->Tidy(engine.context()); });
}

WebhookSender::~WebhookSender() { Stop(); }

void WebhookSender::Stop() {
  if (stopping_.exchange(true)) return;
  hub_.Unsubscribe(subscription_);
  {
    MutexLock lock(mutex_);
    ++recorded_;
  }
  wake_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

void WebhookSender::Run(const DeclaredWebhook& webhook) {
  const bool tidies = &webhook == &outbox_->webhooks().front();
  auto tidy_due = std::chrono::steady_clock::now() + std::chrono::microseconds(kTidyEveryUs);
  while (!stopping_) {
    int64_t seen = 0;
    {
      MutexLock lock(mutex_);
      seen = recorded_;
    }
    if (tidies && std::chrono::steady_clock::now() >= tidy_due) {
      Tidy();
      tidy_due += std::chrono::microseconds(kTidyEveryUs);
    }
    const int64_t wait_us = SendDue(webhook);
    const auto until =
        std::chrono::steady_clock::now() +
        std::chrono::microseconds(wait_us < 0 ? kTidyEveryUs : std::min(wait_us, kTidyEveryUs));
    MutexLock lock(mutex_);
    while (!stopping_ && recorded_ == seen && wake_.WaitUntil(mutex_, until)) {
    }
  }
}

int64_t WebhookSender::SendDue(const DeclaredWebhook& webhook) {
  while (!stopping_) {
    absl::StatusOr<WebhookOutbox::Next> next =
        coordinator_.CallOrRollBack<absl::StatusOr<WebhookOutbox::Next>>(
            [&](Engine& engine) { return outbox_->Take(engine.context(), webhook); });
    if (!next.ok()) {
      spdlog::warn("webhook {}: nothing could be recorded: {}", webhook.name, MessageOf(next.status()));
      return kAgainUs;
    }
    if (!next->row) return next->wait_us;
    DeliveryRow& row = *next->row;
    WebhookAnswer answer{false, ""};
    const absl::StatusOr<v1::Event> event = EventOfRow(row);
    const int64_t now_s =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    if (event.ok() && webhook.mail) {
      answer = SendMail(webhook, *event, row.number, now_s, stopping_);
    } else if (event.ok()) {
      WebhookPost post;
      post.event = v1::Event::Kind_Name(event->kind());
      post.delivery = row.number;
      post.time_s = now_s;
      post.body = MessageJson(*event, JsonLayout::kOneLine);
      answer = SendPost(webhook, post, stopping_);
    } else {
      answer.text = MessageOf(event.status());
    }
    if (stopping_ && !answer.delivered) return 0;
    if (!answer.delivered) {
      spdlog::warn("webhook {}: attempt {} of delivery {} failed: {}", webhook.name, row.attempts, row.number,
                   answer.text);
    }
    const absl::Status sent = coordinator_.CallOrRollBack<absl::Status>([&](Engine& engine) {
      return outbox_->Sent(engine.context(), webhook, row, answer.delivered, answer.text);
    });
    // It is sent once more: it is told at least once.
    if (!sent.ok()) return kAgainUs;
  }
  return 0;
}

}  // namespace winnow

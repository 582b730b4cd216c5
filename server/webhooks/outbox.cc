#include "server/webhooks/outbox.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "server/engine/answers/messages.h"

namespace winnow {
namespace {

using google::protobuf::util::TimeUtil;

constexpr int64_t kMostLookedAt = 1'000;
constexpr int64_t kLongestWaitUs = 600'000'000;
constexpr int64_t kKeptUs = 30LL * 86'400'000'000;
constexpr int64_t kMostRemoved = 1'000;
constexpr int kMostDoublings = 30;

bool Wants(const DeclaredWebhook& webhook, const v1::Event& event) {
  if (!webhook.events.contains(event.kind())) return false;
  return event.job_id().empty() || webhook.jobs.empty() ||
         fnmatch(webhook.jobs.c_str(), event.job_id().c_str(), 0) == 0;
}

int64_t WaitAfter(const DeclaredWebhook& webhook, int64_t attempts) {
  const auto doublings = static_cast<int>(std::clamp<int64_t>(attempts - 1, 0, kMostDoublings));
  const int64_t first_us = std::chrono::microseconds(webhook.first_wait).count();
  return std::min(std::max(kLongestWaitUs, first_us), first_us << doublings);
}

}  // namespace

absl::StatusOr<v1::Event> EventOfRow(const DeliveryRow& row) {
  v1::Event event;
  if (google::protobuf::util::JsonStringToMessage(row.event, &event).ok()) return event;
  return absl::DataLossError(fmt::format("the event of delivery {} cannot be read", row.number));
}

DeliveryTable& WebhookOutbox::TableOf(Context& context) {
  if (table_ == nullptr) table_ = std::make_unique<DeliveryTable>(context.store.database());
  return *table_;
}

absl::Status WebhookOutbox::Insert(Context& context, const DeclaredWebhook& webhook, v1::Event event,
                                   DeliveryRow* made) {
  DeliveryRow row;
  row.create_us = row.next_us = context.wall_us();
  *event.mutable_time() = TimeUtil::MicrosecondsToTimestamp(row.create_us);
  row.webhook = webhook.name;
  row.job = event.job_id();
  row.event = ToStoredJson(event);
  row.replaceable = event.kind() == v1::Event::BEST_IMPROVED;
  const absl::Status status = TableOf(context).Insert(row);
  if (status.ok() && made != nullptr) *made = row;
  context.Publish(kDeliveryTopic);
  return status;
}

void WebhookOutbox::Tell(Context& context, const v1::Event& event) {
  for (const DeclaredWebhook& webhook : webhooks_) {
    if (Wants(webhook, event)) context.Note(Insert(context, webhook, event));
  }
}

absl::StatusOr<v1::Delivery> WebhookOutbox::Test(Context& context, const std::string& name) {
  for (const DeclaredWebhook& webhook : webhooks_) {
    if (webhook.name != name) continue;
    v1::Event event;
    event.set_kind(v1::Event::TEST);
    event.set_text("A test of the webhook.");
    DeliveryRow row;
    const absl::Status status = Insert(context, webhook, event, &row);
    if (!status.ok()) {
      context.Note(status);
      return status;
    }
    v1::Delivery delivery;
    delivery.set_number(row.number);
    delivery.set_webhook(name);
    const absl::StatusOr<v1::Event> kept = EventOfRow(row);
    if (!kept.ok()) return kept.status();
    *delivery.mutable_event() = *kept;
    delivery.set_state(v1::Delivery::WAITING);
    *delivery.mutable_create_time() = TimeUtil::MicrosecondsToTimestamp(row.create_us);
    *delivery.mutable_next_time() = TimeUtil::MicrosecondsToTimestamp(row.next_us);
    return delivery;
  }
  std::vector<std::string> known;
  for (const DeclaredWebhook& webhook : webhooks_) known.push_back(webhook.name);
  return absl::NotFoundError(
      known.empty() ? fmt::format("there is no webhook \"{}\"; this server has none", name)
                    : fmt::format("there is no webhook \"{}\"; expected {}", name, fmt::join(known, " or ")));
}

absl::StatusOr<v1::ListWebhooksResponse> WebhookOutbox::List(Context& context) {
  v1::ListWebhooksResponse response;
  for (const DeclaredWebhook& webhook : webhooks_) {
    v1::Webhook& message = *response.add_webhooks();
    message.set_name(webhook.name);
    message.set_address(AddressOf(webhook));
    for (const v1::Event::Kind kind : webhook.events) message.add_events(kind);
    message.set_jobs(webhook.jobs);
    const absl::StatusOr<DeliveryTable::Backlog> backlog = TableOf(context).BacklogOf(webhook.name);
    if (!backlog.ok()) return backlog.status();
    message.set_waiting(backlog->waiting);
    if (backlog->waiting > 0)
      *message.mutable_oldest_waiting_time() = TimeUtil::MicrosecondsToTimestamp(backlog->oldest_us);
  }
  return response;
}

absl::Status WebhookOutbox::Tidy(Context& context) {
  const absl::StatusOr<std::vector<std::string>> awaited = TableOf(context).Awaited();
  if (!awaited.ok()) return awaited.status();
  for (const std::string& name : *awaited) {
    const bool declared = std::any_of(webhooks_.begin(), webhooks_.end(),
                                      [&](const DeclaredWebhook& webhook) { return webhook.name == name; });
    if (declared) continue;
    const absl::Status status =
        TableOf(context).GiveUp(name, context.wall_us(), "the webhook is not declared any more");
    if (!status.ok()) return status;
  }
  return TableOf(context).RemoveEndedBefore(context.wall_us() - kKeptUs, kMostRemoved);
}

absl::StatusOr<WebhookOutbox::Next> WebhookOutbox::Take(Context& context, const DeclaredWebhook& webhook) {
  absl::StatusOr<std::vector<DeliveryRow>> rows = TableOf(context).Waiting(webhook.name, kMostLookedAt);
  if (!rows.ok()) return rows.status();
  const int64_t now_us = context.wall_us();
  std::set<std::string> jobs;
  int64_t next_us = std::numeric_limits<int64_t>::max();
  for (DeliveryRow& row : *rows) {
    // A later event of a job waits until the earlier one is delivered or given up.
    if (!row.job.empty() && !jobs.insert(row.job).second) continue;
    if (row.next_us > now_us) {
      next_us = std::min(next_us, row.next_us);
      continue;
    }
    ++row.attempts;
    const absl::Status status = TableOf(context).Update(row);
    if (!status.ok()) return status;
    return Next{std::move(row), 0};
  }
  return Next{std::nullopt, rows->empty() ? -1 : next_us - now_us};
}

absl::Status WebhookOutbox::Sent(Context& context, const DeclaredWebhook& webhook, DeliveryRow row,
                                 bool delivered, const std::string& answer) {
  const int64_t now_us = context.wall_us();
  row.answer = answer;
  if (delivered) {
    row.state = DeliveryState::kDelivered;
    row.end_us = now_us;
  } else if (now_us - row.create_us >= std::chrono::microseconds(webhook.give_up_after).count()) {
    row.state = DeliveryState::kGivenUp;
    row.end_us = now_us;
  } else {
    row.next_us = now_us + WaitAfter(webhook, row.attempts);
  }
  return TableOf(context).Update(row);
}

}  // namespace winnow

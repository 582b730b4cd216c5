#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/engine/context.h"
#include "server/webhooks/webhooks_file.h"
#include "store/tables/deliveries.h"
#include "winnow/v1/webhooks.pb.h"

namespace winnow {

// Topic (see Hub) that is published when a delivery was recorded.
inline constexpr char kDeliveryTopic[] = "deliveries";

// What waits for webhooks. Owner: the coordinator thread; all but the constructor REQUIRE a batch.
class WebhookOutbox {
 public:
  explicit WebhookOutbox(std::vector<DeclaredWebhook> webhooks) : webhooks_(std::move(webhooks)) {}

  // Records the event for every webhook that wants it.
  void Tell(Context& context, const v1::Event& event);
  // Records a TEST for this webhook. NOT_FOUND for an unknown one.
  absl::StatusOr<v1::Delivery> Test(Context& context, const std::string& webhook);
  absl::StatusOr<v1::ListWebhooksResponse> List(Context& context);

  // At a start: what waits is tried at once, because the configuration may be another.
  absl::Status Begin(Context& context) { return TableOf(context).MakeDue(context.wall_us()); }
  // Gives up what waits for webhooks that are not declared any more, and forgets what ended long ago.
  absl::Status Tidy(Context& context);

  struct Next {
    std::optional<DeliveryRow> row;  // to be sent now
    int64_t wait_us = 0;  // else: until then nothing falls due that is recorded now; -1: nothing waits
  };
  // The next delivery for a webhook: of each job in the order of the events, one at a time. Its attempt is
  // counted: it is recorded before anything is sent.
  absl::StatusOr<Next> Take(Context& context, const DeclaredWebhook& webhook);
  // What came of it.
  absl::Status Sent(Context& context, const DeclaredWebhook& webhook, DeliveryRow row, bool delivered,
                    const std::string& answer);

  const std::vector<DeclaredWebhook>& webhooks() const { return webhooks_; }

 private:
  DeliveryTable& TableOf(Context& context);
  absl::Status Insert(Context& context, const DeclaredWebhook& webhook, v1::Event event,
                      DeliveryRow* made = nullptr);

  const std::vector<DeclaredWebhook> webhooks_;
  std::unique_ptr<DeliveryTable> table_;  // made at first use
};

// The event of a delivery. DATA_LOSS: it cannot be read.
absl::StatusOr<v1::Event> EventOfRow(const DeliveryRow& row);

}  // namespace winnow

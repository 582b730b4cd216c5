#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "server/engine/coordinator.h"
#include "server/grpc/guard.h"
#include "server/reads/reads.h"
#include "winnow/v1/webhooks.grpc.pb.h"

namespace winnow {

// What WebhookService asks, in a batch of the coordinator; without webhooks both are null.
struct WebhookCalls {
  std::function<absl::StatusOr<v1::ListWebhooksResponse>(Engine&)> list;
  std::function<absl::StatusOr<v1::Delivery>(Engine&, const std::string& webhook)> test;
};

// The gRPC side of webhooks. REQUIRES: coordinator, reader, authority and what the calls use outlive the gRPC
// server.
class WebhookService final : public v1::WebhookService::CallbackService {
 public:
  WebhookService(WebhookCalls calls, Coordinator& coordinator, Reader& reader, Authority& authority)
      : calls_(std::move(calls)),
        coordinator_(coordinator),
        reader_(reader),
        guard_(authority, v1::WebhookService::service_full_name()) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* ListWebhooks(Context*, const v1::ListWebhooksRequest*, v1::ListWebhooksResponse*) override;
  Unary* ListDeliveries(Context*, const v1::ListDeliveriesRequest*, v1::ListDeliveriesResponse*) override;
  Unary* TestWebhook(Context*, const v1::TestWebhookRequest*, v1::Delivery*) override;

 private:
  WebhookCalls calls_;
  Coordinator& coordinator_;
  Reader& reader_;
  Guard guard_;
};

}  // namespace winnow

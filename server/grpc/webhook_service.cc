#include "server/grpc/webhook_service.h"

#include <fmt/format.h>

#include <utility>

#include "server/grpc/audit.h"
#include "server/grpc/errors.h"

namespace winnow {

WebhookService::Unary* WebhookService::ListWebhooks(Context* context, const v1::ListWebhooksRequest*,
                                                    v1::ListWebhooksResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, nullptr, __func__)) return refused;
  Unary* reactor = context->DefaultReactor();
  if (calls_.list == nullptr) {
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  coordinator_.Call<absl::StatusOr<v1::ListWebhooksResponse>>(
      [this](Engine& engine) { return calls_.list(engine); },
      [reactor, response](absl::StatusOr<v1::ListWebhooksResponse> answer) {
        if (answer.ok()) *response = *std::move(answer);
        reactor->Finish(ToGrpc(answer.status()));
      });
  return reactor;
}

WebhookService::Unary* WebhookService::ListDeliveries(Context* context,
                                                      const v1::ListDeliveriesRequest* request,
                                                      v1::ListDeliveriesResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  Unary* reactor = context->DefaultReactor();
  reader_.Post([reactor, request, response](Reads& reads) {
    absl::StatusOr<v1::ListDeliveriesResponse> answer = reads.ListDeliveries(*request);
    if (answer.ok()) *response = *std::move(answer);
    reactor->Finish(ToGrpc(answer.status()));
  });
  return reactor;
}

WebhookService::Unary* WebhookService::TestWebhook(Context* context, const v1::TestWebhookRequest* request,
                                                   v1::Delivery* delivery) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  AuditNote note{"TestWebhook"};
  note.subject = request->name();
  CallAudited<absl::StatusOr<v1::Delivery>>(
      coordinator_, by, std::move(note),
      [this, request](Engine& engine, AuditNote&) -> absl::StatusOr<v1::Delivery> {
        if (calls_.test != nullptr) return calls_.test(engine, request->name());
        return absl::NotFoundError(
            fmt::format("there is no webhook \"{}\"; this server has none", request->name()));
      },
      [reactor, delivery](absl::StatusOr<v1::Delivery> answer) {
        if (answer.ok()) *delivery = *std::move(answer);
        reactor->Finish(ToGrpc(answer.status()));
      });
  return reactor;
}

}  // namespace winnow

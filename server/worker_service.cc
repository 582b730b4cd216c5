#include "server/worker_service.h"

#include "server/errors.h"

namespace winnow {

grpc::ServerUnaryReactor* WorkerService::Sync(grpc::CallbackServerContext* context,
                                              const v1::SyncRequest* request, v1::SyncResponse* response) {
  if (auto* refused = guard_.Refuse<grpc::ServerUnaryReactor>(context, __func__)) return refused;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  coordinator_.Sync(*request, [reactor, response](absl::StatusOr<v1::SyncResponse> answer) {
    if (answer.ok()) *response = *std::move(answer);
    reactor->Finish(ToGrpc(answer.status()));
  });
  return reactor;
}

}  // namespace winnow

#include "server/grpc/worker_service.h"

#include "server/grpc/errors.h"

namespace winnow {

grpc::ServerUnaryReactor* WorkerService::Sync(grpc::CallbackServerContext* context,
                                              const v1::SyncRequest* request, v1::SyncResponse* response) {
  Requester by;
  if (auto* refused = guard_.Refuse<grpc::ServerUnaryReactor>(context, __func__, &by)) return refused;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto finish = [reactor, response](absl::StatusOr<v1::SyncResponse> answer) {
    if (answer.ok()) *response = *std::move(answer);
    reactor->Finish(ToGrpc(answer.status()));
  };
  coordinator_.Sync(*request, finish, by.token_id);
  return reactor;
}

}  // namespace winnow

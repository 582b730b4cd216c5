#include "server/worker_service.h"

#include "server/errors.h"

namespace winnow {

grpc::ServerUnaryReactor* WorkerService::Sync(grpc::CallbackServerContext* context,
                                              const v1::SyncRequest* request, v1::SyncResponse* response) {
  std::string token;
  if (auto* refused = guard_.Refuse<grpc::ServerUnaryReactor>(context, __func__, &token)) return refused;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto finish = [reactor, response](absl::StatusOr<v1::SyncResponse> answer) {
    if (answer.ok()) *response = *std::move(answer);
    reactor->Finish(ToGrpc(answer.status()));
  };
  coordinator_.Sync(*request, finish, std::move(token));
  return reactor;
}

}  // namespace winnow

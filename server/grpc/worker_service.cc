#include "server/grpc/worker_service.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include "server/engine/worker_names.h"
#include "server/grpc/errors.h"
#include "server/grpc/tokens.h"

namespace winnow {

grpc::ServerUnaryReactor* WorkerService::Sync(grpc::CallbackServerContext* context,
                                              const v1::SyncRequest* request, v1::SyncResponse* response) {
  Requester by;
  if (auto* refused = guard_.Refuse<grpc::ServerUnaryReactor>(context, request, __func__, &by))
    return refused;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const std::string allocation = AllocationOfToken(guard_.authority().CallerOf(by.token_id).name);
  if (!allocation.empty() && !IsWorkerOf(allocation, request->name())) {
    reactor->Finish(
        {grpc::StatusCode::PERMISSION_DENIED,
         fmt::format("name: \"{}\" is not one of the workers of allocation {}, to which this token is "
                     "bound; expected {}.NODE or, of a pod, {}-SUFFIX or {}-INDEX-SUFFIX",
                     request->name(), allocation, allocation, allocation, allocation)});
    return reactor;
  }
  if (!by.worker_names.empty() && fnmatch(by.worker_names.c_str(), request->name().c_str(), 0) != 0) {
    reactor->Finish(
        {grpc::StatusCode::PERMISSION_DENIED,
         fmt::format("name: \"{}\" does not match \"{}\", the names of workers to which this token "
                     "is bound",
                     request->name(), by.worker_names)});
    return reactor;
  }
  const auto finish = [reactor, response](absl::StatusOr<v1::SyncResponse> answer) {
    if (answer.ok()) *response = *std::move(answer);
    reactor->Finish(ToGrpc(answer.status()));
  };
  coordinator_.Sync(*request, finish, by.token_id, by.worker_projects);
  return reactor;
}

}  // namespace winnow

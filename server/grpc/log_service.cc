#include "server/grpc/log_service.h"

#include "server/grpc/errors.h"

namespace winnow {

grpc::ServerUnaryReactor* LogService::GetLogTimes(grpc::CallbackServerContext* context,
                                                  const v1::GetLogTimesRequest* request,
                                                  v1::GetLogTimesResponse* response) {
  if (auto* refused = guard_.Refuse<grpc::ServerUnaryReactor>(context, request, __func__)) return refused;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reader_.Post([reactor, request, response](Reads& reads) {
    absl::StatusOr<v1::GetLogTimesResponse> answer = reads.GetLogTimes(*request);
    if (answer.ok()) *response = *std::move(answer);
    reactor->Finish(ToGrpc(answer.status()));
  });
  return reactor;
}

}  // namespace winnow

#include "server/grpc/audit_service.h"

#include "server/grpc/errors.h"

namespace winnow {

grpc::ServerUnaryReactor* AuditService::ListAuditEntries(grpc::CallbackServerContext* context,
                                                         const v1::ListAuditEntriesRequest* request,
                                                         v1::ListAuditEntriesResponse* response) {
  if (auto* refused = guard_.Refuse<grpc::ServerUnaryReactor>(context, request, __func__)) return refused;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reader_.Post([reactor, request, response](Reads& reads) {
    absl::StatusOr<v1::ListAuditEntriesResponse> answer = reads.ListAuditEntries(*request);
    if (answer.ok()) *response = *std::move(answer);
    reactor->Finish(ToGrpc(answer.status()));
  });
  return reactor;
}

}  // namespace winnow

#include "server/grpc/usage_service.h"

#include "server/grpc/errors.h"

namespace winnow {

using Unary = grpc::ServerUnaryReactor;

namespace {

template <typename Message>
void Finish(Unary* reactor, absl::StatusOr<Message> answer, Message* response) {
  if (answer.ok()) *response = *std::move(answer);
  reactor->Finish(ToGrpc(answer.status()));
}

}  // namespace

Unary* UsageService::GetWorkerUsage(Context* context, const v1::GetWorkerUsageRequest* request,
                                    v1::GetWorkerUsageResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, __func__)) return refused;
  Unary* reactor = context->DefaultReactor();
  reader_.Post([=](Reads& reads) { Finish(reactor, reads.GetWorkerUsage(*request), response); });
  return reactor;
}

Unary* UsageService::GetTrialUsage(Context* context, const v1::GetTrialUsageRequest* request,
                                   v1::GetTrialUsageResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, __func__)) return refused;
  Unary* reactor = context->DefaultReactor();
  reader_.Post([=](Reads& reads) { Finish(reactor, reads.GetTrialUsage(*request), response); });
  return reactor;
}

}  // namespace winnow

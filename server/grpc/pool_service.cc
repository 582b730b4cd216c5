#include "server/grpc/pool_service.h"

#include <fmt/format.h>

#include <utility>

#include "server/grpc/errors.h"

namespace winnow {

PoolService::Unary* PoolService::ListPools(Context* context, const v1::ListPoolsRequest*,
                                           v1::ListPoolsResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, nullptr, __func__)) return refused;
  Unary* reactor = context->DefaultReactor();
  const auto finish = [reactor, response](absl::StatusOr<v1::ListPoolsResponse> answer) {
    if (answer.ok()) *response = *std::move(answer);
    reactor->Finish(ToGrpc(answer.status()));
  };
  calls_.list == nullptr ? finish(v1::ListPoolsResponse()) : calls_.list(finish);
  return reactor;
}

PoolService::Unary* PoolService::RenderPool(Context* context, const v1::RenderPoolRequest* request,
                                            v1::RenderPoolResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  Unary* reactor = context->DefaultReactor();
  if (request->nodes() < 0) {
    reactor->Finish(ToGrpc(absl::InvalidArgumentError(
        fmt::format("nodes: {} is out of range; expected 1 or more, or 0 for 1", request->nodes()))));
    return reactor;
  }
  const absl::StatusOr<std::string> text =
      calls_.render == nullptr
          ? absl::NotFoundError(fmt::format("there is no pool \"{}\"; this server has none", request->name()))
          : calls_.render(request->name(), request->nodes());
  if (text.ok()) response->set_text(*text);
  reactor->Finish(ToGrpc(text.status()));
  return reactor;
}

}  // namespace winnow

#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "server/grpc/guard.h"
#include "winnow/v1/pools.grpc.pb.h"

namespace winnow {

// What PoolService asks; without pools both are null.
struct PoolCalls {
  // Calls its argument once, on any thread.
  std::function<void(std::function<void(absl::StatusOr<v1::ListPoolsResponse>)>)> list;
  std::function<absl::StatusOr<std::string>(const std::string& pool, int32_t nodes)> render;
};

// The gRPC side of pools. REQUIRES: authority, and what the calls use, outlive the gRPC server.
class PoolService final : public v1::PoolService::CallbackService {
 public:
  PoolService(PoolCalls calls, Authority& authority)
      : calls_(std::move(calls)), guard_(authority, v1::PoolService::service_full_name()) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* ListPools(Context*, const v1::ListPoolsRequest*, v1::ListPoolsResponse*) override;
  Unary* RenderPool(Context*, const v1::RenderPoolRequest*, v1::RenderPoolResponse*) override;

 private:
  PoolCalls calls_;
  Guard guard_;
};

}  // namespace winnow

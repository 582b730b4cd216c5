#pragma once

#include "server/grpc/guard.h"
#include "server/reads/reads.h"
#include "winnow/v1/usage.grpc.pb.h"

namespace winnow {

// The gRPC side of workers' usage. REQUIRES: reader and authority outlive the gRPC server.
class UsageService final : public v1::UsageService::CallbackService {
 public:
  UsageService(Reader& reader, Authority& authority)
      : reader_(reader), guard_(authority, v1::UsageService::service_full_name()) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* GetWorkerUsage(Context*, const v1::GetWorkerUsageRequest*, v1::GetWorkerUsageResponse*) override;
  Unary* GetTrialUsage(Context*, const v1::GetTrialUsageRequest*, v1::GetTrialUsageResponse*) override;

 private:
  Reader& reader_;
  Guard guard_;
};

}  // namespace winnow

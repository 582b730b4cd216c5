#pragma once

#include "server/engine/coordinator.h"
#include "server/grpc/guard.h"
#include "winnow/v1/worker.grpc.pb.h"

namespace winnow {

// The gRPC side of Sync. REQUIRES: coordinator and authority outlive the gRPC server.
class WorkerService final : public v1::WorkerService::CallbackService {
 public:
  WorkerService(Coordinator& coordinator, Authority& authority)
      : coordinator_(coordinator), guard_(authority, v1::WorkerService::service_full_name()) {}
  grpc::ServerUnaryReactor* Sync(grpc::CallbackServerContext* context, const v1::SyncRequest* request,
                                 v1::SyncResponse* response) override;

 private:
  Coordinator& coordinator_;
  Guard guard_;
};

}  // namespace winnow

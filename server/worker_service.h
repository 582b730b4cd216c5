#pragma once

#include "server/coordinator.h"
#include "winnow/v1/worker.grpc.pb.h"

namespace winnow {

// The wire of Sync. REQUIRES the coordinator outlives the gRPC server.
class WorkerService final : public v1::WorkerService::CallbackService {
 public:
  explicit WorkerService(Coordinator& coordinator) : coordinator_(coordinator) {}
  grpc::ServerUnaryReactor* Sync(grpc::CallbackServerContext* context, const v1::SyncRequest* request,
                                 v1::SyncResponse* response) override;

 private:
  Coordinator& coordinator_;
};

}  // namespace winnow

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "rpc/endpoint.h"
#include "winnow/v1/worker.grpc.pb.h"
#include "worker/sync_client.h"

namespace winnow {

// Sync over gRPC. Thread-safe.
class GrpcSyncClient : public SyncClient {
 public:
  // `endpoint`, if given, is the target of the channel; error messages name it.
  explicit GrpcSyncClient(const std::shared_ptr<grpc::Channel>& channel, Endpoint endpoint = {});
  // Cancels pending calls and waits until every `done` has returned.
  ~GrpcSyncClient() override;

  void Sync(uint64_t number, const v1::SyncRequest& request, std::chrono::milliseconds timeout,
            Done done) override;
  void Cancel(uint64_t number) override;

 private:
  struct Call;

  const std::unique_ptr<v1::WorkerService::Stub> stub_;
  const Endpoint endpoint_;
  Mutex mutex_;
  CondVar ended_;
  std::map<uint64_t, std::shared_ptr<Call>> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

#include "worker/grpc_sync_client.h"

#include <utility>

#include "rpc/channel.h"

namespace winnow {

struct GrpcSyncClient::Call {
  grpc::ClientContext context;
  v1::SyncRequest request;
  v1::SyncResponse response;
};

GrpcSyncClient::GrpcSyncClient(const std::shared_ptr<grpc::Channel>& channel, Endpoint endpoint)
    : stub_(v1::WorkerService::NewStub(channel)), endpoint_(std::move(endpoint)) {}

GrpcSyncClient::~GrpcSyncClient() {
  std::map<uint64_t, std::shared_ptr<Call>> calls;
  MutexLock lock(mutex_);
  calls = calls_;
  lock.Unlock();  // a callback may run inside TryCancel
  for (const auto& [number, call] : calls) call->context.TryCancel();
  lock.Lock();
  while (!calls_.empty()) ended_.Wait(mutex_);
}

void GrpcSyncClient::Sync(uint64_t number, const v1::SyncRequest& request, std::chrono::milliseconds timeout,
                          Done done) {
  const auto call = std::make_shared<Call>();
  call->request = request;
  call->context.set_deadline(std::chrono::system_clock::now() + timeout);
  {
    MutexLock lock(mutex_);
    calls_[number] = call;
  }
  // The callback owns nothing: a context holds the channel, and gRPC's thread must never release the last
  // reference to it.
  stub_->async()->Sync(&call->context, &call->request, &call->response,
                       [this, number, raw = call.get(), done = std::move(done)](const grpc::Status& status) {
                         // gRPC and Abseil use the same numeric codes.
                         done(absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                                           ExplainFailure(endpoint_, status)),
                              std::move(raw->response));
                         MutexLock lock(mutex_);
                         calls_.erase(number);
                         ended_.NotifyAll();
                       });
}

void GrpcSyncClient::Cancel(uint64_t number) {
  std::shared_ptr<Call> call;
  {
    MutexLock lock(mutex_);
    if (const auto found = calls_.find(number); found != calls_.end()) call = found->second;
  }
  if (call != nullptr) call->context.TryCancel();
}

}  // namespace winnow

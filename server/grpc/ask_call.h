#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>

#include "server/engine/coordinator.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {

// One call of SuggestTrials, which the coordinator may hold and forgets when the client disconnects.
class AskCall final : public grpc::ServerUnaryReactor, public std::enable_shared_from_this<AskCall> {
 public:
  static AskCall* Start(Coordinator& coordinator, const v1::SuggestTrialsRequest& request,
                        const Requester& by, v1::SuggestTrialsResponse* response);

  void OnCancel() override { coordinator_.CancelSuggestTrials(ticket_); }
  void OnDone() override;

 private:
  AskCall(Coordinator& coordinator, v1::SuggestTrialsResponse* response)
      : coordinator_(coordinator), response_(response) {}

  Coordinator& coordinator_;
  v1::SuggestTrialsResponse* const response_;
  int64_t ticket_ = 0;
  std::shared_ptr<AskCall> self_;  // until gRPC is done with this call
};

}  // namespace winnow

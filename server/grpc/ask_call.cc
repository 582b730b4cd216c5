#include "server/grpc/ask_call.h"

#include "server/grpc/errors.h"

namespace winnow {

AskCall* AskCall::Start(Coordinator& coordinator, const v1::SuggestTrialsRequest& request,
                        const Requester& by, v1::SuggestTrialsResponse* response) {
  std::shared_ptr<AskCall> call(new AskCall(coordinator, response));
  call->self_ = call;
  AskCall* raw = call.get();
  raw->ticket_ = coordinator.SuggestTrials(
      request,
      [call](absl::StatusOr<v1::SuggestTrialsResponse> answer) {
        if (answer.ok()) *call->response_ = *std::move(answer);
        call->Finish(ToGrpc(answer.status()));
      },
      by);
  return raw;
}

void AskCall::OnDone() { std::shared_ptr<AskCall> last = std::move(self_); }

}  // namespace winnow

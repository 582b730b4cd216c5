#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "server/engine/client_attempts.h"
#include "server/engine/context.h"
#include "server/engine/jobs.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

using SuggestDone = std::function<void(absl::StatusOr<v1::SuggestTrialsResponse>)>;

// SuggestTrials (proto/winnow/v1/tuning.proto): calls that wait for something to train, served in the order
// in which they came. Owner: the coordinator thread.
class SuggestCalls {
 public:
  SuggestCalls(Context& context, Jobs& jobs, ClientAttempts& attempts)
      : context_(context), jobs_(jobs), attempts_(attempts) {}

  // Inside the transaction. `done` is called once, by Answer or RefuseAll. Tickets rise from call to call.
  void Take(int64_t ticket, const v1::SuggestTrialsRequest& request, const Requester& by, SuggestDone done);
  // The client waits no more: the trials that the call was given meanwhile are handed back.
  void Cancel(int64_t ticket);
  void WaitOver(int64_t ticket);
  // Inside the transaction, after all else: gives the waiting calls the trials that there are.
  void Serve();
  // After the commit: answers every call that is due.
  void Answer();
  // Answers every call with `status`. Trials that a call was given are rolled back, or their leases run out.
  void RefuseAll(const absl::Status& status);
  // Inside the transaction. From now on no call is held back.
  void StopHolding();
  size_t held() const { return calls_.size(); }

 private:
  struct Call {
    int64_t job = 0;
    std::string client;
    int count = 0;
    SuggestDone done;
    v1::SuggestTrialsResponse response;
    absl::Status status;
    bool due = false;
  };

  absl::Status Check(const v1::SuggestTrialsRequest& request, const Requester& by, Call& call);
  // False: the job has nothing more for now.
  bool Fill(OpenJob& job, Call& call, int64_t until_us);

  Context& context_;
  Jobs& jobs_;
  ClientAttempts& attempts_;
  bool holding_ = true;
  std::map<int64_t, Call> calls_;  // by ticket
};

}  // namespace winnow

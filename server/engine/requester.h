#pragma once

#include <string>

#include "absl/status/status.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Who makes a request. It owns the jobs that it creates, and may change and fully see only jobs that it owns.
struct Requester {
  std::string name;      // of the token, else "token ID"; "": without a token
  std::string token_id;  // "": none
  bool any = true;       // an admin, or no tokens are required: counts as the owner of every job
  bool worker = false;   // a token of role worker
  std::string address = {};  // the host that it comes from, "unix" over the server's socket; "": not known

  bool Owns(const std::string& owner) const { return any || (!owner.empty() && owner == name); }
  // Whether it may read the source of a job of that owner: workers run it.
  bool MayReadSource(const std::string& owner) const { return worker || Owns(owner); }
  // PERMISSION_DENIED names the job, its owner, and who may.
  absl::Status MayChange(const std::string& job, const std::string& owner) const;
  // Hides what only the owner is shown.
  void Redact(v1::TuningJob& job) const;
  // The recorded reason of a stop by this request.
  std::string StopReason() const { return name.empty() ? "stopped by request" : "stopped by " + name; }
  // "ana (token 3f2a91c4)": one line, whatever the name holds.
  std::string ForLog() const;
};

}  // namespace winnow

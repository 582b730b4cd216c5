#include "worker/outcomes.h"

#include <google/protobuf/util/time_util.h>

#include "base/status_text.h"

namespace winnow {
namespace {

// EX_TEMPFAIL of docs/trainer-contract.md: lost the connection to other ranks
constexpr int kTemporaryFailure = 75;

}  // namespace

v1::Outcome FailedOutcome(std::string reason) {
  v1::Outcome outcome;
  outcome.set_kind(v1::Outcome::FAILED);
  outcome.set_exit_code(127);
  outcome.set_reason(std::move(reason));
  *outcome.mutable_start_time() = google::protobuf::util::TimeUtil::GetCurrentTime();
  *outcome.mutable_end_time() = outcome.start_time();
  return outcome;
}

v1::Outcome NotStartedOutcome(const absl::Status& status) {
  v1::Outcome outcome = FailedOutcome(MessageOf(status));
  if (absl::IsUnavailable(status)) {
    outcome.set_exit_code(kTemporaryFailure);
  } else {
    outcome.set_cause(v1::Outcome::NOT_STARTED);
  }
  return outcome;
}

}  // namespace winnow

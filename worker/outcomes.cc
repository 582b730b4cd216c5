#include "worker/outcomes.h"

#include <google/protobuf/util/time_util.h>

namespace winnow {

v1::Outcome FailedOutcome(std::string reason) {
  v1::Outcome outcome;
  outcome.set_kind(v1::Outcome::FAILED);
  outcome.set_exit_code(127);
  outcome.set_reason(std::move(reason));
  *outcome.mutable_start_time() = google::protobuf::util::TimeUtil::GetCurrentTime();
  *outcome.mutable_end_time() = outcome.start_time();
  return outcome;
}

}  // namespace winnow

#include "spec/new_job.h"

namespace winnow {
namespace {

// One or two failures may be bad configurations. A third without any success is nearly always the job's own.
constexpr int64_t kFirstFailures = 3;

}  // namespace

v1::TuningJobSpec NewJobSpec(v1::TuningJobSpec spec) {
  // Clients that train know by themselves what fails.
  if (!spec.limits().has_max_first_failures() && !spec.trainer().external())
    spec.mutable_limits()->set_max_first_failures(kFirstFailures);
  return spec;
}

}  // namespace winnow

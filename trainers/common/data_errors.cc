#include "trainers/common/data_errors.h"

#include "base/status_text.h"
#include "trainers/collective/group_error.h"

namespace winnow {

absl::Status OfData(const std::string& name, const absl::Status& problem) {
  const bool of_group = RankToBlame(problem).has_value() || absl::IsInternal(problem) ||
                        absl::IsUnavailable(problem) || absl::IsDeadlineExceeded(problem) ||
                        absl::IsCancelled(problem);
  if (problem.ok() || of_group) return problem;
  return absl::Status(problem.code(), name + ": " + MessageOf(problem));
}

}  // namespace winnow

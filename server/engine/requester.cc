#include "server/engine/requester.h"

#include <fmt/format.h>

#include "absl/strings/escaping.h"
#include "spec/hidden_value.h"

namespace winnow {

absl::Status Requester::MayChange(const std::string& job, const std::string& owner) const {
  if (Owns(owner)) return absl::OkStatus();
  if (owner.empty()) {
    return absl::PermissionDeniedError(fmt::format(
        "job \"{}\" has no owner, because it was created without a token; only an admin may do this", job));
  }
  return absl::PermissionDeniedError(
      fmt::format("job \"{}\" belongs to {}; only {} or an admin may do this", job, owner, owner));
}

void Requester::Redact(v1::TuningJob& job) const {
  if (Owns(job.owner())) return;
  for (auto& [variable, value] : *job.mutable_spec()->mutable_trainer()->mutable_environment())
    value = kHiddenValue;
}

std::string Requester::ForLog() const {
  if (token_id.empty()) return "a caller without a token";
  return fmt::format("{} (token {})", absl::CHexEscape(name), token_id);
}

}  // namespace winnow

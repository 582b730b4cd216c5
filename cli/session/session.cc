#include "cli/session/session.h"

#include "absl/strings/cord.h"

namespace winnow::cli {
namespace {

constexpr char kUsagePayload[] = "winnow/usage";

}  // namespace

Client& Session::client() {
  if (connected != nullptr) return *connected;
  absl::StatusOr<Endpoint> server = endpoint;
  if (!endpoint_problem.ok()) server = endpoint_problem;
  connected = std::make_unique<Client>(server, timeout);
  return *connected;
}

std::string Session::Hint(const std::string& arguments) const {
  return "winnow " + arguments + endpoint_flags;
}

absl::Status UsageError(const std::string& message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsagePayload, absl::Cord());
  return status;
}

bool IsUsageError(const absl::Status& status) { return status.GetPayload(kUsagePayload).has_value(); }

}  // namespace winnow::cli

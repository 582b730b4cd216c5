#include "server/errors.h"

#include <fmt/format.h>

#include "absl/strings/cord.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {
namespace {

constexpr char kPayload[] = "winnow.v1.BadRequest";
constexpr size_t kMaxNamed = 5;

}  // namespace

absl::Status ViolationsError(const std::vector<Violation>& violations) {
  v1::BadRequest bad;
  std::string message;
  for (const Violation& violation : violations) {
    v1::BadRequest::FieldViolation* added = bad.add_violations();
    added->set_field(violation.field);
    added->set_description(violation.description);
    if (bad.violations_size() > static_cast<int>(kMaxNamed)) continue;
    message += fmt::format("{}{}: {}", message.empty() ? "" : "; ", violation.field, violation.description);
  }
  if (violations.size() > kMaxNamed) message += fmt::format("; and {} more", violations.size() - kMaxNamed);
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kPayload, absl::Cord(bad.SerializeAsString()));
  return status;
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  std::string details;
  if (auto payload = status.GetPayload(kPayload)) details = std::string(*payload);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()), details);
}

}  // namespace winnow

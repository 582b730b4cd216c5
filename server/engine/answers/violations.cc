#include "server/engine/answers/violations.h"

#include <fmt/format.h>

#include <utility>

#include "absl/strings/cord.h"
#include "base/names.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {
namespace {

constexpr char kPayload[] = "winnow.v1.BadRequest";
constexpr size_t kMaxNamed = 5;
constexpr int kMostListed = 50;
constexpr size_t kMostFieldBytes = 200, kMostDescriptionBytes = 600;
// Clients of gRPC take 8 KiB of metadata, where the details are in base 64.
constexpr size_t kMostDetailsBytes = 3800;

}  // namespace

absl::Status ViolationsError(const std::vector<Violation>& violations) {
  v1::BadRequest bad;
  std::string message;
  size_t bytes = 0;
  for (size_t i = 0; i < violations.size(); ++i) {
    v1::BadRequest::FieldViolation listed;
    listed.set_field(Shortened(violations[i].field, kMostFieldBytes));
    listed.set_description(Shortened(violations[i].description, kMostDescriptionBytes));
    if (i < kMaxNamed)
      message += fmt::format("{}{}: {}", i == 0 ? "" : "; ", listed.field(), listed.description());
    bytes += listed.ByteSizeLong() + 3;
    if (bad.violations_size() == kMostListed || bytes > kMostDetailsBytes) {
      listed.set_field("…");
      listed.set_description(fmt::format("and {} more", violations.size() - i));
      *bad.add_violations() = std::move(listed);
      break;
    }
    *bad.add_violations() = std::move(listed);
  }
  if (violations.size() > kMaxNamed) message += fmt::format("; and {} more", violations.size() - kMaxNamed);
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kPayload, absl::Cord(bad.SerializeAsString()));
  return status;
}

std::string BadRequestOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  return payload ? std::string(*payload) : "";
}

}  // namespace winnow

#include "server/grpc/errors.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/names.h"
#include "server/engine/answers/violations.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {
namespace {

// gRPC clients accept 8 KiB of metadata, where the message is percent-encoded.
constexpr size_t kMostMessageBytes = 2000;

size_t EncodedBytes(std::string_view message) {
  size_t bytes = 0;
  for (const unsigned char c : message) bytes += c >= 0x20 && c <= 0x7e && c != '%' ? 1 : 3;
  return bytes;
}

std::string Fitting(std::string_view message) {
  for (size_t most = kMostMessageBytes;; most = most * 3 / 4) {
    std::string text = Shortened(message, most);
    if (EncodedBytes(text) <= kMostMessageBytes) return text;
  }
}

bool IsInFieldName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || std::string_view("_.[]").find(c) < 4;
}

// "page_size: -1 is out of range" as a violation of page_size; "": the message does not begin with a field.
std::string ViolationIn(std::string_view message) {
  const size_t end = message.find(": ");
  if (end == 0 || end == std::string_view::npos) return "";
  const std::string_view field = message.substr(0, end);
  if (field[0] < 'a' || field[0] > 'z' || !std::all_of(field.begin(), field.end(), IsInFieldName)) return "";
  v1::BadRequest bad;
  bad.add_violations()->set_field(std::string(field));
  bad.mutable_violations(0)->set_description(std::string(message.substr(end + 2)));
  return bad.SerializeAsString();
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message = Fitting({status.message().data(), status.message().size()});
  std::string details = BadRequestOf(status);
  if (details.empty() && absl::IsInvalidArgument(status)) details = ViolationIn(message);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message, details);
}

}  // namespace winnow

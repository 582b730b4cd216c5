#include "server/grpc/errors.h"

#include <string_view>

#include "base/names.h"
#include "server/engine/violations.h"

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

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string_view message(status.message().data(), status.message().size());
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), Fitting(message), BadRequestOf(status));
}

}  // namespace winnow

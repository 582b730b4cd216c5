#include "server/host/pools/kubernetes/event_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "server/host/pools/kubernetes/fields.h"

namespace winnow {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostLineBytes = 16 << 20;
constexpr size_t kMostWords = 1000;

absl::Status TakeLine(std::string_view line, const EventStream::Receiver& receiver) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return absl::OkStatus();
  Json event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const std::string type = TextAt(event, "type");
  const Json& object = FieldAt(event, "object");
  if (type == "ERROR") return ApiError(static_cast<int>(NumberAt(object, "code")), object, "");
  if (type.empty() || !object.is_object())
    return absl::UnavailableError("the API server's watch has a line that is no event");
  receiver(WatchEvent{type, object});
  return absl::OkStatus();
}

}  // namespace

absl::Status EventStream::Take(std::string_view bytes, const Receiver& receiver) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > kMostLineBytes)
      return absl::UnavailableError("an event of the API server's watch is too long");
    line_ += piece;
    if (end == std::string_view::npos) return absl::OkStatus();
    bytes.remove_prefix(end + 1);
    const std::string line = std::move(line_);
    line_.clear();
    if (absl::Status status = TakeLine(line, receiver); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::string OneLine(std::string_view text, size_t most) {
  std::string line;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (line.size() + std::max<size_t>(length, 1) > most) break;
    if (length == 0) {
      line += '?';
    } else if (length == 1 && static_cast<unsigned char>(text[0]) < ' ') {
      if (!line.empty() && line.back() != ' ') line += ' ';
    } else {
      line += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

absl::Status ApiError(int status, const Json& body, std::string_view text) {
  const std::string message = TextAt(body, "message");
  std::string words = OneLine(message.empty() ? text : std::string_view(message), kMostWords);
  if (words.empty()) words = "no reason is given";
  words = fmt::format("the API server answers {}: {}", status, words);
  const std::string reason = TextAt(body, "reason");
  if (status == 410 || reason == "Expired" || reason == "Gone") return absl::OutOfRangeError(words);
  if (status == 409)
    return reason == "AlreadyExists" ? absl::AlreadyExistsError(words) : absl::AbortedError(words);
  if (status == 404) return absl::NotFoundError(words);
  if (status == 401) {
    return absl::UnauthenticatedError(
        words +
        "; the token or certificate of the kubeconfig, or of the service account, is not valid any more: "
        "renew it, and it is read again");
  }
  if (status == 403) return absl::PermissionDeniedError(words);
  if (status == 429) return absl::ResourceExhaustedError(words);
  if (status >= 400 && status < 500) return absl::InvalidArgumentError(words);
  return absl::UnavailableError(words);
}

}  // namespace winnow

#include "server/reads/paging.h"

#include <fmt/format.h>

#include <charconv>

namespace winnow {
namespace {

absl::Status BadToken() {
  return absl::InvalidArgumentError(
      "page_token: it does not belong to this query; expected the next_page_token of the previous page");
}

// FNV-1a: the same on every machine and in every version.
uint32_t Fingerprint(const std::string& text) {
  uint32_t hash = 2166136261u;
  for (unsigned char c : text) hash = (hash ^ c) * 16777619u;
  return hash;
}

}  // namespace

absl::StatusOr<int64_t> PageSize(int64_t asked, int64_t otherwise, int64_t most) {
  if (asked >= 0 && asked <= most) return asked == 0 ? otherwise : asked;
  return absl::InvalidArgumentError(fmt::format(
      "page_size: {} is out of range; expected 1 to {}, or 0 for the default of {}", asked, most, otherwise));
}

std::string MakePageToken(const std::string& kind, const std::vector<std::string>& parts) {
  std::string token = fmt::format("{:08x}", Fingerprint(kind));
  for (const std::string& part : parts) token += "." + part;
  return token;
}

absl::StatusOr<std::vector<std::string>> ReadPageToken(const std::string& token, const std::string& kind,
                                                       size_t parts) {
  std::vector<std::string> read;
  if (token.empty()) return read;
  std::string head = fmt::format("{:08x}.", Fingerprint(kind));
  if (!token.starts_with(head)) return BadToken();
  std::string rest = token.substr(head.size());
  // The last part may contain dots.
  while (read.size() + 1 < parts) {
    size_t dot = rest.find('.');
    if (dot == std::string::npos) return BadToken();
    read.push_back(rest.substr(0, dot));
    rest = rest.substr(dot + 1);
  }
  read.push_back(rest);
  return read;
}

absl::StatusOr<int64_t> PageNumber(const std::vector<std::string>& parts, size_t index, int64_t otherwise) {
  if (parts.empty()) return otherwise;
  const std::string& text = parts[index];
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return BadToken();
  return value;
}

}  // namespace winnow

#include "server/http/encoding.h"

#include <zlib.h>

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"

namespace winnow {
namespace {

// Below the size of a packet, compression gains nothing.
constexpr size_t kLeastBytes = 1400;
// The fastest level: a megabyte takes some milliseconds, and JSON still shrinks to a tenth.
constexpr int kLevel = 1;
constexpr int kGzipWindow = 15 + 16;
constexpr int kMemory = 8;

std::optional<std::string> Gzip(std::string_view text) {
  z_stream stream = {};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  std::string zipped(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(zipped.data());
  stream.avail_out = static_cast<uInt>(zipped.size());
  const int result = deflate(&stream, Z_FINISH);
  zipped.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return std::nullopt;
  return zipped;
}

}  // namespace

bool AcceptsGzip(std::string_view accept) {
  while (!accept.empty()) {
    const size_t end = accept.find(',');
    std::string coding = absl::AsciiStrToLower(std::string(accept.substr(0, end)));
    accept.remove_prefix(end == std::string_view::npos ? accept.size() : end + 1);
    std::erase(coding, ' ');
    if (coding != "gzip" && !coding.starts_with("gzip;")) continue;
    const size_t q = coding.find(";q=");
    return q == std::string::npos || coding.find_first_of("123456789", q) != std::string::npos;
  }
  return false;
}

void Compress(HttpAnswer& answer) {
  if (answer.content().size() < kLeastBytes) return;
  bool text = false;
  for (const auto& [name, value] : answer.headers) {
    if (name == "Content-Encoding") return;
    text =
        text || (name == "Content-Type" && (value == "application/json" || value.starts_with("text/plain")));
  }
  if (!text) return;
  std::optional<std::string> zipped = Gzip(answer.content());
  if (!zipped) return;
  answer.body = *std::move(zipped);
  answer.fixed = {};
  answer.headers.emplace_back("Content-Encoding", "gzip");
  answer.headers.emplace_back("Vary", "Accept-Encoding");
}

}  // namespace winnow

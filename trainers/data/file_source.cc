#include "trainers/data/file_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/decimal.h"
#include "trainers/data/text_stream.h"

namespace winnow {

namespace fs = std::filesystem;

absl::Status FileReadError(const std::string& path, int error) {
  const std::string text = fmt::format("{}: cannot be read: {}", path, std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(text);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(text);
  return absl::UnavailableError(text);
}

absl::StatusOr<SourceFile> ReadTextFile(const std::string& path, int threads) {
  std::error_code ignored;
  const auto size = static_cast<size_t>(fs::file_size(path, ignored));
  // One byte more, to detect the end.
  absl::StatusOr<TextStream> stream = TextStream::Open(path, ignored ? 1 : size + 1, threads);
  if (!stream.ok()) return stream.status();
  while (!stream->at_end()) {  // gzip, or a growing file
    if (absl::Status status = stream->Grow(); !status.ok()) return status;
  }
  return stream->window();
}

absl::StatusOr<SourceFile> ReadTextHead(const std::string& path) {
  constexpr size_t kHead = 4 << 20;
  absl::StatusOr<TextStream> stream = TextStream::Open(path, kHead, 1);
  if (!stream.ok()) return stream.status();
  for (;;) {
    if (stream->at_end()) return stream->window();
    const std::string_view text = stream->window().bytes;
    size_t last_end = text.rfind('\n');
    if (last_end == std::string_view::npos) last_end = text.rfind('\r');
    if (last_end != std::string_view::npos) return TextAsFile(path, text.substr(0, last_end + 1));
    if (text.size() >= kLongestRecord) return RecordTooLong(path, 1);
    if (absl::Status status = stream->Grow(); !status.ok()) return status;
  }
}

SourceFile TextAsFile(const std::string& path, std::string_view text) {
  const auto memory = std::make_shared<std::string>(text);
  memory->append(kTextPadding, '\0');
  return {path, std::string_view(*memory).substr(0, text.size()),
          std::shared_ptr<const char>(memory, memory->data())};
}

absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> paths;
  fs::directory_iterator entries(path, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code ignored;
    const std::string name = entries->path().filename().string();
    if (name[0] != '.' && entries->is_regular_file(ignored)) paths.push_back(entries->path().string());
  }
  if (error) return FileReadError(path, error.value());
  if (paths.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: the directory contains no regular files; expected data files", path));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace winnow

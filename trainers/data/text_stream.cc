#include "trainers/data/text_stream.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/byte_stream.h"
#include "trainers/data/decimal.h"
#include "trainers/data/parallel.h"

namespace winnow {
namespace {

constexpr size_t kSearchedPiece = 4 << 20;  // bytes that one thread scans at a time

absl::StatusOr<std::shared_ptr<char>> Allocate(const std::string& path, size_t size) {
  char* const memory =
      static_cast<char*>(std::malloc(size + kTextPadding));  // memory is not touched before it is written
  if (memory == nullptr)
    return absl::ResourceExhaustedError(fmt::format("{}: no memory for {} bytes", path, size));
  return std::shared_ptr<char>(memory, [](char* old) { std::free(old); });
}

// Returns the name of a file format that is not text, or "" if the first bytes match none.
std::string_view ForeignFormat(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, std::string_view> kMagic[] = {
      {"PK\x03\x04"sv, "a zip archive or spreadsheet"sv},
      {"PAR1"sv, "a Parquet file"sv},
      {"\x28\xb5\x2f\xfd"sv, "a zstd file"sv},
      {"BZh"sv, "a bzip2 file"sv},
      {"\xfd"
       "7zXZ\0"sv,
       "an xz file"sv},
      {"\x89HDF"sv, "an HDF5 file"sv},
      {"\x93NUMPY"sv, "a NumPy file"sv},
      {"\xff\xfe"sv, "UTF-16 text"sv},
      {"\xfe\xff"sv, "UTF-16 text"sv},
  };
  for (const auto& [magic, name] : kMagic) {
    if (bytes.substr(0, magic.size()) == magic) return name;
  }
  return "";
}

}  // namespace

class TextStream::Source {
 public:
  Source(const std::string& path, ByteStream bytes, size_t window_bytes, int threads)
      : bytes_(std::move(bytes)), window_bytes_(std::max<size_t>(window_bytes, 4)), threads_(threads) {
    window_.path = path;
  }

  absl::Status Start() {
    if (absl::Status status = Resize(); !status.ok()) return status;
    if (const std::string_view format = ForeignFormat(window_.bytes); !format.empty()) {
      return absl::InvalidArgumentError(
          fmt::format("{}: is {}; expected text in UTF-8, plain or gzip", window_.path, format));
    }
    if (absl::Status status = CheckText(window_.bytes); !status.ok()) return status;
    started_ = true;
    return window_.bytes.starts_with("\xef\xbb\xbf") ? Advance(3) : absl::OkStatus();
  }

  // Resizes the window to window_bytes_, and fills it.
  absl::Status Resize() {
    absl::StatusOr<std::shared_ptr<char>> memory = Allocate(window_.path, window_bytes_);
    if (!memory.ok()) return memory.status();
    if (!window_.bytes.empty()) std::memcpy(memory->get(), window_.bytes.data(), window_.bytes.size());
    memory_ = *std::move(memory);
    return Fill(window_.bytes.size());
  }

  absl::Status Advance(size_t bytes) {
    const size_t kept = window_.bytes.size() - bytes;
    std::memmove(memory_.get(), window_.bytes.data() + bytes, kept);
    dropped_ += bytes;
    return Fill(kept);
  }

  absl::Status Grow() {
    window_bytes_ *= 2;
    return Resize();
  }

  const SourceFile& window() const { return window_; }
  bool at_end() const { return at_end_; }

 private:
  // Reads after the first `kept` bytes.
  absl::Status Fill(size_t kept) {
    char* const to = memory_.get() + kept;
    const size_t room = window_bytes_ - kept;
    size_t used = 0;
    if (!at_end_) {
      const absl::StatusOr<size_t> got = bytes_.Read(to, room);
      if (!got.ok()) return got.status();
      used = *got;
      at_end_ = used < room;
    }
    std::memset(to + used, 0, kTextPadding);
    window_.memory = memory_;
    window_.bytes = {memory_.get(), kept + used};
    return started_ ? CheckText(window_.bytes.substr(kept)) : absl::OkStatus();
  }

  // `fresh` is the last part of the window.
  absl::Status CheckText(std::string_view fresh) {
    std::vector<size_t> found((fresh.size() + kSearchedPiece - 1) / kSearchedPiece);
    ParallelFor(threads_, found.size(), [&](size_t i) {
      const size_t at = fresh.substr(i * kSearchedPiece, kSearchedPiece).find('\0');
      found[i] = at == std::string_view::npos ? at : i * kSearchedPiece + at;
    });
    const auto first = std::min_element(found.begin(), found.end());
    if (first == found.end() || *first == std::string_view::npos) return absl::OkStatus();
    const size_t offset = dropped_ + window_.bytes.size() - fresh.size() + *first;
    const absl::StatusOr<int64_t> lines = CountLines(offset);
    if (!lines.ok()) return lines.status();
    return absl::InvalidArgumentError(
        fmt::format("{}:{}: a byte 0 at offset {}: the file is not text; expected UTF-8", window_.path,
                    *lines + 1, offset));
  }

  // Counts the line ends before `offset` of the text. Discards the window.
  absl::StatusOr<int64_t> CountLines(size_t offset) {
    bytes_.Rewind();
    int64_t lines = 0;
    while (offset > 0) {
      const size_t step = std::min(offset, window_bytes_);
      const absl::StatusOr<size_t> got = bytes_.Read(memory_.get(), step);
      if (!got.ok()) return got.status();
      lines += std::count(memory_.get(), memory_.get() + *got, '\n');
      offset -= step;
    }
    return lines;
  }

  ByteStream bytes_;
  size_t window_bytes_;
  size_t dropped_ = 0;  // bytes of text before the window
  const int threads_;
  bool at_end_ = false, started_ = false;
  std::shared_ptr<char> memory_;
  SourceFile window_;
};

TextStream::TextStream(std::unique_ptr<Source> source) : source_(std::move(source)) {}
TextStream::TextStream(TextStream&&) noexcept = default;
TextStream& TextStream::operator=(TextStream&&) noexcept = default;
TextStream::~TextStream() = default;

absl::StatusOr<TextStream> TextStream::Open(const std::string& path, size_t window_bytes, int threads) {
  absl::StatusOr<ByteStream> bytes = ByteStream::Open(path, threads);
  if (!bytes.ok()) return bytes.status();
  auto source = std::make_unique<Source>(path, *std::move(bytes), window_bytes, threads);
  if (absl::Status status = source->Start(); !status.ok()) return status;
  return TextStream(std::move(source));
}

const SourceFile& TextStream::window() const { return source_->window(); }
bool TextStream::at_end() const { return source_->at_end(); }
absl::Status TextStream::Advance(size_t bytes) { return source_->Advance(bytes); }
absl::Status TextStream::Grow() { return source_->Grow(); }

absl::Status RecordTooLong(const std::string& path, int64_t line) {
  return absl::InvalidArgumentError(
      fmt::format("{}:{}: the line or quoted field that begins here goes on for more than {} MiB; expected "
                  "shorter lines, and quotation marks that are closed",
                  path, line, kLongestRecord >> 20));
}

}  // namespace winnow

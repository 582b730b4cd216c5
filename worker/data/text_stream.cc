#include "worker/data/text_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "worker/data/decimal.h"
#include "worker/data/file_handle.h"
#include "worker/data/parallel.h"

namespace winnow {
namespace {

constexpr size_t kPiece = 4 << 20;        // bytes that one thread reads at a time
constexpr size_t kPackedBytes = 1 << 20;  // of gzip data in memory

absl::StatusOr<std::shared_ptr<char>> Allocate(const std::string& path, size_t size) {
  char* const memory =
      static_cast<char*>(std::malloc(size + kTextPadding));  // not touched before it is written to
  if (memory == nullptr)
    return absl::ResourceExhaustedError(fmt::format("{}: no memory for {} bytes", path, size));
  return std::shared_ptr<char>(memory, [](char* old) { std::free(old); });
}

// The name of a file format that is not text, or "" if the first bytes tell of none.
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

// The bytes of a file as they are.
class RawBytes {
 public:
  RawBytes(std::string path, FileHandle file, int threads)
      : path_(std::move(path)), file_(std::move(file)), threads_(threads) {}

  // The next `size` bytes; fewer only at the end.
  absl::StatusOr<size_t> Read(char* to, size_t size) {
    std::vector<absl::StatusOr<size_t>> got((size + kPiece - 1) / kPiece, size_t{0});
    ParallelFor(threads_, got.size(), [&](size_t i) {
      const size_t begin = i * kPiece;
      got[i] = ReadPiece(to + begin, offset_ + begin, std::min(kPiece, size - begin));
    });
    size_t used = 0;
    for (const absl::StatusOr<size_t>& piece : got) {
      if (!piece.ok()) return piece.status();
      used += *piece;
      if (*piece < kPiece) break;  // what is behind the end was written meanwhile
    }
    offset_ += used;
    return used;
  }
  void Rewind() { offset_ = 0; }

 private:
  absl::StatusOr<size_t> ReadPiece(char* to, size_t offset, size_t size) const {
    size_t used = 0;
    while (used < size) {
      const ssize_t got = ::pread(file_.get(), to + used, size - used, static_cast<off_t>(offset + used));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return FileReadError(path_, errno);
      if (got == 0) break;
      used += static_cast<size_t>(got);
    }
    return used;
  }

  const std::string path_;
  const FileHandle file_;
  const int threads_;
  size_t offset_ = 0;
};

// What gzip data unpacks to.
class Unpacker {
 public:
  Unpacker(std::string path, RawBytes* packed)
      : path_(std::move(path)), packed_(packed), input_(kPackedBytes, '\0') {
    stream_.next_in = nullptr;
    ok_ = inflateInit2(&stream_, 15 + 16) == Z_OK;
  }
  ~Unpacker() {
    if (ok_) inflateEnd(&stream_);
  }

  // The next `size` bytes; fewer only at the end.
  absl::StatusOr<size_t> Read(char* to, size_t size) {
    if (!ok_) return absl::ResourceExhaustedError(path_ + ": no memory to unpack");
    size_t used = 0;
    while (used < size) {
      if (absl::Status status = FillInput(); !status.ok()) return status;
      if (member_ended_ && !BeginsMember()) break;
      constexpr size_t kStep = size_t{1} << 30;  // zlib counts in 32 bits
      const size_t step = std::min(size - used, kStep);
      stream_.next_out = reinterpret_cast<Bytef*>(to + used);
      stream_.avail_out = static_cast<uInt>(step);
      const int code = inflate(&stream_, Z_NO_FLUSH);
      const size_t got = step - stream_.avail_out;
      used += got;
      total_ += got;
      if (code == Z_STREAM_END) {
        member_ended_ = true;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return Damaged("is damaged");
      } else if (got == 0 && stream_.avail_in == 0 && input_ended_) {
        return Damaged("is cut short");
      }
    }
    return used;
  }

 private:
  absl::Status FillInput() {
    if (stream_.avail_in > 0 || input_ended_) return absl::OkStatus();
    const absl::StatusOr<size_t> got = packed_->Read(input_.data(), input_.size());
    if (!got.ok()) return got.status();
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(*got);
    input_ended_ = *got < input_.size();
    return absl::OkStatus();
  }

  // Behind a member: whether another one follows. Padding of zeros is allowed there, as gzip itself allows
  // it.
  bool BeginsMember() {
    while (stream_.avail_in > 0 && *stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
      if (stream_.avail_in == 0 && !FillInput().ok()) return false;
    }
    if (stream_.avail_in == 0) return false;
    inflateReset(&stream_);
    member_ended_ = false;
    return true;
  }

  absl::Status Damaged(std::string_view why) const {
    return absl::DataLossError(fmt::format(
        "{}: gzip data {} after {} bytes of text; make or copy the file again", path_, why, total_));
  }

  const std::string path_;
  RawBytes* const packed_;
  std::string input_;
  z_stream stream_{};
  bool ok_ = false, member_ended_ = false, input_ended_ = false;
  size_t total_ = 0;
};

}  // namespace

class TextStream::Source {
 public:
  Source(const std::string& path, FileHandle file, size_t window_bytes, int threads)
      : raw_(path, std::move(file), threads),
        window_bytes_(std::max<size_t>(window_bytes, 4)),
        threads_(threads) {
    window_.path = path;
  }

  absl::Status Start() {
    char magic[2] = {};
    const absl::StatusOr<size_t> got = raw_.Read(magic, sizeof magic);
    if (!got.ok()) return got.status();
    raw_.Rewind();
    if (*got == 2 && magic[0] == '\x1f' && magic[1] == '\x8b') unpacker_.emplace(window_.path, &raw_);
    if (absl::Status status = Resize(); !status.ok()) return status;
    if (const std::string_view format = ForeignFormat(window_.bytes); !format.empty()) {
      return absl::InvalidArgumentError(
          fmt::format("{}: is {}; expected text in UTF-8, plain or gzip", window_.path, format));
    }
    if (absl::Status status = CheckText(window_.bytes); !status.ok()) return status;
    started_ = true;
    return window_.bytes.starts_with("\xef\xbb\xbf") ? Advance(3) : absl::OkStatus();
  }

  // To window_bytes_, and filled.
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
  // Reads behind the first `kept` bytes.
  absl::Status Fill(size_t kept) {
    char* const to = memory_.get() + kept;
    const size_t room = window_bytes_ - kept;
    size_t used = 0;
    if (!at_end_) {
      const absl::StatusOr<size_t> got = unpacker_ ? unpacker_->Read(to, room) : raw_.Read(to, room);
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
    std::vector<size_t> found((fresh.size() + kPiece - 1) / kPiece);
    ParallelFor(threads_, found.size(), [&](size_t i) {
      const size_t at = fresh.substr(i * kPiece, kPiece).find('\0');
      found[i] = at == std::string_view::npos ? at : i * kPiece + at;
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

  // Line ends before `offset` of the text. What the window held is lost.
  absl::StatusOr<int64_t> CountLines(size_t offset) {
    raw_.Rewind();
    if (unpacker_) unpacker_.emplace(window_.path, &raw_);
    int64_t lines = 0;
    while (offset > 0) {
      const size_t step = std::min(offset, window_bytes_);
      const absl::StatusOr<size_t> got =
          unpacker_ ? unpacker_->Read(memory_.get(), step) : raw_.Read(memory_.get(), step);
      if (!got.ok()) return got.status();
      lines += std::count(memory_.get(), memory_.get() + *got, '\n');
      offset -= step;
    }
    return lines;
  }

  RawBytes raw_;
  std::optional<Unpacker> unpacker_;
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
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang.
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return FileReadError(path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is {}; expected a regular file", path,
                    S_ISDIR(info.st_mode) ? "a folder" : "a device, pipe or socket"));
  }
  auto source = std::make_unique<Source>(path, std::move(file), window_bytes, threads);
  if (absl::Status status = source->Start(); !status.ok()) return status;
  return TextStream(std::move(source));
}

const SourceFile& TextStream::window() const { return source_->window(); }
bool TextStream::at_end() const { return source_->at_end(); }
absl::Status TextStream::Advance(size_t bytes) { return source_->Advance(bytes); }
absl::Status TextStream::Grow() { return source_->Grow(); }

}  // namespace winnow

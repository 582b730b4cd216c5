#include "trainers/data/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/cache/file_handle.h"
#include "trainers/data/file_source.h"
#include "trainers/data/parallel.h"

namespace winnow {
namespace {

constexpr size_t kPiece = 4 << 20;        // bytes that one thread reads at a time
constexpr size_t kPackedBytes = 1 << 20;  // of gzip data in memory

// The bytes of a file, unchanged.
class RawBytes {
 public:
  RawBytes(std::string path, FileHandle file, int threads)
      : path_(std::move(path)), file_(std::move(file)), threads_(threads) {}

  // Reads the next `size` bytes; fewer only at the end.
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
      if (*piece < kPiece) break;  // ignores bytes appended in the meantime
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

// The unpacked content of gzip data.
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

  // Reads the next `size` bytes; fewer only at the end.
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

  // After a member: whether another one follows. Padding of zeros is allowed there, as in gzip itself.
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
        "{}: gzip data {} after {} bytes of content; make or copy the file again", path_, why, total_));
  }

  const std::string path_;
  RawBytes* const packed_;
  std::string input_;
  z_stream stream_{};
  bool ok_ = false, member_ended_ = false, input_ended_ = false;
  size_t total_ = 0;
};

}  // namespace

class ByteStream::Source {
 public:
  Source(const std::string& path, FileHandle file, size_t size, int threads)
      : path_(path), size_(size), raw_(path, std::move(file), threads) {}

  absl::Status Start() {
    char magic[2] = {};
    const absl::StatusOr<size_t> got = raw_.Read(magic, sizeof magic);
    if (!got.ok()) return got.status();
    raw_.Rewind();
    if (*got == 2 && magic[0] == '\x1f' && magic[1] == '\x8b') unpacker_.emplace(path_, &raw_);
    return absl::OkStatus();
  }
  absl::StatusOr<size_t> Read(char* to, size_t size) {
    return unpacker_ ? unpacker_->Read(to, size) : raw_.Read(to, size);
  }
  void Rewind() {
    raw_.Rewind();
    if (unpacker_) unpacker_.emplace(path_, &raw_);
  }
  size_t size() const { return size_; }
  bool packed() const { return unpacker_.has_value(); }

 private:
  const std::string path_;
  const size_t size_;
  RawBytes raw_;
  std::optional<Unpacker> unpacker_;
};

ByteStream::ByteStream(std::unique_ptr<Source> source) : source_(std::move(source)) {}
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;
ByteStream::~ByteStream() = default;

absl::StatusOr<ByteStream> ByteStream::Open(const std::string& path, int threads) {
  // O_NONBLOCK: opening a pipe without a writer must not hang.
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return FileReadError(path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is {}; expected a regular file", path,
                    S_ISDIR(info.st_mode) ? "a directory" : "a device, pipe or socket"));
  }
  auto source = std::make_unique<Source>(path, std::move(file), static_cast<size_t>(info.st_size), threads);
  if (absl::Status status = source->Start(); !status.ok()) return status;
  return ByteStream(std::move(source));
}

absl::StatusOr<size_t> ByteStream::Read(char* to, size_t size) { return source_->Read(to, size); }
void ByteStream::Rewind() { source_->Rewind(); }
size_t ByteStream::file_bytes() const { return source_->size(); }
bool ByteStream::packed() const { return source_->packed(); }

}  // namespace winnow

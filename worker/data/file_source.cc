#include "worker/data/file_source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "worker/data/decimal.h"
#include "worker/data/file_handle.h"
#include "worker/data/parallel.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Memory that is not touched before it is written to.
class Buffer {
 public:
  // Keeps what was in it.
  absl::Status Resize(const std::string& path, size_t size) {
    constexpr size_t kHugePage = 2 << 20;  // taking memory by these is much faster
    const size_t needed = (size + kTextPadding + kHugePage - 1) / kHugePage * kHugePage;
    const bool small = size + kTextPadding < kHugePage;
    char* const memory =
        static_cast<char*>(small ? std::malloc(size + kTextPadding) : std::aligned_alloc(kHugePage, needed));
    if (memory == nullptr) {
      return absl::ResourceExhaustedError(fmt::format("{}: no memory for its {} bytes", path, size));
    }
    if (!small) ::madvise(memory, needed, MADV_HUGEPAGE);
    if (size_ > 0) std::memcpy(memory, memory_.get(), std::min(size_, size));
    memory_.reset(memory, [](const char* old) { std::free(const_cast<char*>(old)); });
    size_ = size;
    return absl::OkStatus();
  }
  char* data() { return const_cast<char*>(memory_.get()); }
  size_t size() const { return size_; }
  std::string_view text() const { return {memory_.get(), size_}; }
  // The first `size` bytes, zeros behind.
  SourceFile AsFile(const std::string& path, size_t size) && {
    std::memset(data() + size, 0, kTextPadding);
    return {path, {memory_.get(), size}, std::move(memory_)};
  }

 private:
  std::shared_ptr<const char> memory_;
  size_t size_ = 0;
};

// Reads [offset, offset + size) of the file to its place in *bytes; the number of bytes that were there.
absl::StatusOr<size_t> ReadPiece(const std::string& path, int fd, size_t offset, size_t size, Buffer* bytes) {
  size_t used = 0;
  while (used < size) {
    const ssize_t got =
        ::pread(fd, bytes->data() + offset + used, size - used, static_cast<off_t>(offset + used));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileReadError(path, errno);
    if (got == 0) break;
    used += static_cast<size_t>(got);
  }
  return used;
}

absl::StatusOr<SourceFile> ReadRaw(const std::string& path, int threads) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang.
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return FileReadError(path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is {}; expected a regular file", path,
                    S_ISDIR(info.st_mode) ? "a folder" : "a device, pipe or socket"));
  }
  Buffer bytes;
  size_t used = 0, size = static_cast<size_t>(info.st_size) + 1;  // one more, so that the end is seen
  for (;; size *= 2) {
    if (absl::Status status = bytes.Resize(path, size); !status.ok()) return status;
    constexpr size_t kPiece = 16 << 20;
    const size_t from = used, pieces = (size - from + kPiece - 1) / kPiece;
    std::vector<absl::StatusOr<size_t>> got(pieces, size_t{0});
    ParallelFor(threads, pieces, [&](size_t i) {
      const size_t offset = from + i * kPiece;
      got[i] = ReadPiece(path, file.get(), offset, std::min(kPiece, size - offset), &bytes);
    });
    for (const absl::StatusOr<size_t>& piece : got) {
      if (!piece.ok()) return piece.status();
      used += *piece;
      if (*piece < kPiece) break;  // what is behind the end was written meanwhile
    }
    if (used < size) return std::move(bytes).AsFile(path, used);
  }
}

absl::StatusOr<SourceFile> Gunzip(const std::string& path, std::string_view packed) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK)
    return absl::ResourceExhaustedError(path + ": no memory to unpack");
  const auto fail = [&](std::string_view why) {
    inflateEnd(&stream);
    return absl::DataLossError(fmt::format(
        "{}: gzip data {} after {} bytes of text; make or copy the file again", path, why, stream.total_out));
  };
  Buffer bytes;
  size_t in = 0, out = 0;
  absl::Status grown = bytes.Resize(path, std::max<size_t>(packed.size() * 6, 4096));
  bool member_ended = false;
  while (in < packed.size() && grown.ok()) {
    if (member_ended) {
      // Padding of zeros after the last member is allowed, as gzip itself allows it.
      if (packed.find_first_not_of('\0', in) == std::string::npos) break;
      inflateReset(&stream);
      member_ended = false;
    }
    if (out == bytes.size()) grown = bytes.Resize(path, bytes.size() * 2);
    if (!grown.ok()) break;
    constexpr size_t kStep = size_t{1} << 30;  // zlib counts in 32 bits
    const size_t in_step = std::min(packed.size() - in, kStep),
                 out_step = std::min(bytes.size() - out, kStep);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + in));
    stream.avail_in = static_cast<uInt>(in_step);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + out);
    stream.avail_out = static_cast<uInt>(out_step);
    const int code = inflate(&stream, Z_NO_FLUSH);
    in += in_step - stream.avail_in;
    out += out_step - stream.avail_out;
    if (code == Z_STREAM_END) {
      member_ended = true;
    } else if (code == Z_BUF_ERROR && stream.avail_out != 0) {
      return fail("is cut short");
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return fail("is damaged");
    }
  }
  // All input is eaten, but the window may still hold text that did not fit the output.
  while (!member_ended && grown.ok()) {
    if (bytes.size() < out + 65536) grown = bytes.Resize(path, out + 65536);
    if (!grown.ok()) break;
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + out);
    stream.avail_out = 65536;
    const int code = inflate(&stream, Z_NO_FLUSH);
    const size_t got = 65536 - stream.avail_out;
    out += got;
    if (code == Z_STREAM_END) {
      member_ended = true;
    } else if (got == 0) {
      return fail("is cut short");
    }
  }
  inflateEnd(&stream);
  if (!grown.ok()) return grown;
  return std::move(bytes).AsFile(path, out);
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

// The first byte 0, npos if there is none.
size_t FindZero(std::string_view bytes, int threads) {
  constexpr size_t kPiece = 16 << 20;
  std::vector<size_t> found((bytes.size() + kPiece - 1) / kPiece);
  ParallelFor(threads, found.size(), [&](size_t i) {
    const size_t at = bytes.substr(i * kPiece, kPiece).find('\0');
    found[i] = at == std::string_view::npos ? at : i * kPiece + at;
  });
  const auto first = std::min_element(found.begin(), found.end());
  return first == found.end() ? std::string_view::npos : *first;
}

// The file without its byte order mark, if it is text.
absl::StatusOr<SourceFile> Checked(SourceFile file, int threads) {
  if (const std::string_view format = ForeignFormat(file.bytes); !format.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is {}; expected text in UTF-8, plain or gzip", file.path, format));
  }
  if (const size_t zero = FindZero(file.bytes, threads); zero != std::string_view::npos) {
    const auto line =
        1 + std::count(file.bytes.begin(), file.bytes.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
    return absl::InvalidArgumentError(fmt::format(
        "{}:{}: a byte 0 at offset {}: the file is not text; expected UTF-8", file.path, line, zero));
  }
  if (file.bytes.starts_with("\xef\xbb\xbf")) file.bytes.remove_prefix(3);
  return file;
}

}  // namespace

absl::Status FileReadError(const std::string& path, int error) {
  const std::string text = fmt::format("{}: cannot be read: {}", path, std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(text);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(text);
  return absl::UnavailableError(text);
}

absl::StatusOr<SourceFile> ReadTextFile(const std::string& path, int threads) {
  absl::StatusOr<SourceFile> file = ReadRaw(path, threads);
  if (!file.ok()) return file.status();
  if (file->bytes.starts_with("\x1f\x8b")) file = Gunzip(path, file->bytes);
  if (!file.ok()) return file.status();
  return Checked(*std::move(file), threads);
}

absl::StatusOr<SourceFile> ReadTextHead(const std::string& path) {
  constexpr unsigned kHead = 1 << 20;
  Buffer bytes;
  if (absl::Status status = bytes.Resize(path, kHead); !status.ok()) return status;
  struct stat info {};
  const bool regular = ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
  const gzFile packed = regular ? ::gzopen(path.c_str(), "rb") : nullptr;  // reads plain files too
  const int got = packed == nullptr ? -1 : ::gzread(packed, bytes.data(), kHead);
  if (packed != nullptr) ::gzclose(packed);
  if (got < static_cast<int>(kHead)) return ReadTextFile(path);  // short, or it says what is wrong
  const size_t last_end = bytes.text().rfind('\n');
  if (last_end == std::string_view::npos) return ReadTextFile(path);
  return Checked(std::move(bytes).AsFile(path, last_end + 1), 1);
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
        fmt::format("{}: the folder holds no regular files; expected data files", path));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::StatusOr<std::vector<SourceFile>> ReadFileOrFolder(const std::string& path, int threads) {
  const absl::StatusOr<std::vector<std::string>> paths = ListFiles(path);
  if (!paths.ok()) return paths.status();
  std::vector<SourceFile> files;
  for (const std::string& file_path : *paths) {
    absl::StatusOr<SourceFile> file = ReadTextFile(file_path, threads);
    if (!file.ok()) return file.status();
    files.push_back(*std::move(file));
  }
  return files;
}

}  // namespace winnow

#include "worker/data/file_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::string> ReadRaw(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileReadError(path, errno);
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return absl::InvalidArgumentError(
        fmt::format("{}: is {}; expected a regular file", path,
                    S_ISDIR(info.st_mode) ? "a folder" : "a device, pipe or socket"));
  }
  std::string bytes(static_cast<size_t>(info.st_size) + 1, '\0');  // one more, so that the end is seen
  size_t used = 0;
  for (;;) {
    const ssize_t got = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      ::close(fd);
      return FileReadError(path, error);
    }
    if (got == 0) break;
    used += static_cast<size_t>(got);
    if (used == bytes.size()) bytes.resize(bytes.size() * 2);
  }
  ::close(fd);
  bytes.resize(used);
  return bytes;
}

absl::StatusOr<std::string> Gunzip(const std::string& path, const std::string& packed) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK)
    return absl::ResourceExhaustedError(path + ": no memory to unpack");
  const auto fail = [&](std::string_view why) {
    inflateEnd(&stream);
    return absl::DataLossError(fmt::format(
        "{}: gzip data {} after {} bytes of text; make or copy the file again", path, why, stream.total_out));
  };
  std::string bytes(std::max<size_t>(packed.size() * 6, 4096), '\0');
  size_t in = 0, out = 0;
  bool member_ended = false;
  while (in < packed.size()) {
    if (member_ended) {
      // Padding of zeros after the last member is allowed, as gzip itself allows it.
      if (packed.find_first_not_of('\0', in) == std::string::npos) break;
      inflateReset(&stream);
      member_ended = false;
    }
    if (out == bytes.size()) bytes.resize(bytes.size() * 2);
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
  while (!member_ended) {
    bytes.resize(std::max(bytes.size(), out + 65536));
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
  bytes.resize(out);
  return bytes;
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

}  // namespace

absl::Status FileReadError(const std::string& path, int error) {
  const std::string text = fmt::format("{}: cannot be read: {}", path, std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(text);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(text);
  return absl::UnavailableError(text);
}

absl::StatusOr<SourceFile> ReadTextFile(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadRaw(path);
  if (!bytes.ok()) return bytes.status();
  if (bytes->size() >= 2 && (*bytes)[0] == '\x1f' && (*bytes)[1] == '\x8b') bytes = Gunzip(path, *bytes);
  if (!bytes.ok()) return bytes.status();
  if (const std::string_view format = ForeignFormat(*bytes); !format.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is {}; expected text in UTF-8, plain or gzip", path, format));
  }
  if (const size_t zero = bytes->find('\0'); zero != std::string::npos) {
    const auto line =
        1 + std::count(bytes->begin(), bytes->begin() + static_cast<std::ptrdiff_t>(zero), '\n');
    return absl::InvalidArgumentError(
        fmt::format("{}:{}: a byte 0 at offset {}: the file is not text; expected UTF-8", path, line, zero));
  }
  if (bytes->starts_with("\xef\xbb\xbf")) bytes->erase(0, 3);
  return SourceFile{path, *std::move(bytes)};
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

absl::StatusOr<std::vector<SourceFile>> ReadFileOrFolder(const std::string& path) {
  const absl::StatusOr<std::vector<std::string>> paths = ListFiles(path);
  if (!paths.ok()) return paths.status();
  std::vector<SourceFile> files;
  for (const std::string& file_path : *paths) {
    absl::StatusOr<SourceFile> file = ReadTextFile(file_path);
    if (!file.ok()) return file.status();
    files.push_back(*std::move(file));
  }
  return files;
}

}  // namespace winnow

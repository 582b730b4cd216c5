#include "trainers/data/idx_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "trainers/data/byte_stream.h"
#include "trainers/data/file_source.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Deflate expands 2 bits to at most 258 bytes (RFC 1951, 3.2.5): no gzip file contains more.
constexpr int64_t kMostInflation = 1032;

int64_t SizeOf(IdxType type) {
  switch (type) {
    case IdxType::kByte:
    case IdxType::kSignedByte:
      return 1;
    case IdxType::kShort:
      return 2;
    case IdxType::kInt:
    case IdxType::kFloat:
      return 4;
    case IdxType::kDouble:
      return 8;
  }
  return 0;
}

template <typename T>
T BigEndian(const uint8_t* at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value << 8 | at[i]);
  return value;
}

float NumberAt(IdxType type, const uint8_t* at) {
  switch (type) {
    case IdxType::kByte:
      return *at;
    case IdxType::kSignedByte:
      return static_cast<int8_t>(*at);
    case IdxType::kShort:
      return static_cast<int16_t>(BigEndian<uint16_t>(at));
    case IdxType::kInt:
      return static_cast<float>(static_cast<int32_t>(BigEndian<uint32_t>(at)));
    case IdxType::kFloat:
      return std::bit_cast<float>(BigEndian<uint32_t>(at));
    case IdxType::kDouble:
      return static_cast<float>(std::bit_cast<double>(BigEndian<uint64_t>(at)));
  }
  return 0;
}

struct Header {
  IdxType type = IdxType::kByte;
  std::vector<int64_t> shape;
  int64_t content = 0;  // bytes of the array
  int64_t size() const { return 4 + 4 * static_cast<int64_t>(shape.size()); }
};

absl::StatusOr<Header> ReadHeader(const std::string& path, ByteStream* stream) {
  uint8_t magic[4] = {};
  const absl::StatusOr<size_t> got = stream->Read(reinterpret_cast<char*>(magic), sizeof magic);
  if (!got.ok()) return got.status();
  Header header;
  header.type = static_cast<IdxType>(magic[2]);
  if (*got == 0) return absl::InvalidArgumentError(path + ": the file is empty; expected an IDX file");
  if (*got < sizeof magic || magic[0] != 0 || magic[1] != 0 || SizeOf(header.type) == 0 || magic[3] == 0) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: begins with {:02x}: expected an IDX file, which begins with 00 00, a type (08 for bytes) and "
        "the number of dimensions",
        path, fmt::join(magic, magic + *got, " ")));
  }
  std::vector<uint8_t> sizes(4 * static_cast<size_t>(magic[3]));
  const absl::StatusOr<size_t> rest = stream->Read(reinterpret_cast<char*>(sizes.data()), sizes.size());
  if (!rest.ok()) return rest.status();
  if (*rest < sizes.size()) {
    return absl::DataLossError(fmt::format(
        "{}: ends after {} bytes, within the header: expected {} dimensions", path, *got + *rest, magic[3]));
  }
  header.content = SizeOf(header.type);
  for (size_t d = 0; d < magic[3]; ++d) {
    const int64_t size = BigEndian<uint32_t>(sizes.data() + 4 * d);
    if (size == 0) {
      return absl::InvalidArgumentError(
          fmt::format("{}: dimension {} of {} is 0: expected 1 or more", path, d + 1, magic[3]));
    }
    header.shape.push_back(size);
    if (__builtin_mul_overflow(header.content, size, &header.content)) {
      return absl::InvalidArgumentError(fmt::format("{}: the header says {}: expected fewer than 2^63 bytes",
                                                    path, fmt::join(header.shape, " x ")));
    }
  }
  return header;
}

absl::Status CutShort(const std::string& path, const Header& header, int64_t content) {
  return absl::DataLossError(
      fmt::format("{}: ends after {} bytes: expected {}, as the header says {} of {} bytes each", path,
                  header.size() + content, header.size() + header.content, fmt::join(header.shape, " x "),
                  SizeOf(header.type)));
}

std::string NameOf(const std::string& path) { return fs::path(path).filename().string(); }

bool NamedIdx(const std::string& path) {
  std::string name = NameOf(path);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  const size_t at = name.rfind("idx");
  if (at == std::string::npos || at == 0 || (name[at - 1] != '-' && name[at - 1] != '.')) return false;
  const std::string_view behind = std::string_view(name).substr(at + 3);  // "", "3" or "3-ubyte"
  return behind.empty() || (behind[0] >= '1' && behind[0] <= '9' && (behind.size() == 1 || behind[1] == '-'));
}

bool IsFile(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// Returns the name with the last `from`, if any, replaced by `to`.
std::string Replaced(std::string name, std::string_view from, std::string_view to) {
  const size_t at = name.rfind(from);
  if (at != std::string::npos) name.replace(at, from.size(), to);
  return name;
}

// The file of labels of `features` by MNIST's convention; "" if the name does not follow it.
std::string LabelsBeside(const std::string& features) {
  const std::string name = NameOf(features);
  if (name.find("images") == std::string::npos) return "";
  std::string labels = Replaced(name, "images", "labels");
  if (const size_t at = labels.rfind("idx"); at != std::string::npos && at + 3 < labels.size())
    labels[at + 3] = '1';
  return (fs::path(features).parent_path() / labels).string();
}

std::string OtherPacking(const std::string& path) {
  return path.ends_with(".gz") ? path.substr(0, path.size() - 3) : path + ".gz";
}

// Whether options.label refers to these files. Data to predict have their own labels.
bool SaysLabels(const DataOptions& options, bool may_be_absent) {
  return !options.label.empty() && !options.label_is_of_training && !may_be_absent;
}

absl::StatusOr<IdxFiles> WithLabels(const std::string& features, const DataOptions& options,
                                    bool may_be_absent) {
  const std::string beside = LabelsBeside(features);
  const std::string said =
      options.label.empty() ? "" : (fs::path(features).parent_path() / options.label).string();
  std::vector<std::string> candidates;
  if (!said.empty()) candidates = {said};
  if (!beside.empty() && !SaysLabels(options, may_be_absent))
    candidates.insert(candidates.begin(), {beside, OtherPacking(beside)});
  for (const std::string& path : candidates) {
    if (IsFile(path)) return IdxFiles{features, path};
  }
  if (may_be_absent) return IdxFiles{features, ""};
  if (candidates.empty()) {
    return absl::NotFoundError(
        fmt::format("{}: there is no file of labels: expected one beside it (\"images\" in the name being "
                    "\"labels\"), or "
                    "the option label to name it",
                    features));
  }
  return absl::NotFoundError(
      fmt::format("{}: its labels are not there: expected the file {}", features, candidates.front()));
}

absl::StatusOr<std::vector<IdxFiles>> FilesOfFolder(const std::string& folder,
                                                    const std::vector<std::string>& paths,
                                                    const DataOptions& options, bool may_be_absent) {
  std::vector<std::string> features, labels;
  for (const std::string& path : paths) {
    if (!LooksLikeIdx(path)) {
      return absl::InvalidArgumentError(
          fmt::format("{}: is no IDX file: expected only files of images and labels in {}, or the path of "
                      "the file of images",
                      path, folder));
    }
    absl::StatusOr<ByteStream> stream = ByteStream::Open(path, 1);
    if (!stream.ok()) return stream.status();
    const absl::StatusOr<Header> header = ReadHeader(path, &*stream);
    if (!header.ok()) return header.status();
    (header->shape.size() == 1 ? labels : features).push_back(path);
  }
  if (features.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: holds labels alone: expected a file of two or more dimensions beside them", folder));
  }
  const auto begins = [&](std::string_view start) {
    return std::any_of(features.begin(), features.end(),
                       [&](const std::string& path) { return NameOf(path).starts_with(start); });
  };
  if (begins("train") && (begins("t10k") || begins("test"))) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: holds both training and test images: expected the path of one file of images", folder));
  }
  if (features.size() == 1 && labels.size() == 1 && (options.label.empty() || options.label_is_of_training))
    return std::vector<IdxFiles>{{features[0], labels[0]}};
  if (features.size() > 1 && SaysLabels(options, may_be_absent)) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: label is \"{}\" for {} files of images: expected each one's labels beside it, by name", folder,
        options.label, features.size()));
  }
  std::vector<IdxFiles> found;
  for (const std::string& path : features) {
    absl::StatusOr<IdxFiles> one = WithLabels(path, options, may_be_absent);
    if (!one.ok()) return one.status();
    found.push_back(*std::move(one));
  }
  return found;
}

}  // namespace

int64_t IdxArray::row_size() const {
  int64_t size = 1;
  for (size_t d = 1; d < shape.size(); ++d) size *= shape[d];
  return size;
}

bool LooksLikeIdx(const std::string& path) {
  if (NamedIdx(path)) return true;
  absl::StatusOr<ByteStream> stream = ByteStream::Open(path, 1);
  char magic[3] = {};
  if (!stream.ok()) return false;
  const absl::StatusOr<size_t> got = stream->Read(magic, sizeof magic);
  return got.ok() && *got == sizeof magic && magic[0] == 0 && magic[1] == 0 &&
         SizeOf(static_cast<IdxType>(magic[2])) != 0;
}

absl::StatusOr<IdxArray> ReadIdx(const std::string& path, int threads) {
  absl::StatusOr<ByteStream> stream = ByteStream::Open(path, threads);
  if (!stream.ok()) return stream.status();
  const absl::StatusOr<Header> header = ReadHeader(path, &*stream);
  if (!header.ok()) return header.status();
  IdxArray array{header->type, header->shape, {}};
  const auto on_disk = static_cast<int64_t>(stream->file_bytes());
  const int64_t at_most = stream->packed() ? (on_disk + 1) * kMostInflation : on_disk;
  array.bytes.reserve(static_cast<size_t>(std::min(header->content, at_most)));
  constexpr int64_t kStep = 16 << 20;
  for (int64_t used = 0; used < header->content;) {
    const int64_t step = std::min(kStep, header->content - used);
    array.bytes.resize(static_cast<size_t>(used + step));
    const absl::StatusOr<size_t> got =
        stream->Read(reinterpret_cast<char*>(array.bytes.data() + used), static_cast<size_t>(step));
    if (!got.ok()) return got.status();
    used += static_cast<int64_t>(*got);
    if (static_cast<int64_t>(*got) < step) return CutShort(path, *header, used);
  }
  char behind = 0;
  const absl::StatusOr<size_t> more = stream->Read(&behind, 1);
  if (!more.ok()) return more.status();
  if (*more > 0) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: goes on behind its array: expected {} bytes, as the header says {} of {} bytes each", path,
        header->size() + header->content, fmt::join(header->shape, " x "), SizeOf(header->type)));
  }
  return array;
}

std::vector<float> IdxNumbers(const IdxArray& array) {
  const auto size = static_cast<size_t>(SizeOf(array.type));
  std::vector<float> numbers(array.bytes.size() / size);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = NumberAt(array.type, array.bytes.data() + i * size);
  return numbers;
}

bool IsIdxChannel(const std::string& path, const DataOptions& options) {
  if (options.format != "auto") return options.format == "idx";
  const absl::StatusOr<std::vector<std::string>> files = ListFiles(path);
  return files.ok() && (LooksLikeIdx(files->front()) || std::any_of(files->begin(), files->end(), NamedIdx));
}

absl::StatusOr<std::vector<IdxFiles>> FindIdxFiles(const std::string& path, const DataOptions& options,
                                                   bool labels_may_be_absent) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    const absl::StatusOr<std::vector<std::string>> files = ListFiles(path);
    if (!files.ok()) return files.status();
    return FilesOfFolder(path, *files, options, labels_may_be_absent);
  }
  absl::StatusOr<IdxFiles> one = WithLabels(path, options, labels_may_be_absent);
  if (!one.ok()) return one.status();
  return std::vector<IdxFiles>{*std::move(one)};
}

}  // namespace winnow

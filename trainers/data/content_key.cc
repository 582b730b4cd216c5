#include "trainers/data/content_key.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "fmt/format.h"
#include "trainers/data/cache/file_handle.h"
#include "trainers/data/file_source.h"
#include "trainers/data/parallel.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kHashedPiece = 16 << 20;  // bytes hashed at a time; changing it changes the hash
constexpr int64_t kRacySeconds = 2;         // the coarsest time stamps of a file system in use (FAT's)
constexpr std::string_view kMemoVersion = "winnow-contents-1";

using Digest = std::array<unsigned char, 32>;

struct Stamp {
  std::string text;  // changes with the file, except for changes within the resolution of time stamps
  int64_t size = 0;
  int64_t changed_at = 0;  // s
};

absl::StatusOr<Stamp> StampOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return FileReadError(path, errno);
  Stamp stamp;
  stamp.size = info.st_size;
  stamp.changed_at = std::max(info.st_mtim.tv_sec, info.st_ctim.tv_sec);
  stamp.text =
      fmt::format("{} {}.{:09} {}.{:09} {} {}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
                  info.st_ctim.tv_sec, info.st_ctim.tv_nsec, info.st_ino, info.st_dev);
  return stamp;
}

absl::StatusOr<Digest> DigestOfPiece(const std::string& path, int file, int64_t offset, int64_t size) {
  constexpr size_t kBuffer = 256 << 10;
  std::string buffer(kBuffer, '\0');
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  EVP_DigestInit_ex(context, EVP_sha256(), nullptr);
  absl::Status status;
  while (size > 0 && status.ok()) {
    const ssize_t got = ::pread(file, buffer.data(), std::min<size_t>(kBuffer, static_cast<size_t>(size)),
                                static_cast<off_t>(offset));
    if (got > 0) {
      EVP_DigestUpdate(context, buffer.data(), static_cast<size_t>(got));
      offset += got;
      size -= got;
    } else if (got == 0) {
      status = absl::AbortedError(path + ": became shorter while being read");
    } else if (errno != EINTR) {
      status = FileReadError(path, errno);
    }
  }
  Digest digest{};
  EVP_DigestFinal_ex(context, digest.data(), nullptr);
  EVP_MD_CTX_free(context);
  if (!status.ok()) return status;
  return digest;
}

// SHA-256, in hex, over the size and the SHA-256s of the pieces.
absl::StatusOr<std::string> HashOf(const std::string& path, int64_t size, int threads) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return FileReadError(path, errno);
  const auto pieces = static_cast<size_t>((size + kHashedPiece - 1) / kHashedPiece);
  std::vector<absl::StatusOr<Digest>> digests(pieces, absl::UnknownError(""));
  ParallelFor(threads, pieces, [&](size_t i) {
    const int64_t offset = static_cast<int64_t>(i) * kHashedPiece;
    digests[i] = DigestOfPiece(path, file.get(), offset, std::min(kHashedPiece, size - offset));
  });
  std::string all(reinterpret_cast<const char*>(&size), sizeof size);
  for (const absl::StatusOr<Digest>& digest : digests) {
    if (!digest.ok()) return digest.status();
    all.append(reinterpret_cast<const char*>(digest->data()), digest->size());
  }
  Digest digest{};
  EVP_Digest(all.data(), all.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

// Hashes by stamp and path, for the files of one request: lines "HASH STAMP PATH" below the version.
class Memo {
 public:
  Memo(const CacheFolder* folder, const std::vector<std::string>& paths) {
    if (folder == nullptr) return;
    uint64_t hash = 0;
    for (const std::string& path : paths) hash = StableHash(fmt::format("{:x} {}", hash, path));
    path_ = fmt::format("{}/{:016x}.memo", folder->path(), hash);
    std::ifstream in(path_, std::ios::binary);
    std::string line;
    if (!std::getline(in, line) || line != kMemoVersion) return;
    while (std::getline(in, line) && !in.eof()) {  // a line without an end is incomplete
      if (const size_t blank = line.find(' '); blank == 64)
        known_[line.substr(blank + 1)] = line.substr(0, blank);
    }
  }

  const std::string* Find(const std::string& stamp, const std::string& path) const {
    const auto found = known_.find(stamp + " " + path);
    return found == known_.end() ? nullptr : &found->second;
  }
  void Note(const std::string& stamp, const std::string& path, const std::string& hash) {
    if (path.find('\n') == std::string::npos) added_[stamp + " " + path] = hash;
  }
  // Replaces the file atomically; a failure does no harm.
  void Save(const std::vector<std::pair<std::string, std::string>>& in_use) {
    if (path_.empty() || added_.empty()) return;
    std::string text = std::string(kMemoVersion) + "\n";
    for (const auto& [stamp, path] : in_use) {
      const std::string name = stamp + " " + path;
      const auto added = added_.find(name), known = known_.find(name);
      if (added != added_.end())
        text += added->second + " " + name + "\n";
      else if (known != known_.end())
        text += known->second + " " + name + "\n";
    }
    std::string temporary = path_ + "-XXXXXX.tmp";
    const FileHandle file(::mkostemps(temporary.data(), 4, O_CLOEXEC));
    if (!file.is_open()) return;
    const bool written = ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!written || ::rename(temporary.c_str(), path_.c_str()) != 0) ::unlink(temporary.c_str());
  }

 private:
  std::string path_;
  std::map<std::string, std::string> known_, added_;
};

std::string OptionsText(const DataOptions& options) {
  std::string text;
  const auto put = [&](std::string_view part) { text += fmt::format("{}:{},", part.size(), part); };
  for (const std::string* part : {&options.label, &options.weight, &options.group, &options.format,
                                  &options.header, &options.separator}) {
    put(*part);
  }
  for (const std::string& part : options.drop) put(part);
  text += fmt::format("{} {} {}\n", options.drop.size(), options.max_levels, options.categorical);
  if (!options.training_weight.empty()) put(options.training_weight);
  return text;
}

}  // namespace

absl::Status ContentKey::CheckUnchanged() const {
  for (size_t i = 0; i < paths_.size(); ++i) {
    const absl::StatusOr<Stamp> now = StampOf(paths_[i]);
    if (!now.ok()) return now.status();
    if (now->text == stamps_[i]) continue;
    // Another name of the file, such as the worker's for another job, changes its times and not its content.
    const absl::StatusOr<std::string> hash = HashOf(paths_[i], now->size, 1);
    if (!hash.ok()) return hash.status();
    if (*hash != hashes_[i])
      return absl::AbortedError(paths_[i] + ": changed while being read; expected it to stay unchanged");
  }
  return absl::OkStatus();
}

absl::StatusOr<ContentKey> KeyOfFiles(const std::vector<std::string>& files, const DataOptions& options,
                                      std::string_view extra, const CacheFolder* memo_folder, int threads) {
  ContentKey key;
  for (const std::string& file : files) key.paths_.push_back(fs::absolute(file).lexically_normal().string());
  Memo memo(memo_folder, key.paths_);
  std::vector<std::pair<std::string, std::string>> in_use;
  for (const std::string& path : key.paths_) {
    const int64_t now = ::time(nullptr);
    const absl::StatusOr<Stamp> stamp = StampOf(path);
    if (!stamp.ok()) return stamp.status();
    std::string hash;
    if (const std::string* known = memo.Find(stamp->text, path); known != nullptr) {
      hash = *known;
    } else {
      absl::StatusOr<std::string> fresh = HashOf(path, stamp->size, threads);
      if (!fresh.ok()) return fresh.status();
      hash = *std::move(fresh);
      if (now - stamp->changed_at > kRacySeconds) memo.Note(stamp->text, path, hash);
    }
    const std::string name = fs::path(path).filename().string();
    key.text_ += fmt::format("{} {}:{}\n", hash, name.size(), name);
    in_use.emplace_back(stamp->text, path);
    key.stamps_.push_back(stamp->text);
    key.hashes_.push_back(hash);
  }
  // A hash is valid for its stamp only if the stamp is unchanged.
  if (absl::Status status = key.CheckUnchanged(); !status.ok()) return status;
  memo.Save(in_use);
  key.text_ += OptionsText(options);
  key.text_ += extra;
  return key;
}

}  // namespace winnow

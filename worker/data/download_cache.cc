#include "worker/data/download_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "artifact/digest.h"
#include "base/environment.h"
#include "base/status_text.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "spdlog/spdlog.h"
#include "worker/data/lock_file.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKeyDigits = 40;
constexpr int64_t kHashedBytes = 1 << 20;  // at a time
constexpr int64_t kMostInfoBytes = 64 << 10;
constexpr std::chrono::milliseconds kLockPause(50);
constexpr std::chrono::seconds kPartKept(24 * 3600);  // then what nobody has gone on with is removed
// At least this many times the duration of a search for unused files passes before the next.
constexpr int kSearchPause = 20;

// Files that cannot be made or written are this machine's fault, and no other try helps.
absl::Status FaultOfDisk(const absl::Status& status) {
  return status.ok() ? status : absl::ResourceExhaustedError(MessageOf(status));
}

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) { Restart(); }
  void Restart() { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void Add(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  std::string Hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    std::string text;
    for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

// Files are not flushed to disk, which would take longer than the download of a small one. So what was
// written before the host has started anew may not be as it was.
struct FileInfo {
  ObjectVersion version;
  std::string url;     // as messages show it, for people who look
  std::string sha256;  // of a whole file
  std::string job;     // that asked the server last
  std::string start = BootId();
};

bool IsOfThisStart(const FileInfo& info) { return !info.start.empty() && info.start == BootId(); }

std::optional<FileInfo> ReadInfo(const fs::path& path) {
  const absl::StatusOr<OpenFile> file = OpenFile::Open(path, O_RDONLY);
  if (!file.ok()) return std::nullopt;
  const absl::StatusOr<std::string> text = file->ReadAt(0, kMostInfoBytes);
  if (!text.ok()) return std::nullopt;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto word = [&json](const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  FileInfo info;
  const auto size = json.find("size");
  if (size == json.end() || !size->is_number_integer()) return std::nullopt;
  info.version = {size->get<int64_t>(), word("etag"), word("modified")};
  info.url = word("url");
  info.sha256 = word("sha256");
  info.job = word("job");
  info.start = word("start");
  return info;
}

absl::Status WriteInfo(const fs::path& path, const FileInfo& info) {
  const nlohmann::json json = {
      {"size", info.version.size}, {"etag", info.version.etag}, {"modified", info.version.modified},
      {"url", info.url},           {"sha256", info.sha256},     {"job", info.job},
      {"start", info.start}};
  const fs::path half = path.string() + ".new";
  absl::StatusOr<OpenFile> file = OpenFile::Open(half, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!file.ok()) return FaultOfDisk(file.status());
  absl::Status status = file->Write(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (!status.ok()) return FaultOfDisk(status);
  std::error_code error;
  fs::rename(half, path, error);
  return error ? FaultOfDisk(FileError(path, "cannot be written", error.value())) : absl::OkStatus();
}

int64_t SizeOf(const fs::path& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 ? about.st_size : -1;
}

// Adds the first bytes of a file, up to `end`, to the hash.
absl::Status HashBytes(const OpenFile& file, const fs::path& path, int64_t end,
                       const Cancellation& cancellation, Sha256& hash) {
  for (int64_t at = 0; at < end;) {
    if (cancellation.cancelled()) return absl::CancelledError("not wanted any more");
    const absl::StatusOr<std::string> bytes = file.ReadAt(at, std::min<int64_t>(kHashedBytes, end - at));
    if (!bytes.ok()) return FaultOfDisk(bytes.status());
    if (bytes->empty()) return absl::ResourceExhaustedError(path.string() + " has become shorter");
    hash.Add(*bytes);
    at += static_cast<int64_t>(bytes->size());
  }
  return absl::OkStatus();
}

// Writes a download to its ".part", and knows the SHA-256 of what is in it.
class PartWriter : public ObjectReceiver {
 public:
  PartWriter(fs::path part, const Download& wanted, const DownloadProgress& progress,
             const Cancellation& cancellation)
      : part_(std::move(part)), wanted_(wanted), progress_(progress), cancellation_(cancellation) {}

  absl::Status Begin(const ObjectVersion& version, int64_t from) override {
    version_ = version;
    (void)chmod(part_.c_str(), 0600);  // a worker that was killed when all was there has left it read-only
    absl::StatusOr<OpenFile> file = OpenFile::Open(part_, O_RDWR | O_CREAT, 0600);
    if (!file.ok()) return FaultOfDisk(file.status());
    file_.emplace(*std::move(file));
    if (ftruncate(file_->descriptor(), from) != 0 || lseek(file_->descriptor(), from, SEEK_SET) != from) {
      return FaultOfDisk(FileError(part_, "cannot be written", errno));
    }
    if (hashed_ != from) {
      if (absl::Status status = HashUpTo(from); !status.ok()) return status;
    }
    struct statvfs disk {};
    if (version.size > from && statvfs(part_.parent_path().c_str(), &disk) == 0) {
      const int64_t free = static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
      if (version.size - from > free) {
        return absl::ResourceExhaustedError(
            fmt::format("{}: {} more bytes are to be downloaded to {}, where {} are free",
                        wanted_.object.shown, version.size - from, part_.parent_path().string(), free));
      }
    }
    progress_.bytes(hashed_, version.size);
    return WriteInfo(part_.string() + ".info", {version, wanted_.object.shown, "", wanted_.job});
  }

  absl::Status Add(std::string_view bytes) override {
    if (absl::Status status = file_->Write(bytes); !status.ok()) return FaultOfDisk(status);
    hash_.Add(bytes);
    hashed_ += static_cast<int64_t>(bytes.size());
    progress_.bytes(hashed_, version_.size);
    return absl::OkStatus();
  }

  void Waits(const std::string& why) override { progress_.waits(why); }

  // The whole file's facts.
  absl::StatusOr<FileInfo> Finish() {
    if (fchmod(file_->descriptor(), 0444) != 0)
      return FaultOfDisk(FileError(part_, "cannot be made readable", errno));
    version_.size = hashed_;
    file_.reset();
    return FileInfo{version_, wanted_.object.shown, hash_.Hex(), wanted_.job};
  }

 private:
  absl::Status HashUpTo(int64_t end) {
    hash_.Restart();
    hashed_ = end;
    return HashBytes(*file_, part_, end, cancellation_, hash_);
  }

  const fs::path part_;
  const Download& wanted_;
  const DownloadProgress& progress_;
  const Cancellation& cancellation_;
  ObjectVersion version_;
  std::optional<OpenFile> file_;
  Sha256 hash_;
  int64_t hashed_ = 0;
};

// Whether the file of that size still has that content.
bool HasContent(const fs::path& path, int64_t size, const std::string& sha256,
                const Cancellation& cancellation) {
  const absl::StatusOr<OpenFile> file = OpenFile::Open(path, O_RDONLY);
  Sha256 hash;
  return file.ok() && HashBytes(*file, path, size, cancellation, hash).ok() && hash.Hex() == sha256;
}

absl::Status WrongContent(const Download& wanted, const std::string& sha256) {
  return absl::FailedPreconditionError(fmt::format("{}: its content has the SHA-256 {}; expected {}",
                                                   wanted.object.shown, sha256, wanted.sha256));
}

}  // namespace

struct DownloadCache::Entry {
  Entry(const fs::path& folder, const std::string& key)
      : data(folder / key),
        info(folder / (key + ".info")),
        part(folder / (key + ".part")),
        part_info(folder / (key + ".part.info")),
        lock(folder / (key + ".lock")) {}
  fs::path data, info, part, part_info, lock;

  void RemovePart() const {
    std::error_code ignored;
    fs::remove(part, ignored);
    fs::remove(part_info, ignored);
  }
  // Whether nothing of the file is here.
  bool IsEmpty() const {
    std::error_code ignored;
    return !fs::exists(data, ignored) && !fs::exists(part, ignored);
  }
  // Whether a download was begun that nobody goes on with.
  bool HasOldPart() const {
    std::error_code gone;
    const auto written = fs::last_write_time(part, gone);
    return !gone && fs::file_time_type::clock::now() - written > kPartKept;
  }
};

DownloadCache::DownloadCache(fs::path folder, int64_t most_bytes, TransferPatience patience)
    : folder_(std::move(folder)), most_bytes_(most_bytes), patience_(patience) {
  std::error_code ignored;  // what is missing shows with the first download
  fs::create_directories(folder_, ignored);
  (void)chmod(folder_.c_str(), 0700);
  RemoveUnused();
}

absl::StatusOr<OpenFile> DownloadCache::Lock(const Entry& entry, const DownloadProgress& progress,
                                             const Cancellation& cancellation) {
  while (true) {
    absl::StatusOr<OpenFile> file = OpenFile::Open(entry.lock, O_RDWR | O_CREAT, 0600);
    if (!file.ok()) return FaultOfDisk(file.status());
    while (flock(file->descriptor(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR)
        return FaultOfDisk(FileError(entry.lock, "cannot be locked", errno));
      // Another job or worker of this host downloads it.
      if (const int64_t bytes = SizeOf(entry.part); bytes >= 0) progress.bytes(bytes, -1);
      if (!cancellation.Sleep(kLockPause)) return absl::CancelledError("not wanted any more");
    }
    if (IsInPlace(*file, entry.lock)) return file;
    if (cancellation.cancelled()) return absl::CancelledError("not wanted any more");
  }
}

// REQUIRES: the entry is locked. Afterwards its file is what the server gives the job.
absl::Status DownloadCache::Bring(const Entry& entry, const Download& wanted,
                                  const DownloadProgress& progress, const Cancellation& cancellation) {
  std::optional<FileInfo> info = ReadInfo(entry.info);
  if (info.has_value() && SizeOf(entry.data) != info->version.size) info.reset();
  if (info.has_value() && !IsOfThisStart(*info)) {
    progress.waits(wanted.object.shown + ": its copy is from before the host was started, and is checked");
    const bool is_whole = HasContent(entry.data, info->version.size, info->sha256, cancellation);
    if (cancellation.cancelled()) return absl::CancelledError("not wanted any more");
    if (is_whole) {
      info->start = BootId();
      if (absl::Status status = WriteInfo(entry.info, *info); !status.ok()) return status;
    } else {
      spdlog::warn("{} is downloaded again: its content has changed on the disk", wanted.object.shown);
      info.reset();
    }
  }
  if (info.has_value() && info->job == wanted.job) {
    if (wanted.sha256.empty() || info->sha256 == wanted.sha256) return absl::OkStatus();
    return WrongContent(wanted, info->sha256);
  }
  ObjectKept kept;
  if (const std::optional<FileInfo> part = ReadInfo(entry.part_info);
      part.has_value() && IsOfThisStart(*part)) {
    kept.version = part->version;
    kept.bytes = std::max<int64_t>(0, SizeOf(entry.part));
    // All of it: its end was not seen, so that its last byte is asked for again.
    if (kept.version.size >= 0 && kept.bytes >= kept.version.size)
      kept.bytes = std::max<int64_t>(0, kept.version.size - 1);
  }
  if (info.has_value()) kept.unless_etag = info->version.etag;
  PartWriter writer(entry.part, wanted, progress, cancellation);
  const absl::StatusOr<bool> received =
      ReceiveObject(wanted.object, std::move(kept), writer, patience_, cancellation);
  if (!received.ok()) return received.status();
  if (!*received) {
    info->job = wanted.job;
    if (absl::Status status = WriteInfo(entry.info, *info); !status.ok()) return status;
    return wanted.sha256.empty() || info->sha256 == wanted.sha256 ? absl::OkStatus()
                                                                  : WrongContent(wanted, info->sha256);
  }
  absl::StatusOr<FileInfo> whole = writer.Finish();
  if (!whole.ok()) return whole.status();
  if (!wanted.sha256.empty() && whole->sha256 != wanted.sha256) {
    entry.RemovePart();
    return WrongContent(wanted, whole->sha256);
  }
  // The facts come last: without them there is no file.
  std::error_code error;
  fs::remove(entry.info, error);
  fs::rename(entry.part, entry.data, error);
  if (error) return FaultOfDisk(FileError(entry.data, "cannot be written", error.value()));
  if (absl::Status status = WriteInfo(entry.info, *whole); !status.ok()) return status;
  entry.RemovePart();
  spdlog::info("{} is downloaded: {} bytes, SHA-256 {}", wanted.object.shown, whole->version.size,
               whole->sha256);
  return absl::OkStatus();
}

absl::Status DownloadCache::Link(const Download& wanted, const fs::path& at, const DownloadProgress& progress,
                                 const Cancellation& cancellation) {
  const std::string key = DigestOf(wanted.object.url).substr(0, kKeyDigits);
  {
    const Entry entry(folder_, key);
    const absl::StatusOr<OpenFile> lock = Lock(entry, progress, cancellation);
    if (!lock.ok()) return lock.status();
    if (absl::Status status = Bring(entry, wanted, progress, cancellation); !status.ok()) return status;
    if (link(entry.data.c_str(), at.c_str()) != 0)
      return FaultOfDisk(FileError(at, "cannot be made a name of the downloaded file", errno));
    (void)utimensat(AT_FDCWD, entry.info.c_str(), nullptr, 0);  // when it was used last
  }
  const auto begin = std::chrono::steady_clock::now();
  {
    const MutexLock lock(mutex_);
    if (searches_ || begin < next_search_) return absl::OkStatus();
    searches_ = true;
  }
  RemoveUnused();
  const auto end = std::chrono::steady_clock::now();
  const MutexLock lock(mutex_);
  searches_ = false;
  next_search_ = end + kSearchPause * (end - begin);
  return absl::OkStatus();
}

void DownloadCache::RemoveUnused() {
  struct Kept {
    fs::file_time_type used;
    std::string key;
    int64_t bytes = 0;
    bool in_use = false;
    bool left = false;  // no file: a part that nobody goes on with, or the lock alone
  };
  std::vector<Kept> kept;
  int64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator file(folder_, error), end; !error && file != end; file.increment(error)) {
    const std::string name = file->path().filename().string();
    const std::string key = name.substr(0, kKeyDigits);
    const Entry entry(folder_, key);
    if ((name == key + ".part" && entry.HasOldPart()) || (name == key + ".lock" && entry.IsEmpty()))
      kept.push_back({{}, key, 0, false, true});
    if (name.size() != kKeyDigits) continue;
    struct stat about {};
    if (stat(entry.data.c_str(), &about) != 0) continue;
    std::error_code missing;
    const auto used = fs::last_write_time(entry.info, missing);
    bytes += about.st_size;
    kept.push_back({missing ? fs::file_time_type::min() : used, name, about.st_size, about.st_nlink > 1});
  }
  std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
  for (const Kept& file : kept) {
    if (file.in_use || (bytes <= most_bytes_ && !file.left)) continue;
    const Entry entry(folder_, file.key);
    const absl::StatusOr<OpenFile> lock = OpenFile::Open(entry.lock, O_RDWR | O_CREAT, 0600);
    if (!lock.ok() || flock(lock->descriptor(), LOCK_EX | LOCK_NB) != 0 || !IsInPlace(*lock, entry.lock))
      continue;
    if (file.left) {
      if (entry.HasOldPart()) entry.RemovePart();
    } else {
      struct stat about {};
      if (stat(entry.data.c_str(), &about) != 0 || about.st_nlink > 1) continue;
      if (const auto info = ReadInfo(entry.info); info.has_value())
        spdlog::info("the download of {} is removed: downloads take more disk than they may", info->url);
      fs::remove(entry.info, error);
      fs::remove(entry.data, error);
      bytes -= file.bytes;
    }
    // While it is held, so that nobody begins a download by it.
    if (entry.IsEmpty()) fs::remove(entry.lock, error);
  }
}

}  // namespace winnow

#include "server/sagemaker/s3/object_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "artifact/files.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/digests.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kTables[] = R"(
CREATE TABLE IF NOT EXISTS buckets (account TEXT, bucket TEXT, created_us INTEGER, PRIMARY KEY (account, bucket)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (account TEXT, bucket TEXT, key TEXT, size INTEGER, etag TEXT, modified_us INTEGER,
  headers TEXT, checksum TEXT, pieces TEXT, PRIMARY KEY (account, bucket, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS uploads (account TEXT, upload TEXT, bucket TEXT, key TEXT, headers TEXT, created_us INTEGER,
  PRIMARY KEY (account, upload)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS parts (account TEXT, upload TEXT, number INTEGER, size INTEGER, etag TEXT, file TEXT, modified_us INTEGER,
  PRIMARY KEY (account, upload, number)) WITHOUT ROWID;
)";
// Parts of uploads that nobody has completed for so long are removed.
constexpr int64_t kForgottenUploadUs = int64_t{7} * 24 * 3600 * 1'000'000;
constexpr int64_t kLeastPartBytes = 5 << 20;

std::string PiecesJson(const std::vector<ObjectPiece>& pieces) {
  json list = json::array();
  for (const ObjectPiece& piece : pieces) list.push_back({piece.file, piece.size});
  return list.dump();
}

std::vector<ObjectPiece> PiecesOf(const std::string& text) {
  std::vector<ObjectPiece> pieces;
  for (const json& piece : json::parse(text)) pieces.push_back({piece[0], piece[1]});
  return pieces;
}

absl::Status NoSuchKey(const std::string& key) {
  return AwsError("NoSuchKey", "The specified key does not exist: " + key);
}

// `old`: the object that a write replaces, if there is one.
absl::Status CheckCondition(const WriteCondition& condition, const std::string& key, const ObjectHead* old) {
  if (!condition.etag.empty() && old == nullptr) return NoSuchKey(key);
  const bool other = !condition.etag.empty() && condition.etag != "*" && condition.etag != old->etag;
  if (!other && !(condition.absent && old != nullptr)) return absl::OkStatus();
  return PreconditionFailed();
}

// Reads pieces one after the other.
class PieceReader final : public BodySource {
 public:
  struct Range {
    fs::path path;
    int64_t from = 0;
    int64_t size = 0;
  };
  PieceReader(std::vector<Range> ranges, int64_t size, std::shared_ptr<const void> hold)
      : hold_(std::move(hold)), ranges_(std::move(ranges)), size_(size) {}

  int64_t size() const override { return size_; }

  std::string Next(size_t most) override {
    while (at_ < ranges_.size() && ranges_[at_].size == 0) {
      ++at_;
      open_.reset();
    }
    if (at_ == ranges_.size()) return "";
    Range& range = ranges_[at_];
    if (!open_) {
      absl::StatusOr<OpenFile> open = OpenFile::Open(range.path, O_RDONLY);
      if (!open.ok()) return "";
      open_.emplace(*std::move(open));
    }
    absl::StatusOr<std::string> bytes =
        open_->ReadAt(range.from, std::min<int64_t>(range.size, static_cast<int64_t>(most)));
    if (!bytes.ok()) return "";
    range.from += static_cast<int64_t>(bytes->size());
    range.size -= static_cast<int64_t>(bytes->size());
    return *std::move(bytes);
  }

 private:
  const std::shared_ptr<const void> hold_;
  std::vector<Range> ranges_;
  const int64_t size_;
  size_t at_ = 0;
  std::optional<OpenFile> open_;
};

int64_t NowUs() { return absl::ToUnixMicros(absl::Now()); }

// The least text that is greater than every text with this prefix; "": there is none.
std::string AfterPrefix(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

fs::path PathIn(const fs::path& folder, const std::string& file) {
  return folder / "files" / file.substr(0, 2) / file;
}

}  // namespace

// The files of objects, and which of them are being read. Readers may outlive the store. Thread-safe.
class ObjectStore::Files {
 public:
  explicit Files(fs::path folder) : folder_(std::move(folder)) {}

  static std::shared_ptr<const void> Hold(std::shared_ptr<Files> files,
                                          const std::vector<ObjectPiece>& pieces) {
    {
      MutexLock lock(files->mutex_);
      for (const ObjectPiece& piece : pieces) ++files->held_[piece.file].readers;
    }
    return std::make_shared<const Holder>(std::move(files), pieces);
  }

  // Removes the files. A file that somebody reads is removed when its last reader has ended.
  void Remove(const std::vector<ObjectPiece>& pieces) {
    std::vector<ObjectPiece> unread;
    {
      MutexLock lock(mutex_);
      for (const ObjectPiece& piece : pieces) {
        const auto held = held_.find(piece.file);
        if (held == held_.end())
          unread.push_back(piece);
        else
          held->second.removed = true;
      }
    }
    RemoveNow(unread, LOCK_SH);
  }

 private:
  struct Held {
    int64_t readers = 0;
    bool removed = false;
  };
  struct Holder {
    Holder(std::shared_ptr<Files> held_files, const std::vector<ObjectPiece>& held_pieces)
        : files(std::move(held_files)), pieces(held_pieces) {}
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    ~Holder() { files->Release(pieces); }
    const std::shared_ptr<Files> files;
    const std::vector<ObjectPiece> pieces;
  };

  void Release(const std::vector<ObjectPiece>& pieces) {
    std::vector<ObjectPiece> removed;
    {
      MutexLock lock(mutex_);
      for (const ObjectPiece& piece : pieces) {
        const auto held = held_.find(piece.file);
        if (--held->second.readers > 0) continue;
        if (held->second.removed) removed.push_back(piece);
        held_.erase(held);
      }
    }
    RemoveNow(removed, LOCK_SH | LOCK_NB);  // a connection's thread waits for nobody
  }

  // A backup holds the folder while it links the files that an index names. With LOCK_NB they then stay until
  // the store is opened the next time.
  void RemoveNow(const std::vector<ObjectPiece>& pieces, int lock) const {
    if (pieces.empty()) return;
    const absl::StatusOr<OpenFile> files = OpenFile::Open(folder_ / "files", O_RDONLY | O_DIRECTORY);
    if (files.ok() && flock(files->descriptor(), lock) != 0) return;
    std::error_code ignored;
    for (const ObjectPiece& piece : pieces) fs::remove(PathIn(folder_, piece.file), ignored);
  }

  const fs::path folder_;
  Mutex mutex_;
  std::map<std::string, Held> held_ ABSL_GUARDED_BY(mutex_);
};

ObjectStore::ObjectStore(fs::path folder, std::unique_ptr<Database> index)
    : folder_(folder), files_(std::make_shared<Files>(std::move(folder))), index_(std::move(index)) {}

ObjectStore::Draft::~Draft() {
  if (store_ != nullptr) store_->RemoveFiles({piece_});
}

absl::StatusOr<std::unique_ptr<ObjectStore>> ObjectStore::Open(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder / "drafts", error);
  for (const char* sub : {"files", "drafts"}) {
    fs::create_directories(folder / sub, error);
    if (error) return FileError(folder / sub, "create", error.value());
  }
  absl::StatusOr<std::unique_ptr<Database>> index = Database::Open(folder / "index.db", OpenMode::kReadWrite);
  if (!index.ok()) return index.status();
  if (absl::Status status = (*index)->Execute(kTables); !status.ok()) return status;
  std::unique_ptr<ObjectStore> store(new ObjectStore(folder, *std::move(index)));
  if (absl::Status status = store->RemoveStrays(); !status.ok()) return status;
  return store;
}

fs::path ObjectStore::PathOf(const std::string& file) const { return PathIn(folder_, file); }

fs::path ObjectStore::DraftPath() const { return folder_ / "drafts" / RandomHex(12); }

void ObjectStore::RemoveFiles(const std::vector<ObjectPiece>& pieces) const { files_->Remove(pieces); }

absl::Status ObjectStore::RemoveStrays() {
  std::set<std::string> held;
  {
    MutexLock lock(mutex_);
    Statement objects(*index_, "SELECT pieces FROM objects");
    absl::Status status = objects.Bind().ForEach([&] {
      for (const ObjectPiece& piece : PiecesOf(objects.Text(0))) held.insert(piece.file);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    Statement parts(*index_, "SELECT file FROM parts");
    status = parts.Bind().ForEach([&] {
      held.insert(parts.Text(0));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
  }
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder_ / "files", error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_regular_file() && !held.contains(at->path().filename())) fs::remove(at->path());
  }
  return error ? FileError(folder_ / "files", "read", error.value()) : absl::OkStatus();
}

absl::Status ObjectStore::CreateBucket(const std::string& account, const std::string& bucket) {
  MutexLock lock(mutex_);
  Statement insert(*index_, "INSERT INTO buckets VALUES (?1, ?2, ?3)");
  absl::Status status = insert.Bind(account, bucket, NowUs()).Run();
  if (absl::IsAlreadyExists(status)) {
    return AwsError("BucketAlreadyOwnedByYou",
                    "Your previous request to create the named bucket succeeded and you already own it.");
  }
  return status;
}

absl::Status ObjectStore::FindLocked(const std::string& account, const std::string& bucket) {
  Statement find(*index_, "SELECT 1 FROM buckets WHERE account = ?1 AND bucket = ?2");
  const absl::StatusOr<bool> found = find.Bind(account, bucket).Next();
  if (!found.ok()) return found.status();
  return *found ? absl::OkStatus()
                : AwsError("NoSuchBucket", "The specified bucket does not exist: " + bucket);
}

absl::Status ObjectStore::FindBucket(const std::string& account, const std::string& bucket) {
  MutexLock lock(mutex_);
  return FindLocked(account, bucket);
}

absl::Status ObjectStore::DeleteBucket(const std::string& account, const std::string& bucket) {
  MutexLock lock(mutex_);
  if (absl::Status status = FindLocked(account, bucket); !status.ok()) return status;
  Statement any(*index_, "SELECT 1 FROM objects WHERE account = ?1 AND bucket = ?2 LIMIT 1");
  const absl::StatusOr<bool> found = any.Bind(account, bucket).Next();
  if (!found.ok()) return found.status();
  if (*found) return AwsError("BucketNotEmpty", "The bucket you tried to delete is not empty");
  Statement remove(*index_, "DELETE FROM buckets WHERE account = ?1 AND bucket = ?2");
  return remove.Bind(account, bucket).Run();
}

absl::StatusOr<std::vector<ObjectStore::Bucket>> ObjectStore::ListBuckets(const std::string& account) {
  MutexLock lock(mutex_);
  std::vector<Bucket> buckets;
  Statement all(*index_, "SELECT bucket, created_us FROM buckets WHERE account = ?1 ORDER BY bucket");
  const absl::Status status = all.Bind(account).ForEach([&] {
    buckets.push_back({all.Text(0), all.Int(1)});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return buckets;
}

absl::StatusOr<ObjectStore::Draft> ObjectStore::Write(std::string_view bytes) {
  const fs::path path = DraftPath();
  absl::StatusOr<OpenFile> open = OpenFile::Open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!open.ok()) return open.status();
  absl::Status status = open->Write(bytes);
  if (!status.ok()) {
    std::error_code ignored;
    fs::remove(path, ignored);
    return status;
  }
  return Take(path);
}

absl::StatusOr<ObjectStore::Draft> ObjectStore::Take(const fs::path& path) {
  std::error_code error;
  ObjectPiece piece{RandomHex(16), static_cast<int64_t>(fs::file_size(path, error))};
  if (error) return FileError(path, "read", error.value());
  absl::StatusOr<OpenFile> open = OpenFile::Open(path, O_WRONLY);
  if (!open.ok()) return open.status();
  absl::Status status = open->Sync();
  const fs::path target = PathOf(piece.file);
  if (status.ok() && fs::create_directory(target.parent_path(), error))
    status = SyncFolder(target.parent_path().parent_path());
  if (status.ok()) fs::rename(path, target, error);
  if (status.ok() && error) status = FileError(target, "write", error.value());
  if (status.ok()) status = SyncFolder(target.parent_path());
  if (!status.ok()) {
    fs::remove(path, error);
    return status;
  }
  return Draft(this, std::move(piece));
}

absl::StatusOr<ObjectHead> ObjectStore::GetLocked(const std::string& account, const std::string& bucket,
                                                  const std::string& key) {
  if (absl::Status status = FindLocked(account, bucket); !status.ok()) return status;
  Statement find(
      *index_,
      "SELECT size, etag, modified_us, headers, checksum, pieces FROM objects WHERE account = ?1 AND "
      "bucket = ?2 AND key = ?3");
  const absl::StatusOr<bool> found = find.Bind(account, bucket, key).Next();
  if (!found.ok()) return found.status();
  if (!*found) return NoSuchKey(key);
  ObjectHead head;
  head.key = key;
  head.size = find.Int(0);
  head.etag = find.Text(1);
  head.modified_us = find.Int(2);
  head.headers = json::parse(find.Text(3));
  head.checksum = find.Text(4);
  head.pieces = PiecesOf(find.Text(5));
  return head;
}

absl::StatusOr<ObjectHead> ObjectStore::Get(const std::string& account, const std::string& bucket,
                                            const std::string& key) {
  MutexLock lock(mutex_);
  absl::StatusOr<ObjectHead> head = GetLocked(account, bucket, key);
  if (head.ok()) head->hold = Files::Hold(files_, head->pieces);
  return head;
}

absl::StatusOr<std::vector<ObjectPiece>> ObjectStore::PutLocked(const std::string& account,
                                                                const std::string& bucket,
                                                                const ObjectHead& head,
                                                                const WriteCondition& condition) {
  absl::StatusOr<ObjectHead> old = GetLocked(account, bucket, head.key);
  if (!old.ok() && AwsCodeOf(old.status()) != "NoSuchKey") return old.status();
  if (absl::Status holds = CheckCondition(condition, head.key, old.ok() ? &*old : nullptr); !holds.ok())
    return holds;
  Statement put(*index_, "INSERT OR REPLACE INTO objects VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  absl::Status status = put.Bind(account, bucket, head.key, head.size, head.etag, head.modified_us,
                                 json(head.headers).dump(), head.checksum, PiecesJson(head.pieces))
                            .Run();
  if (!status.ok()) return status;
  return old.ok() ? old->pieces : std::vector<ObjectPiece>();
}

absl::Status ObjectStore::Put(const std::string& account, const std::string& bucket, ObjectHead head,
                              Draft draft, const WriteCondition& condition) {
  head.modified_us = NowUs();
  head.size = draft.piece_.size;
  head.pieces = {draft.piece_};
  absl::StatusOr<std::vector<ObjectPiece>> old;
  {
    MutexLock lock(mutex_);
    old = PutLocked(account, bucket, head, condition);
  }
  if (!old.ok()) return old.status();
  draft.store_.reset();
  RemoveFiles(*old);
  return absl::OkStatus();
}

std::shared_ptr<BodySource> ObjectStore::Read(const ObjectHead& head, int64_t from, int64_t size) const {
  std::vector<PieceReader::Range> ranges;
  int64_t begin = 0;
  for (const ObjectPiece& piece : head.pieces) {
    const int64_t first = std::max(from, begin);
    const int64_t last = std::min(from + size, begin + piece.size);
    if (first < last) ranges.push_back({PathOf(piece.file), first - begin, last - first});
    begin += piece.size;
  }
  return std::make_shared<PieceReader>(std::move(ranges), size, head.hold);
}

absl::Status ObjectStore::Delete(const std::string& account, const std::string& bucket,
                                 const std::string& key) {
  absl::StatusOr<ObjectHead> head;
  {
    MutexLock lock(mutex_);
    head = GetLocked(account, bucket, key);
    if (!head.ok()) return AwsCodeOf(head.status()) == "NoSuchKey" ? absl::OkStatus() : head.status();
    Statement remove(*index_, "DELETE FROM objects WHERE account = ?1 AND bucket = ?2 AND key = ?3");
    if (absl::Status status = remove.Bind(account, bucket, key).Run(); !status.ok()) return status;
  }
  RemoveFiles(head->pieces);
  return absl::OkStatus();
}

absl::StatusOr<ObjectHead> ObjectStore::Copy(const std::string& account, const std::string& from_bucket,
                                             const std::string& from_key, const std::string& to_bucket,
                                             const std::string& to_key,
                                             std::optional<std::map<std::string, std::string>> headers,
                                             const WriteCondition& condition) {
  std::vector<ObjectPiece> old;
  ObjectHead head;
  {
    // Under the lock, so that the source's files are not removed meanwhile.
    MutexLock lock(mutex_);
    absl::StatusOr<ObjectHead> source = GetLocked(account, from_bucket, from_key);
    if (!source.ok()) return source.status();
    head = *std::move(source);
    head.key = to_key;
    head.modified_us = NowUs();
    if (headers) head.headers = *std::move(headers);
    for (ObjectPiece& piece : head.pieces) {
      const std::string file = RandomHex(16);
      std::error_code error;
      const fs::path files = PathOf(file).parent_path();
      if (fs::create_directory(files, error)) {
        if (absl::Status status = SyncFolder(files.parent_path()); !status.ok()) return status;
      }
      fs::create_hard_link(PathOf(piece.file), PathOf(file), error);
      if (error) return FileError(PathOf(file), "write", error.value());
      if (absl::Status status = SyncFolder(files); !status.ok()) return status;
      piece.file = file;
    }
    absl::StatusOr<std::vector<ObjectPiece>> replaced = PutLocked(account, to_bucket, head, condition);
    if (!replaced.ok()) {
      RemoveFiles(head.pieces);
      return replaced.status();
    }
    old = *std::move(replaced);
  }
  RemoveFiles(old);
  return head;
}

absl::StatusOr<ObjectPage> ObjectStore::List(const std::string& account, const std::string& bucket,
                                             const std::string& prefix, const std::string& delimiter,
                                             const std::string& after, int64_t most) {
  MutexLock lock(mutex_);
  if (absl::Status status = FindLocked(account, bucket); !status.ok()) return status;
  ObjectPage page;
  const std::string end = AfterPrefix(prefix);
  std::string from = std::max(prefix, after);
  bool from_itself = after < prefix || after.empty();  // whether a key that equals `from` is listed
  while (true) {
    Statement next(*index_,
                   "SELECT key, size, etag, modified_us FROM objects WHERE account = ?1 AND bucket = ?2 AND "
                   "(key > ?3 OR (?4 AND key = ?3)) AND (?5 = '' OR key < ?5) ORDER BY key LIMIT ?6");
    next.Bind(account, bucket, from, from_itself, end, most + 1);
    bool jump = false;
    while (true) {
      const absl::StatusOr<bool> row = next.Next();
      if (!row.ok()) return row.status();
      if (!*row) return page;
      if (static_cast<int64_t>(page.entries.size()) == most) {
        const ObjectPage::Entry& last = page.entries.back();
        page.next = last.prefix.empty() ? last.object.key : last.prefix;
        return page;
      }
      ObjectPage::Entry entry;
      entry.object.key = next.Text(0);
      entry.object.size = next.Int(1);
      entry.object.etag = next.Text(2);
      entry.object.modified_us = next.Int(3);
      const size_t cut =
          delimiter.empty() ? std::string::npos : entry.object.key.find(delimiter, prefix.size());
      if (cut != std::string::npos) {
        entry.prefix = entry.object.key.substr(0, cut + delimiter.size());
        from = AfterPrefix(entry.prefix);
        from_itself = true;
        jump = true;
      }
      // The page before may have ended with this prefix.
      if (!jump || entry.prefix != after) page.entries.push_back(std::move(entry));
      if (jump && from.empty()) return page;  // nothing is greater than what begins so
      if (jump) break;
    }
  }
}

absl::StatusOr<std::string> ObjectStore::CreateUpload(const std::string& account, const std::string& bucket,
                                                      const ObjectHead& head) {
  MutexLock lock(mutex_);
  if (absl::Status status = FindLocked(account, bucket); !status.ok()) return status;
  const std::string upload = RandomHex(16);
  Statement insert(*index_, "INSERT INTO uploads VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  absl::Status status =
      insert.Bind(account, upload, bucket, head.key, json(head.headers).dump(), NowUs()).Run();
  if (!status.ok()) return status;
  return upload;
}

absl::Status ObjectStore::PutPart(const std::string& account, const std::string& upload, UploadedPart part,
                                  Draft draft) {
  std::vector<ObjectPiece> old;
  {
    MutexLock lock(mutex_);
    Statement find(*index_, "SELECT 1 FROM uploads WHERE account = ?1 AND upload = ?2");
    const absl::StatusOr<bool> found = find.Bind(account, upload).Next();
    if (!found.ok()) return found.status();
    if (!*found) return AwsError("NoSuchUpload", "The specified upload does not exist.");
    find.Reset();
    Statement before(*index_,
                     "SELECT file, size FROM parts WHERE account = ?1 AND upload = ?2 AND number = ?3");
    const absl::StatusOr<bool> replaces = before.Bind(account, upload, part.number).Next();
    if (!replaces.ok()) return replaces.status();
    if (*replaces) old.push_back({before.Text(0), before.Int(1)});
    before.Reset();
    Statement insert(*index_, "INSERT OR REPLACE INTO parts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
    absl::Status status =
        insert.Bind(account, upload, part.number, draft.piece_.size, part.etag, draft.piece_.file, NowUs())
            .Run();
    if (!status.ok()) return status;
  }
  draft.store_.reset();
  RemoveFiles(old);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<UploadedPart>> ObjectStore::PartsLocked(const std::string& account,
                                                                   const std::string& bucket,
                                                                   const std::string& key,
                                                                   const std::string& upload) {
  Statement find(*index_,
                 "SELECT 1 FROM uploads WHERE account = ?1 AND upload = ?2 AND bucket = ?3 AND key = ?4");
  const absl::StatusOr<bool> found = find.Bind(account, upload, bucket, key).Next();
  if (!found.ok()) return found.status();
  if (!*found) return AwsError("NoSuchUpload", "The specified upload does not exist.");
  std::vector<UploadedPart> parts;
  Statement all(
      *index_,
      "SELECT number, size, etag, file, modified_us FROM parts WHERE account = ?1 AND upload = ?2 ORDER "
      "BY number");
  const absl::Status status = all.Bind(account, upload).ForEach([&] {
    parts.push_back({all.Int(0), all.Text(2), {all.Text(3), all.Int(1)}, all.Int(4)});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return parts;
}

absl::StatusOr<std::vector<UploadedPart>> ObjectStore::ListParts(const std::string& account,
                                                                 const std::string& bucket,
                                                                 const std::string& key,
                                                                 const std::string& upload) {
  MutexLock lock(mutex_);
  return PartsLocked(account, bucket, key, upload);
}

absl::StatusOr<ObjectHead> ObjectStore::CompleteUpload(
    const std::string& account, const std::string& bucket, const std::string& key, const std::string& upload,
    const std::vector<std::pair<int64_t, std::string>>& wanted, const WriteCondition& condition) {
  ObjectHead head;
  head.key = key;
  std::vector<ObjectPiece> unused;
  {
    MutexLock lock(mutex_);
    absl::StatusOr<std::vector<UploadedPart>> parts = PartsLocked(account, bucket, key, upload);
    if (!parts.ok()) return parts.status();
    Statement find(*index_, "SELECT headers FROM uploads WHERE account = ?1 AND upload = ?2");
    if (const absl::StatusOr<bool> row = find.Bind(account, upload).Next(); !row.ok()) return row.status();
    head.headers = json::parse(find.Text(0));
    find.Reset();
    std::string digests;
    size_t at = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto& [number, etag] = wanted[i];
      while (at < parts->size() && (*parts)[at].number < number) unused.push_back((*parts)[at++].piece);
      if (at == parts->size() || (*parts)[at].number != number || (*parts)[at].etag != etag) {
        return AwsError("InvalidPart",
                        "One or more of the specified parts could not be found. The part may not have been "
                        "uploaded, or the specified entity tag may not match the part's entity tag.");
      }
      const ObjectPiece& piece = (*parts)[at++].piece;
      if (i + 1 < wanted.size() && piece.size < kLeastPartBytes)
        return AwsError("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size");
      head.pieces.push_back(piece);
      head.size += piece.size;
      digests += absl::HexStringToBytes(etag);
    }
    while (at < parts->size()) unused.push_back((*parts)[at++].piece);
    head.etag = fmt::format("{}-{}", absl::BytesToHexString(Md5Bytes(digests)), wanted.size());
    head.modified_us = NowUs();
    absl::StatusOr<std::unique_ptr<Transaction>> transaction = Transaction::Begin(*index_);
    if (!transaction.ok()) return transaction.status();
    absl::StatusOr<std::vector<ObjectPiece>> old = PutLocked(account, bucket, head, condition);
    if (!old.ok()) return old.status();
    absl::Status status = ForgetUploadLocked(account, upload);
    if (status.ok()) status = (*transaction)->Commit();
    if (!status.ok()) return status;
    unused.insert(unused.end(), old->begin(), old->end());
  }
  RemoveFiles(unused);
  return head;
}

absl::Status ObjectStore::ForgetUploadLocked(const std::string& account, const std::string& upload) {
  Statement no_parts(*index_, "DELETE FROM parts WHERE account = ?1 AND upload = ?2");
  Statement no_upload(*index_, "DELETE FROM uploads WHERE account = ?1 AND upload = ?2");
  absl::Status status = no_parts.Bind(account, upload).Run();
  return status.ok() ? no_upload.Bind(account, upload).Run() : status;
}

absl::Status ObjectStore::AbortUpload(const std::string& account, const std::string& bucket,
                                      const std::string& key, const std::string& upload) {
  std::vector<ObjectPiece> pieces;
  {
    MutexLock lock(mutex_);
    absl::StatusOr<std::vector<UploadedPart>> parts = PartsLocked(account, bucket, key, upload);
    if (!parts.ok()) return parts.status();
    for (const UploadedPart& part : *parts) pieces.push_back(part.piece);
    absl::StatusOr<std::unique_ptr<Transaction>> transaction = Transaction::Begin(*index_);
    if (!transaction.ok()) return transaction.status();
    absl::Status status = ForgetUploadLocked(account, upload);
    if (status.ok()) status = (*transaction)->Commit();
    if (!status.ok()) return status;
  }
  RemoveFiles(pieces);
  return absl::OkStatus();
}

absl::Status ObjectStore::RemoveForgottenUploads() {
  std::vector<ObjectPiece> pieces;
  {
    MutexLock lock(mutex_);
    absl::StatusOr<std::unique_ptr<Transaction>> transaction = Transaction::Begin(*index_);
    if (!transaction.ok()) return transaction.status();
    Statement old(*index_, "DELETE FROM uploads WHERE created_us < ?1");
    absl::Status status = old.Bind(NowUs() - kForgottenUploadUs).Run();
    if (!status.ok()) return status;
    Statement parts(*index_,
                    "SELECT file, size FROM parts WHERE (account, upload) NOT IN "
                    "(SELECT account, upload FROM uploads)");
    status = parts.Bind().ForEach([&] {
      pieces.push_back({parts.Text(0), parts.Int(1)});
      return absl::OkStatus();
    });
    if (status.ok()) {
      status = index_->Execute(
          "DELETE FROM parts WHERE (account, upload) NOT IN (SELECT account, upload FROM uploads)");
    }
    if (status.ok()) status = (*transaction)->Commit();
    if (!status.ok()) return status;
  }
  RemoveFiles(pieces);
  return absl::OkStatus();
}

}  // namespace winnow

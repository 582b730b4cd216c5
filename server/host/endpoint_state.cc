#include "server/host/endpoint_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <sys/file.h>

#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "artifact/files.h"
#include "base/status_text.h"
#include "store/copy.h"
#include "store/database/room.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr char kEndpointJobs[] = "jobs.db";
constexpr char kEndpointIndex[] = "objects/index.db";
constexpr char kEndpointFiles[] = "objects/files";
constexpr char kEndpointKeys[] = "keys.json";
constexpr char kSnapshotFolder[] = "backup";  // of a snapshot
constexpr int64_t kEndpointRowBytes = 1 << 20;
constexpr int64_t kTransactionBytes = 64 << 20;
constexpr char kEndpointTable[] =
    "CREATE TABLE endpoint_files (id INTEGER PRIMARY KEY, path TEXT NOT NULL, bytes BLOB NOT NULL);"
    "CREATE INDEX endpoint_files_by_path ON endpoint_files (path, id);";

std::string PieceFile(const std::string& name) {
  return fmt::format("{}/{}/{}", kEndpointFiles, name.substr(0, 2), name);
}

// A file's name is made by the endpoint: hexadecimal digits, no path.
bool IsPieceName(const std::string& name) {
  return name.size() >= 2 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

absl::Status ForEachPart(const fs::path& file, const std::function<absl::Status(std::string)>& part) {
  absl::StatusOr<OpenFile> open = OpenFile::Open(file, O_RDONLY);
  if (!open.ok()) return open.status();
  for (int64_t at = 0;;) {
    absl::StatusOr<std::string> bytes = open->ReadAt(at, kEndpointRowBytes);
    if (!bytes.ok()) return bytes.status();
    if (bytes->empty()) return absl::OkStatus();
    at += static_cast<int64_t>(bytes->size());
    if (absl::Status status = part(*std::move(bytes)); !status.ok()) return status;
  }
}

absl::StatusOr<bool> HasEndpointTable(Database& database) {
  const absl::StatusOr<int64_t> found = database.QueryInt(
      "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'endpoint_files'");
  if (!found.ok()) return found.status();
  return *found > 0;
}

struct FileSum {
  int64_t size = 0;
  std::string md5;  // 16 bytes
};

class Summing {
 public:
  Summing() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_md5(), nullptr);
  }
  void Add(const std::string& bytes) {
    size_ += static_cast<int64_t>(bytes.size());
    EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
  }
  FileSum Finish() {
    FileSum sum{size_, std::string(EVP_MAX_MD_SIZE, '\0')};
    unsigned int length = 0;
    EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(sum.md5.data()), &length);
    sum.md5.resize(length);
    return sum;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
  int64_t size_ = 0;
};

// What a file of the state has; NOT_FOUND: it is not there.
using SumOf = std::function<absl::StatusOr<FileSum>(const std::string& path)>;

struct IndexedObject {
  std::string account, bucket, key, etag;
  int64_t size = 0;
  std::vector<std::pair<std::string, int64_t>> pieces;
};

void CheckObject(const IndexedObject& object, const SumOf& sum_of, const TellFinding& tell) {
  const std::string what = fmt::format("object s3://{}/{}", object.bucket, object.key);
  int64_t size = 0;
  std::string digests;
  for (const auto& [name, expected] : object.pieces) {
    const absl::StatusOr<FileSum> sum =
        IsPieceName(name) ? sum_of(PieceFile(name)) : absl::NotFoundError("not a file's name");
    if (!sum.ok()) return tell(fmt::format("{}: its file {} is missing", what, name));
    if (sum->size != expected)
      return tell(fmt::format("{}: its file {} has {} bytes; expected {}", what, name, sum->size, expected));
    size += sum->size;
    digests += sum->md5;
  }
  if (size != object.size)
    return tell(fmt::format("{}: its files have {} bytes; expected {}", what, size, object.size));
  // The ETag is the MD5 of the bytes, or that of the MD5s of several parts and their number. A single part
  // with a number is the model of a job, in whose ETag is no digest.
  std::string expected;
  const size_t dash = object.etag.find('-');
  if (dash == std::string::npos && object.pieces.size() == 1) {
    expected = absl::BytesToHexString(digests);
  } else if (dash != std::string::npos && object.pieces.size() > 1) {
    Summing all;
    all.Add(digests);
    expected = fmt::format("{}-{}", absl::BytesToHexString(all.Finish().md5), object.pieces.size());
  } else {
    return;
  }
  if (expected != object.etag)
    tell(fmt::format("{}: its content is another than its ETag {} says", what, object.etag));
}

// Calls `each` for every object of an index, with its files.
absl::Status ForEachObject(Database& index, const std::function<absl::Status(const IndexedObject&)>& each) {
  Statement rows(index,
                 "SELECT o.account, o.bucket, o.key, o.etag, o.size, json_extract(p.value, '$[0]'), "
                 "json_extract(p.value, '$[1]') FROM objects o LEFT JOIN json_each(o.pieces) p ON 1 ORDER BY "
                 "o.account, o.bucket, o.key, p.key");
  std::optional<IndexedObject> object;
  absl::Status status = rows.Bind().ForEach([&]() -> absl::Status {
    const bool same = object && object->account == rows.Text(0) && object->bucket == rows.Text(1) &&
                      object->key == rows.Text(2);
    if (!same) {
      if (object) {
        if (absl::Status done = each(*object); !done.ok()) return done;
      }
      object = IndexedObject{rows.Text(0), rows.Text(1), rows.Text(2), rows.Text(3), rows.Int(4), {}};
    }
    if (!rows.IsNull(5)) object->pieces.emplace_back(rows.Text(5), rows.Int(6));
    return absl::OkStatus();
  });
  if (status.ok() && object) status = each(*object);
  return status;
}

absl::StatusOr<int64_t> CheckState(const fs::path& jobs, const fs::path& index, const SumOf& sum_of,
                                   const TellFinding& tell) {
  int64_t objects = 0;
  for (const fs::path& file : {jobs, index}) {
    const absl::StatusOr<std::unique_ptr<Database>> database = OpenToCheck(file);
    absl::Status status = database.status();
    if (status.ok()) {
      status = CheckFile(**database, [&](const std::string& text) {
        tell(fmt::format("{}: {}", file.filename().string(), text));
      });
    }
    if (status.ok() && file == index) {
      status = ForEachObject(**database, [&](const IndexedObject& object) {
        ++objects;
        CheckObject(object, sum_of, tell);
        return absl::OkStatus();
      });
    }
    if (!status.ok()) tell(fmt::format("{}: {}", file.filename().string(), MessageOf(status)));
  }
  return objects;
}

// Links the files of all objects of the index in `work`.
absl::Status LinkFiles(const fs::path& folder, const fs::path& work) {
  absl::StatusOr<std::unique_ptr<Database>> index =
      Database::Open(work / kEndpointIndex, OpenMode::kReadWrite);
  if (!index.ok()) return index.status();
  // Uploads that are not complete are not objects.
  absl::Status status = (*index)->Execute("DELETE FROM uploads; DELETE FROM parts");
  if (!status.ok()) return status;
  return ForEachObject(**index, [&](const IndexedObject& object) -> absl::Status {
    for (const auto& [name, size] : object.pieces) {
      const fs::path link = work / PieceFile(name);
      std::error_code error;
      fs::create_directories(link.parent_path(), error);
      fs::create_hard_link(folder / PieceFile(name), link, error);
      if (error && error != std::errc::file_exists) return FileError(link, "be linked", error.value());
    }
    return absl::OkStatus();
  });
}

// Adds a file to the copy, in transactions of a bounded size.
class RowWriter {
 public:
  explicit RowWriter(Database& copy)
      : copy_(copy), insert_(copy, "INSERT INTO endpoint_files (path, bytes) VALUES (?1, ?2)") {}

  absl::Status Add(const std::string& path, const fs::path& file) {
    bool any = false;
    absl::Status status = ForEachPart(file, [&](std::string bytes) {
      any = true;
      return Write(path, std::move(bytes));
    });
    return status.ok() && !any ? Write(path, "") : status;
  }
  absl::Status Finish() {
    if (transaction_ == nullptr) return absl::OkStatus();
    absl::Status status = transaction_->Commit();
    transaction_.reset();
    return status;
  }

 private:
  absl::Status Write(const std::string& path, std::string bytes) {
    if (transaction_ == nullptr) {
      absl::StatusOr<std::unique_ptr<Transaction>> begun = Transaction::Begin(copy_);
      if (!begun.ok()) return begun.status();
      transaction_ = *std::move(begun);
      written_ = 0;
    }
    written_ += static_cast<int64_t>(bytes.size());
    absl::Status status = insert_.BindAll({path, Blob{std::move(bytes)}}).Run();
    return status.ok() && written_ >= kTransactionBytes ? Finish() : status;
  }

  Database& copy_;
  Statement insert_;
  std::unique_ptr<Transaction> transaction_;
  int64_t written_ = 0;
};

// Flushes a folder and all that is in it to disk.
absl::Status SyncTree(const fs::path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    absl::StatusOr<OpenFile> open =
        OpenFile::Open(at->path(), at->is_directory() ? O_RDONLY | O_DIRECTORY : O_RDONLY);
    absl::Status status = open.ok() ? open->Sync() : open.status();
    if (!status.ok()) return status;
  }
  return error ? FileError(folder, "be read", error.value()) : SyncFolder(folder);
}

// Writes the files whose paths begin with `prefix` into `folder`.
absl::Status WriteFiles(Database& copy, const std::string& prefix, const fs::path& folder) {
  Statement rows(copy, "SELECT path, bytes FROM endpoint_files WHERE substr(path, 1, ?1) = ?2 ORDER BY id");
  std::optional<OpenFile> open;
  std::string path;
  return rows.Bind(static_cast<int64_t>(prefix.size()), prefix).ForEach([&]() -> absl::Status {
    if (!open || path != rows.Text(0)) {
      path = rows.Text(0);
      const bool known = path == kEndpointJobs || path == kEndpointIndex || path == kEndpointKeys ||
                         path == PieceFile(fs::path(path).filename());
      if (!known || (path.starts_with(kEndpointFiles) && !IsPieceName(fs::path(path).filename())))
        return absl::DataLossError("the backup has a file of an unknown name: " + path);
      std::error_code error;
      fs::create_directories((folder / path).parent_path(), error);
      absl::StatusOr<OpenFile> created = OpenFile::Open(folder / path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
      if (!created.ok()) return created.status();
      open.emplace(*std::move(created));
    }
    return open->Write(rows.Text(1));
  });
}

}  // namespace

fs::path EndpointFolder(const fs::path& state_dir) { return state_dir / "sagemaker"; }

EndpointSnapshot::EndpointSnapshot(EndpointSnapshot&& other) noexcept
    : folder_(std::exchange(other.folder_, fs::path())) {}

EndpointSnapshot::~EndpointSnapshot() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_ / kSnapshotFolder, ignored);
}

absl::StatusOr<EndpointSnapshot> EndpointSnapshot::Take(const fs::path& folder,
                                                        const std::function<bool()>& cancelled) {
  if (!fs::exists(folder / kEndpointJobs) || !fs::exists(folder / kEndpointIndex))
    return EndpointSnapshot(fs::path());
  EndpointSnapshot snapshot(folder);
  const fs::path work = folder / kSnapshotFolder;
  std::error_code error;
  fs::remove_all(work, error);
  fs::create_directories(work / kEndpointFiles, error);
  if (error) return FileError(work, "be created", error.value());
  absl::Status status = CopyDatabase(folder / kEndpointJobs, work / kEndpointJobs, cancelled);
  if (!status.ok()) return status;
  // The endpoint removes no file meanwhile that the copied index may name.
  absl::StatusOr<OpenFile> files = OpenFile::Open(folder / kEndpointFiles, O_RDONLY | O_DIRECTORY);
  if (!files.ok()) return files.status();
  if (flock(files->descriptor(), LOCK_EX) != 0) return FileError(folder / kEndpointFiles, "be locked", errno);
  status = CopyDatabase(folder / kEndpointIndex, work / kEndpointIndex, cancelled);
  if (status.ok()) status = LinkFiles(folder, work);
  if (!status.ok()) return status;
  return snapshot;
}

absl::Status EndpointSnapshot::AddTo(const std::string& copy, const std::function<bool()>& cancelled) const {
  absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(copy, OpenMode::kReadWrite);
  if (!database.ok()) return database.status();
  absl::Status status = (*database)->Execute("DROP TABLE IF EXISTS endpoint_files");
  if (!status.ok() || folder_.empty()) return status;
  const fs::path work = folder_ / kSnapshotFolder;
  int64_t bytes = 0;
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(work, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_regular_file()) continue;
    files.push_back(at->path());
    bytes += static_cast<int64_t>(at->file_size());
  }
  if (error) return FileError(work, "be read", error.value());
  status = CheckRoomFor(fs::absolute(copy).parent_path(), bytes);
  if (status.ok()) status = (*database)->Execute(kEndpointTable);
  if (!status.ok()) return status;
  RowWriter rows(**database);
  if (fs::exists(folder_ / kEndpointKeys)) status = rows.Add(kEndpointKeys, folder_ / kEndpointKeys);
  for (const fs::path& file : files) {
    if (!status.ok()) return status;
    if (cancelled()) return absl::CancelledError("the copy was cancelled");
    const std::string path = fs::relative(file, work);
    if (path == kEndpointJobs || path == kEndpointIndex || path.starts_with(kEndpointFiles))
      status = rows.Add(path, file);
  }
  return status.ok() ? rows.Finish() : status;
}

absl::StatusOr<bool> TakeEndpointState(const std::string& copy, const fs::path& folder) {
  absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(copy, OpenMode::kReadWrite);
  if (!database.ok()) return database.status();
  const absl::StatusOr<bool> has = HasEndpointTable(**database);
  if (!has.ok() || !*has) return has;
  std::error_code error;
  fs::remove_all(folder, error);
  fs::create_directories(folder / kEndpointFiles, error);
  if (error) return FileError(folder, "be created", error.value());
  fs::permissions(folder, fs::perms::owner_all, error);
  absl::Status status = WriteFiles(**database, "", folder);
  if (status.ok()) status = SyncTree(folder);
  if (status.ok()) status = (*database)->Execute("DROP TABLE endpoint_files");
  if (status.ok()) status = (*database)->Execute("VACUUM");
  if (!status.ok()) return status;
  return true;
}

absl::StatusOr<int64_t> CheckEndpointFolder(const fs::path& folder, const TellFinding& tell) {
  if (!fs::exists(folder / kEndpointJobs) || !fs::exists(folder / kEndpointIndex)) return 0;
  const SumOf sum_of = [&](const std::string& path) -> absl::StatusOr<FileSum> {
    Summing sum;
    absl::Status status = ForEachPart(folder / path, [&](const std::string& bytes) {
      sum.Add(bytes);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return sum.Finish();
  };
  std::set<std::string> findings, again;
  absl::StatusOr<int64_t> objects = CheckState(folder / kEndpointJobs, folder / kEndpointIndex, sum_of,
                                               [&](const std::string& text) { findings.insert(text); });
  if (!objects.ok() || findings.empty()) return objects;
  // A running server may have removed an object after its row was read: what is wrong stays so.
  objects = CheckState(folder / kEndpointJobs, folder / kEndpointIndex, sum_of,
                       [&](const std::string& text) { again.insert(text); });
  for (const std::string& text : findings) {
    if (again.contains(text)) tell(text);
  }
  return objects;
}

absl::StatusOr<int64_t> CheckEndpointRows(Database& copy, const TellFinding& tell) {
  const absl::StatusOr<bool> has = HasEndpointTable(copy);
  if (!has.ok()) return has.status();
  if (!*has) return 0;
  std::string work = fs::temp_directory_path() / "winnow-check-XXXXXX";
  if (mkdtemp(work.data()) == nullptr) return FileError(work, "be created", errno);
  const absl::Cleanup clean = [&] {
    std::error_code ignored;
    fs::remove_all(work, ignored);
  };
  for (const char* file : {kEndpointJobs, kEndpointIndex}) {
    if (absl::Status status = WriteFiles(copy, file, work); !status.ok()) return status;
  }
  Statement parts(copy, "SELECT bytes FROM endpoint_files WHERE path = ?1 ORDER BY id");
  return CheckState(
      fs::path(work) / kEndpointJobs, fs::path(work) / kEndpointIndex,
      [&](const std::string& path) -> absl::StatusOr<FileSum> {
        Summing sum;
        bool any = false;
        absl::Status status = parts.Bind(path).ForEach([&] {
          any = true;
          sum.Add(parts.Text(0));
          return absl::OkStatus();
        });
        if (!status.ok()) return status;
        if (!any) return absl::NotFoundError(path);
        return sum.Finish();
      },
      tell);
}

}  // namespace winnow

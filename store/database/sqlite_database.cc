#include "store/database/sqlite_database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "store/database/room.h"

namespace winnow {
namespace {

constexpr int kBusyTimeoutMs = 5000;
// A log that grew during a long read is truncated to this after its checkpoint.
constexpr int64_t kKeptLogBytes = 64 << 20;

// Limit for a foreign file.
constexpr int kLongestForeignValue = 1 << 20;
constexpr int kStepsBetweenLooks = 10'000;  // of SQLite's virtual machine: about 0.1 ms
// Bytes of the file's header: write and read version; 2 means WAL.
constexpr size_t kFormatAt = 18;
constexpr char kFormatWithLog = 2;

// Returns a code for the system's error, if SQLite's code only says that a call failed.
int CodeOfSystem(int extended_code, int system_error) {
  const int primary = extended_code & 0xff;
  if (primary != SQLITE_IOERR && primary != SQLITE_CANTOPEN) return extended_code;
  switch (system_error) {
    case ENOSPC:
    case EDQUOT:
      return SQLITE_FULL;
    case EROFS:
      return SQLITE_READONLY;
    default:
      return extended_code;
  }
}

absl::StatusCode CodeOf(int extended_code) {
  switch (extended_code) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
      return absl::StatusCode::kAlreadyExists;
    default:
      break;
  }
  switch (extended_code & 0xff) {
    case SQLITE_CONSTRAINT:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return absl::StatusCode::kFailedPrecondition;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    case SQLITE_FULL:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    default:
      return absl::StatusCode::kInternal;
  }
}

// Advice for the user; "" if there is none.
const char* Advice(int extended_code) {
  switch (extended_code & 0xff) {
    case SQLITE_FULL:
      return "; the disk is full: free some space, nothing that was acknowledged is lost";
    case SQLITE_IOERR:
      return "; the disk could not be read or written: look at the system's log and check the disk, nothing "
             "that "
             "was acknowledged is lost";
    case SQLITE_READONLY:
      return "; the file or its folder is read-only: check owner and permissions";
    case SQLITE_CANTOPEN:
      return "; the folder must exist and be writable";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "; another process holds the file";
    case SQLITE_CORRUPT:
      return "; the file is damaged: winnow-server --check says where; restore it from a backup";
    case SQLITE_NOTADB:
      return "; this is not a Winnow database: name another file";
    default:
      return "";
  }
}

// SQLite's name of a file that is read without its log.
std::string StillUri(const std::string& file) {
  std::string uri = "file:";
  for (const char c : file) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

// WAL is a property of the file and set by the writer; the rest is the connection's.
std::string Settings(OpenMode mode) {
  if (mode == OpenMode::kNew) return "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF";
  if (mode != OpenMode::kReadWrite) {
    return "PRAGMA query_only = ON; PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY";
  }
  return fmt::format(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
      "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON;"
      "PRAGMA journal_size_limit = {}",
      kKeptLogBytes);
}

constexpr std::string_view kDescriptors = "/proc/self/fd/";

// SQLite's function for opening files. It follows no link, because SQLite has resolved the name before; only
// a descriptor's name is followed.
int OpenForSqlite(const char* name, int flags, int mode) {
  if (std::string_view(name).starts_with(kDescriptors)) flags &= ~O_NOFOLLOW;
  return open(name, flags, mode);
}

// The default file system without resolution of names: /proc/self/fd/N is the file open there, whatever its
// path leads to by now.
const char* VfsOfDescriptors() {
  static const char* const kName = [] {
    sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
    usual->xSetSystemCall(usual, "open", reinterpret_cast<sqlite3_syscall_ptr>(OpenForSqlite));
    static sqlite3_vfs vfs = *usual;
    vfs.zName = "winnow-descriptors";
    vfs.pNext = nullptr;
    vfs.xFullPathname = [](sqlite3_vfs*, const char* name, int size, char* full) {
      if (static_cast<int>(strlen(name)) >= size) return SQLITE_CANTOPEN;
      strcpy(full, name);
      return SQLITE_OK;
    };
    return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK ? vfs.zName : nullptr;
  }();
  return kName;
}

// For a foreign file: allows SELECTs of its own tables, and what they consist of.
int MayBeAsked(void*, int action, const char* first, const char*, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_TRANSACTION:
      return SQLITE_OK;
    case SQLITE_PRAGMA:
      return std::string_view(first) == "table_xinfo" ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

}  // namespace

absl::Status SqliteStatus(int extended_code, std::string_view file, std::string_view message,
                          std::string_view doing) {
  // A file of something else fails whatever is done.
  const std::string statement = (extended_code & 0xff) == SQLITE_NOTADB ? "" : fmt::format(" ({})", doing);
  return absl::Status(CodeOf(extended_code),
                      fmt::format("{}: {}{}{}", file, message, Advice(extended_code), statement));
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& file, OpenMode mode) {
  VfsOfDescriptors();  // once, before other threads have connections
  sqlite3* handle = nullptr;
  const bool still = mode == OpenMode::kStill;
  int flags = SQLITE_OPEN_NOMUTEX | (still ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  if (mode == OpenMode::kReadWrite || mode == OpenMode::kNew) flags |= SQLITE_OPEN_CREATE;
  if (still) flags |= SQLITE_OPEN_URI;
  int code = sqlite3_open_v2(still ? StillUri(file).c_str() : file.c_str(), &handle, flags, nullptr);
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(file, handle));
  if (handle == nullptr) return absl::ResourceExhaustedError(file + ": out of memory");
  sqlite3_extended_result_codes(handle, 1);
  if (code != SQLITE_OK) return database->Error(sqlite3_extended_errcode(handle), "open");
  // SQLite falls back to read-only, and would report it only at the first write.
  if (mode == OpenMode::kReadWrite && sqlite3_db_readonly(handle, "main") == 1) {
    return absl::FailedPreconditionError(
        file + ": cannot be written: check owner and permissions of the file and its directory");
  }
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  absl::Status status = database->Execute(Settings(mode));
  if (!status.ok()) return status;
  return database;
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::OpenForeign(const ForeignFile& foreign,
                                                                            GoOn go_on) {
  std::array<char, kFormatAt + 2> header{};
  const ssize_t got = pread(foreign.descriptor(), header.data(), header.size(), 0);
  const bool has_log = got == static_cast<ssize_t>(header.size()) && header[kFormatAt] == kFormatWithLog;
  const std::string file = fmt::format("{}{}", kDescriptors, foreign.descriptor());
  const std::string uri = fmt::format("file:{}{}", file, has_log ? "?immutable=1" : "");
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(
      uri.c_str(), &handle, SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, VfsOfDescriptors());
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(file, handle));
  if (handle == nullptr) return absl::ResourceExhaustedError(file + ": out of memory");
  sqlite3_extended_result_codes(handle, 1);
  if (code != SQLITE_OK) return database->Error(sqlite3_extended_errcode(handle), "open");
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLongestForeignValue);
  absl::Status status = database->Execute(Settings(OpenMode::kStill) + "; PRAGMA cell_size_check = ON");
  if (!status.ok()) return status;
  sqlite3_set_authorizer(handle, MayBeAsked, nullptr);
  database->go_on_ = std::move(go_on);
  sqlite3_progress_handler(
      handle, kStepsBetweenLooks,
      [](void* raw) {
        auto* self = static_cast<SqliteDatabase*>(raw);
        if (self->stopped_.ok()) self->stopped_ = self->go_on_();
        return self->stopped_.ok() ? 0 : 1;
      },
      database.get());
  return database;
}

void SqliteDatabase::KeepLog() { sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr); }

SqliteDatabase::~SqliteDatabase() { sqlite3_close_v2(handle_); }

absl::Status SqliteDatabase::Error(int code, std::string_view doing) const {
  if (!stopped_.ok()) return stopped_;
  std::string message = sqlite3_errmsg(handle_);
  const int system_error = sqlite3_system_errno(handle_);
  const int told = code;
  code = CodeOfSystem(code, system_error);
  if (code != told || message == "not an error") message = sqlite3_errstr(code);
  if ((code & 0xff) == SQLITE_IOERR && system_error != 0)
    message += fmt::format(" ({})", strerror(system_error));
  return SqliteStatus(code, file_, message, doing);
}

absl::Status SqliteDatabase::Execute(const std::string& sql) {
  int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return Error(code, sql);
  return absl::OkStatus();
}

int64_t SqliteDatabase::changes() const { return sqlite3_changes64(handle_); }
absl::StatusOr<int64_t> SqliteDatabase::LastInsertKey() { return sqlite3_last_insert_rowid(handle_); }
absl::Status SqliteDatabase::CheckWritable() { return CheckRoom(file_); }

absl::Status SqliteDatabase::CheckItself(const std::function<void(const std::string&)>& tell) {
  Statement pages(*this, "PRAGMA integrity_check");
  absl::Status status = pages.Bind().ForEach([&] {
    const std::string text = pages.Text(0);
    if (text != "ok") tell("SQLite: " + text);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  Statement keys(*this, "PRAGMA foreign_key_check");
  return keys.Bind().ForEach([&] {
    tell(fmt::format("a row of {} refers to a missing row of {}", keys.Text(0), keys.Text(2)));
    return absl::OkStatus();
  });
}

absl::StatusOr<int64_t> SqliteDatabase::ReadVersion() {
  absl::StatusOr<int64_t> application = QueryInt("PRAGMA application_id");
  if (!application.ok()) return application.status();
  absl::StatusOr<int64_t> version = QueryInt("PRAGMA user_version");
  if (!version.ok()) return version.status();
  absl::StatusOr<int64_t> objects = QueryInt("SELECT COUNT(*) FROM sqlite_master");
  if (!objects.ok()) return objects.status();
  if (*application == 0 && *version == 0 && *objects == 0) return 0;
  if (*application != kApplicationId) {
    return absl::FailedPreconditionError(file_ +
                                         ": this SQLite file belongs to another program; name another file");
  }
  return *version;
}

absl::Status SqliteDatabase::Migrate(int64_t version, const char* sql) {
  absl::Status status = Execute(sql);
  if (!status.ok()) return status;
  return Execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, version));
}

absl::StatusOr<std::vector<std::string>> SqliteDatabase::Columns(const std::string& table) {
  Statement list(*this, "SELECT name FROM pragma_table_info(?1) ORDER BY cid");
  std::vector<std::string> columns;
  absl::Status status = list.Bind(table).ForEach([&] {
    columns.push_back(list.Text(0));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return columns;
}

absl::StatusOr<int64_t> SqliteDatabase::HighestKey(const std::string& table, const std::string& column) {
  Statement kept(*this, "SELECT seq FROM sqlite_sequence WHERE name = ?1");
  absl::StatusOr<bool> row = kept.Bind(table).Next();
  if (!row.ok()) return row.status();
  if (*row) return kept.Int(0);
  return QueryInt(fmt::format("SELECT IFNULL(MAX({}), 0) FROM {}", column, table));
}

absl::Status SqliteDatabase::SetHighestKey(const std::string& table, const std::string&, int64_t key) {
  Statement update(*this, "UPDATE sqlite_sequence SET seq = ?2 WHERE name = ?1 AND seq < ?2");
  absl::Status status = update.Bind(table, key).Run();
  if (!status.ok()) return status;
  Statement insert(*this,
                   "INSERT INTO sqlite_sequence (name, seq) SELECT ?1, ?2 WHERE ?2 > 0 AND NOT EXISTS"
                   " (SELECT 1 FROM sqlite_sequence WHERE name = ?1) AND EXISTS (SELECT 1 FROM sqlite_master"
                   " WHERE name = ?1 AND sql LIKE '%AUTOINCREMENT%')");
  return insert.Bind(table, key).Run();
}

absl::Status SqliteDatabase::Begin(bool write) { return Execute(write ? "BEGIN IMMEDIATE" : "BEGIN"); }

absl::Status SqliteDatabase::Commit() {
  if (sqlite3_get_autocommit(handle_) != 0) {
    return absl::AbortedError(file_ + ": an error has rolled the transaction back");
  }
  return Execute("COMMIT");
}

void SqliteDatabase::Rollback() {
  // An error may have rolled it back already; then there is nothing to undo.
  if (sqlite3_get_autocommit(handle_) == 0) (void)Execute("ROLLBACK");
}

// Prepared by the first Reset, finalised by the destructor.
class SqliteCursor final : public Cursor {
 public:
  SqliteCursor(SqliteDatabase& database, std::string_view sql) : database_(database), sql_(sql) {}
  ~SqliteCursor() override { sqlite3_finalize(statement_); }

  void Reset() override {
    error_ = SQLITE_OK;
    if (statement_ != nullptr) {
      sqlite3_reset(statement_);
      return;
    }
    error_ = sqlite3_prepare_v3(database_.handle_, sql_.data(), static_cast<int>(sql_.size()),
                                SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  }
  void BindInt(int index, int64_t value) override { Note(sqlite3_bind_int64(statement_, index, value)); }
  void BindReal(int index, double value) override { Note(sqlite3_bind_double(statement_, index, value)); }
  void BindNull(int index) override { Note(sqlite3_bind_null(statement_, index)); }
  void BindText(int index, std::string_view value) override {
    Note(sqlite3_bind_text64(statement_, index, value.data() == nullptr ? "" : value.data(), value.size(),
                             SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  void BindBlob(int index, std::string_view value) override {
    Note(sqlite3_bind_blob64(statement_, index, value.data() == nullptr ? "" : value.data(), value.size(),
                             SQLITE_TRANSIENT));
  }

  absl::StatusOr<bool> Next() override {
    // A full disk and similar errors end a transaction early; later statements must not be written on their
    // own.
    if (database_.in_transaction_ && sqlite3_get_autocommit(database_.handle_) != 0) {
      return absl::AbortedError(database_.file_ + ": an error has rolled the transaction back");
    }
    if (error_ != SQLITE_OK) return database_.Error(error_, sql_);
    int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) {
      sqlite3_reset(statement_);
      return false;
    }
    absl::Status status = database_.Error(sqlite3_extended_errcode(database_.handle_), sql_);
    sqlite3_reset(statement_);
    return status;
  }
  absl::Status RunLater() override { return Next().status(); }

  int64_t Int(int column) const override { return sqlite3_column_int64(statement_, column); }
  double Real(int column) const override { return sqlite3_column_double(statement_, column); }
  bool IsNull(int column) const override { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::string Text(int column) const override {
    const void* bytes = sqlite3_column_blob(statement_, column);
    if (bytes == nullptr) return "";
    return std::string(static_cast<const char*>(bytes), sqlite3_column_bytes(statement_, column));
  }
  ColumnValue Get(int column) const override {
    switch (sqlite3_column_type(statement_, column)) {
      case SQLITE_NULL:
        return nullptr;
      case SQLITE_INTEGER:
        return Int(column);
      case SQLITE_FLOAT:
        return Real(column);
      case SQLITE_BLOB:
        return Blob{Text(column)};
      default:
        return Text(column);
    }
  }

 private:
  void Note(int code) {
    if (error_ == SQLITE_OK) error_ = code;
  }
  SqliteDatabase& database_;
  const std::string sql_;
  sqlite3_stmt* statement_ = nullptr;
  int error_ = SQLITE_OK;
};

std::unique_ptr<Cursor> SqliteDatabase::Prepare(std::string_view sql) {
  return std::make_unique<SqliteCursor>(*this, sql);
}

}  // namespace winnow

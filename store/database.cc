#include "store/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"

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
  return absl::Status(CodeOf(extended_code),
                      fmt::format("{}: {}{} ({})", file, message, Advice(extended_code), doing));
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& file, OpenMode mode) {
  VfsOfDescriptors();  // once, before other threads have connections
  sqlite3* handle = nullptr;
  const bool still = mode == OpenMode::kStill;
  int flags = SQLITE_OPEN_NOMUTEX | (still ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  if (mode == OpenMode::kReadWrite || mode == OpenMode::kNew) flags |= SQLITE_OPEN_CREATE;
  if (still) flags |= SQLITE_OPEN_URI;
  int code = sqlite3_open_v2(still ? StillUri(file).c_str() : file.c_str(), &handle, flags, nullptr);
  std::unique_ptr<Database> database(new Database(file, handle));
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

absl::StatusOr<std::unique_ptr<Database>> Database::OpenForeign(const ForeignFile& foreign, GoOn go_on) {
  std::array<char, kFormatAt + 2> header{};
  const ssize_t got = pread(foreign.descriptor(), header.data(), header.size(), 0);
  const bool has_log = got == static_cast<ssize_t>(header.size()) && header[kFormatAt] == kFormatWithLog;
  const std::string file = fmt::format("{}{}", kDescriptors, foreign.descriptor());
  const std::string uri = fmt::format("file:{}{}", file, has_log ? "?immutable=1" : "");
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(
      uri.c_str(), &handle, SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, VfsOfDescriptors());
  std::unique_ptr<Database> database(new Database(file, handle));
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
  sqlite3_progress_handler(handle, kStepsBetweenLooks, [](void* raw) {
    auto* self = static_cast<Database*>(raw);
    if (self->stopped_.ok()) self->stopped_ = self->go_on_();
    return self->stopped_.ok() ? 0 : 1;
  }, database.get());
  return database;
}

void Database::KeepLog() { sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr); }

Database::~Database() { sqlite3_close_v2(handle_); }

absl::Status Database::Error(int code, std::string_view doing) const {
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

absl::Status Database::Execute(const std::string& sql) {
  int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return Error(code, sql);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Database::QueryInt(std::string_view sql) {
  Statement statement(*this, sql);
  absl::StatusOr<bool> row = statement.Bind().Next();
  if (!row.ok()) return row.status();
  if (!*row) return absl::NotFoundError(fmt::format("{}: no row ({})", file_, sql));
  return statement.Int(0);
}

int64_t Database::changes() const { return sqlite3_changes64(handle_); }
int64_t Database::last_insert_key() const { return sqlite3_last_insert_rowid(handle_); }

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::Prepare() {
  Note(sqlite3_prepare_v3(database_.handle(), sql_.data(), static_cast<int>(sql_.size()),
                          SQLITE_PREPARE_PERSISTENT, &statement_, nullptr));
}

void Statement::Reset() {
  error_ = SQLITE_OK;
  if (statement_ == nullptr) {
    Prepare();
  } else {
    sqlite3_reset(statement_);
  }
}

void Statement::Note(int code) {
  if (error_ == SQLITE_OK) error_ = code;
}

void Statement::BindOne(int index, int64_t value) { Note(sqlite3_bind_int64(statement_, index, value)); }
void Statement::BindOne(int index, double value) { Note(sqlite3_bind_double(statement_, index, value)); }
void Statement::BindOne(int index, std::nullptr_t) { Note(sqlite3_bind_null(statement_, index)); }
void Statement::BindOne(int index, std::string_view value) {
  Note(sqlite3_bind_text64(statement_, index, value.data() == nullptr ? "" : value.data(), value.size(),
                           SQLITE_TRANSIENT, SQLITE_UTF8));
}

absl::StatusOr<bool> Statement::Next() {
  // A full disk and similar errors end a transaction early; later statements must not be written on their
  // own.
  if (database_.in_transaction_ && sqlite3_get_autocommit(database_.handle()) != 0) {
    return absl::AbortedError(database_.file() + ": an error has rolled the transaction back");
  }
  if (error_ != SQLITE_OK) return database_.Error(error_, sql_);
  int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_);
    return false;
  }
  absl::Status status = database_.Error(sqlite3_extended_errcode(database_.handle()), sql_);
  sqlite3_reset(statement_);
  return status;
}

absl::Status Statement::Run() {
  absl::StatusOr<bool> row = Next();
  if (!row.ok()) return row.status();
  WINNOW_CHECK(!*row, "a statement that is only run gives no row: " + std::string(sql_));
  return absl::OkStatus();
}

absl::Status Statement::ForEach(const std::function<absl::Status()>& row) {
  while (true) {
    absl::StatusOr<bool> there = Next();
    if (!there.ok()) return there.status();
    if (!*there) return absl::OkStatus();
    absl::Status status = row();
    if (!status.ok()) {
      Reset();
      return status;
    }
  }
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::Real(int column) const { return sqlite3_column_double(statement_, column); }
bool Statement::IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

std::string Statement::Text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  if (bytes == nullptr) return "";
  return std::string(static_cast<const char*>(bytes), sqlite3_column_bytes(statement_, column));
}

absl::StatusOr<std::unique_ptr<Transaction>> Transaction::Begin(Database& database) {
  WINNOW_CHECK(!database.in_transaction_, "one transaction at a time");
  absl::Status status = database.Execute("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  database.in_transaction_ = true;
  return std::unique_ptr<Transaction>(new Transaction(database));
}

absl::StatusOr<std::unique_ptr<Transaction>> Transaction::BeginRead(Database& database) {
  WINNOW_CHECK(!database.in_transaction_, "one transaction at a time");
  absl::Status status = database.Execute("BEGIN");
  if (!status.ok()) return status;
  database.in_transaction_ = true;
  return std::unique_ptr<Transaction>(new Transaction(database));
}

Transaction::~Transaction() {
  if (!open_) return;
  database_.in_transaction_ = false;
  // An error may have rolled it back already; then there is nothing to undo.
  if (sqlite3_get_autocommit(database_.handle()) == 0) (void)database_.Execute("ROLLBACK");
}

absl::Status Transaction::Commit() {
  if (sqlite3_get_autocommit(database_.handle()) != 0) {
    return absl::AbortedError(database_.file() + ": an error has rolled the transaction back");
  }
  absl::Status status = database_.Execute("COMMIT");
  if (!status.ok()) return status;  // the destructor rolls back
  open_ = false;
  database_.in_transaction_ = false;
  return absl::OkStatus();
}

}  // namespace winnow

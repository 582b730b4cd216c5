#include "store/database/database.h"

#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "store/database/sqlite_database.h"
#include "store/store.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

std::unique_ptr<Database> Memory() {
  auto database = Database::Open(":memory:", OpenMode::kReadWrite);
  REQUIRE(database.ok());
  REQUIRE((*database)->Execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b, c TEXT NOT NULL DEFAULT '')").ok());
  return *std::move(database);
}

TEST_CASE("Statement: what is bound comes back with its type", "[store]") {
  auto database = Memory();
  Statement insert(*database, "INSERT INTO t (a, b, c) VALUES (?1, ?2, ?3)");
  REQUIRE(insert.Bind(int64_t{1} << 60, 0.1, "text with \" and '").Run().ok());
  REQUIRE(insert.Bind(int64_t{-7}, std::optional<double>(), std::string("a\0b", 3)).Run().ok());
  CHECK(database->changes() == 1);
  Statement select(*database, "SELECT a, b, c FROM t ORDER BY a DESC");
  REQUIRE(*select.Bind().Next());
  CHECK(select.Int(0) == int64_t{1} << 60);
  CHECK(select.Real(1) == 0.1);
  CHECK(select.Text(2) == "text with \" and '");
  REQUIRE(*select.Next());
  CHECK(select.Int(0) == -7);
  CHECK(select.IsNull(1));
  CHECK(select.Text(2) == std::string("a\0b", 3));
  CHECK_FALSE(*select.Next());
}

TEST_CASE("Statement: is used again without forgetting to bind anew", "[store]") {
  auto database = Memory();
  Statement insert(*database, "INSERT INTO t (b) VALUES (?1)");
  for (int64_t i = 0; i < 100; ++i) REQUIRE(insert.Bind(i).Run().ok());
  CHECK(*database->QueryInt("SELECT SUM(b) FROM t") == 4950);
}

TEST_CASE("Statement: an error names file, cause and statement", "[store]") {
  auto database = Memory();
  Statement wrong(*database, "SELECT a FROM nowhere");
  absl::Status status = wrong.Bind().Run();
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK_THAT(std::string(status.message()), Catch::Contains("no such table: nowhere") &&
                                                Catch::Contains(":memory:") && Catch::Contains("SELECT a"));
}

TEST_CASE("Transaction: what is not committed is undone by its end", "[store]") {
  auto database = Memory();
  {
    auto transaction = Transaction::Begin(*database);
    REQUIRE(transaction.ok());
    REQUIRE(database->Execute("INSERT INTO t (b) VALUES (1)").ok());
  }
  CHECK(*database->QueryInt("SELECT COUNT(*) FROM t") == 0);
  {
    auto transaction = Transaction::Begin(*database);
    REQUIRE(transaction.ok());
    REQUIRE(database->Execute("INSERT INTO t (b) VALUES (1)").ok());
    REQUIRE((*transaction)->Commit().ok());
  }
  CHECK(*database->QueryInt("SELECT COUNT(*) FROM t") == 1);
}

TEST_CASE("Transaction: what comes after an error that ended it is not written on its own", "[store]") {
  auto store = Store::Open(":memory:");
  REQUIRE(store.ok());
  Database& database = (*store)->database();
  REQUIRE(database.Execute("CREATE TABLE t (x BLOB)").ok());
  REQUIRE(database.QueryInt("PRAGMA max_page_count = 1").ok());  // as many as there are
  Statement insert(database, "INSERT INTO t (x) VALUES (?)");
  const std::string page(8192, 'x');
  absl::Status after;
  const absl::Status status = (*store)->Write([&] {
    absl::Status full;
    while (full.ok()) full = insert.Bind(page).Run();
    REQUIRE(database.Execute("PRAGMA max_page_count = 100000").ok());
    after = insert.Bind("y").Run();
    return full;
  });
  CHECK(absl::IsResourceExhausted(status));
  CHECK(absl::IsAborted(after));
  CHECK(*database.QueryInt("SELECT COUNT(*) FROM t") == 0);
}

TEST_CASE("Errors: every code of SQLite becomes the status that the caller can act on", "[store]") {
  struct Case {
    int code;
    absl::StatusCode expected;
    const char* advice;
  };
  auto c = GENERATE(Case{SQLITE_CONSTRAINT_UNIQUE, absl::StatusCode::kAlreadyExists, ""},
                    Case{SQLITE_CONSTRAINT_PRIMARYKEY, absl::StatusCode::kAlreadyExists, ""},
                    Case{SQLITE_CONSTRAINT_FOREIGNKEY, absl::StatusCode::kFailedPrecondition, ""},
                    Case{SQLITE_CONSTRAINT_NOTNULL, absl::StatusCode::kFailedPrecondition, ""},
                    Case{SQLITE_BUSY, absl::StatusCode::kUnavailable, "another process"},
                    Case{SQLITE_BUSY_SNAPSHOT, absl::StatusCode::kUnavailable, "another process"},
                    Case{SQLITE_LOCKED, absl::StatusCode::kUnavailable, "another process"},
                    Case{SQLITE_FULL, absl::StatusCode::kResourceExhausted, "disk is full"},
                    Case{SQLITE_READONLY, absl::StatusCode::kFailedPrecondition, "permissions"},
                    Case{SQLITE_CANTOPEN, absl::StatusCode::kFailedPrecondition, "folder must exist"},
                    Case{SQLITE_CORRUPT, absl::StatusCode::kDataLoss, "restore it"},
                    Case{SQLITE_NOTADB, absl::StatusCode::kDataLoss, "not a Winnow database"},
                    Case{SQLITE_IOERR_WRITE, absl::StatusCode::kInternal, ""});
  absl::Status status = SqliteStatus(c.code, "file.db", "message", "doing");
  CHECK(status.code() == c.expected);
  CHECK_THAT(std::string(status.message()), Catch::Contains("file.db: message") && Catch::Contains(c.advice));
  // A file of something else fails whatever is done.
  CHECK((status.message().find("(doing)") == std::string::npos) == (c.code == SQLITE_NOTADB));
}

TEST_CASE("Errors: real ones arrive as mapped", "[store]") {
  TempFolder folder;
  SECTION("a key that is taken") {
    auto database = Memory();
    REQUIRE(database->Execute("INSERT INTO t (a) VALUES (1)").ok());
    CHECK(database->Execute("INSERT INTO t (a) VALUES (1)").code() == absl::StatusCode::kAlreadyExists);
  }
  SECTION("a full disk") {
    auto database = Memory();
    REQUIRE(database->Execute("PRAGMA max_page_count = 4").ok());
    absl::Status status = database->Execute("INSERT INTO t (b) VALUES (zeroblob(100000))");
    CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  }
  SECTION("a folder that is not there") {
    auto database = Database::Open(folder.file("no/such/file.db"), OpenMode::kReadWrite);
    CHECK(database.status().code() == absl::StatusCode::kFailedPrecondition);
  }
  SECTION("a file of another kind") {
    std::ofstream(folder.file("text.db")) << std::string(5000, 'x');
    auto database = Database::Open(folder.file("text.db"), OpenMode::kReadWrite);
    CHECK(database.status().code() == absl::StatusCode::kDataLoss);
    CHECK_THAT(std::string(database.status().message()), Catch::Contains("not a Winnow database"));
  }
  SECTION("another writer") {
    auto first = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    auto second = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    REQUIRE((*second)->Execute("PRAGMA busy_timeout = 1").ok());
    auto held = Transaction::Begin(**first);
    CHECK(Transaction::Begin(**second).status().code() == absl::StatusCode::kUnavailable);
  }
  SECTION("a write over a read-only connection") {
    auto writer = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    REQUIRE((*writer)->Execute("CREATE TABLE t (a)").ok());
    auto reader = Database::Open(folder.file("a.db"), OpenMode::kReadOnly);
    REQUIRE(reader.ok());
    CHECK((*reader)->Execute("INSERT INTO t VALUES (1)").code() == absl::StatusCode::kFailedPrecondition);
  }
}

// The superuser may write everything: while this lives, the process is someone else.
struct Unprivileged {
  Unprivileged() { REQUIRE((geteuid() != 0 || seteuid(65534) == 0)); }
  ~Unprivileged() { (void)!seteuid(getuid()); }
};

TEST_CASE("Database: a file that cannot be written is refused when it is opened", "[store]") {
  namespace fs = std::filesystem;
  TempFolder folder;
  std::string file = folder.file("a.db");
  REQUIRE(Database::Open(file, OpenMode::kReadWrite).ok());
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(file, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  Unprivileged user;
  auto database = Database::Open(file, OpenMode::kReadWrite);
  CHECK(database.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(database.status().message()), Catch::StartsWith(file + ": cannot be written"));
}

TEST_CASE("Database: a file is written ahead and to the disk", "[store]") {
  TempFolder folder;
  auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
  REQUIRE(database.ok());
  Statement mode(**database, "PRAGMA journal_mode");
  REQUIRE(*mode.Bind().Next());
  CHECK(mode.Text(0) == "wal");
  CHECK(*(*database)->QueryInt("PRAGMA synchronous") == 2);  // FULL
  CHECK(*(*database)->QueryInt("PRAGMA foreign_keys") == 1);
}

}  // namespace
}  // namespace winnow

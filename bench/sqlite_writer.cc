#include "bench/sqlite_writer.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdlib>

namespace winnow {
namespace {

void Require(int code, int expected, sqlite3* db) {
  if (code == expected) return;
  fmt::print(stderr, "sqlite: {}\n", sqlite3_errmsg(db));
  std::exit(1);
}

}  // namespace

double SqliteWriterRowsPerSecond(const std::string& folder, int rows_per_commit, double seconds) {
  const std::string file = folder + "/writer.db";
  sqlite3* db = nullptr;
  Require(sqlite3_open(file.c_str(), &db), SQLITE_OK, db);
  auto run = [&](const char* sql) {
    Require(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK, db);
  };
  run("PRAGMA journal_mode = WAL");
  run("PRAGMA synchronous = FULL");
  run("CREATE TABLE r (trial INTEGER, attempt INTEGER, resource INTEGER, metric INTEGER, value REAL, time "
      "INTEGER,"
      " sequence INTEGER, PRIMARY KEY (trial, attempt, resource, metric)) WITHOUT ROWID");
  sqlite3_stmt* insert = nullptr;
  Require(sqlite3_prepare_v2(db, "INSERT INTO r VALUES (?, 1, ?, 1, ?, 1700000000000000, ?)", -1, &insert,
                             nullptr),
          SQLITE_OK, db);
  auto begin = std::chrono::steady_clock::now();
  double elapsed = 0;
  int64_t rows = 0;
  while (elapsed < seconds) {
    run("BEGIN IMMEDIATE");
    for (int i = 0; i < rows_per_commit; ++i, ++rows) {
      sqlite3_bind_int64(insert, 1, i % 64);
      sqlite3_bind_int64(insert, 2, rows);
      sqlite3_bind_double(insert, 3, 1.0 / (rows + 1));
      sqlite3_bind_int64(insert, 4, rows);
      Require(sqlite3_step(insert), SQLITE_DONE, db);
      sqlite3_reset(insert);
    }
    run("COMMIT");
    elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  sqlite3_finalize(insert);
  sqlite3_close(db);
  return rows / elapsed;
}

int64_t CountReports(const std::string& database) {
  sqlite3* db = nullptr;
  Require(sqlite3_open_v2(database.c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK, db);
  sqlite3_stmt* count = nullptr;
  Require(sqlite3_prepare_v2(db, "SELECT COUNT(*) FROM reports", -1, &count, nullptr), SQLITE_OK, db);
  Require(sqlite3_step(count), SQLITE_ROW, db);
  int64_t rows = sqlite3_column_int64(count, 0);
  sqlite3_finalize(count);
  sqlite3_close(db);
  return rows;
}

}  // namespace winnow

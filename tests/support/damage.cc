#include "tests/support/damage.h"

#include <sqlite3.h>

#include <cstdlib>
#include <fstream>

namespace winnow {
namespace {

constexpr int64_t kPageBytes = 4096;

}  // namespace

void DamagePage(const std::string& file, int64_t page) {
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(page * kPageBytes);
  out << std::string(kPageBytes, '\xa5');
  if (!out.flush()) abort();
}

int64_t RootPage(const std::string& file, const std::string& table) {
  sqlite3* database = nullptr;
  sqlite3_stmt* select = nullptr;
  if (sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK ||
      sqlite3_prepare_v2(database, "SELECT rootpage FROM sqlite_master WHERE name = ?1", -1, &select,
                         nullptr) != SQLITE_OK) {
    abort();
  }
  sqlite3_bind_text(select, 1, table.c_str(), -1, SQLITE_TRANSIENT);
  if (sqlite3_step(select) != SQLITE_ROW) abort();
  const int64_t page = sqlite3_column_int64(select, 0) - 1;  // SQLite counts from 1
  sqlite3_finalize(select);
  sqlite3_close(database);
  return page;
}

}  // namespace winnow

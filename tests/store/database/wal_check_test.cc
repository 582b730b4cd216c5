#include "store/database/wal_check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "store/database/database.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr int kRows = 30;

// Writes `kRows` rows, each a transaction of its own, and ends without closing anything, as after kill -9.
void WriteAndDie(const std::string& file) {
  const pid_t writer = fork();
  if (writer == 0) {
    auto database = Database::Open(file, OpenMode::kReadWrite);
    if (!(*database)->Execute("CREATE TABLE rows (n INTEGER, text TEXT)").ok()) _exit(1);
    for (int i = 0; i < kRows; ++i) {
      if (!(*database)
               ->Execute("INSERT INTO rows VALUES (" + std::to_string(i) + ", hex(randomblob(2000)))")
               .ok()) {
        _exit(1);
      }
    }
    _exit(0);
  }
  int status = 0;
  waitpid(writer, &status, 0);
  REQUIRE(status == 0);
}

struct Died {
  Died() {
    WriteAndDie(file);
    std::ifstream in(file + "-wal", std::ios::binary);
    log.assign(std::istreambuf_iterator<char>(in), {});
  }
  void Write(const std::string& bytes) const {
    std::ofstream(file + "-wal", std::ios::binary | std::ios::trunc) << bytes;
  }
  void Flip(size_t bit) const {
    std::string flipped = log;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    Write(flipped);
  }
  // As SQLite sees it, on a copy.
  int64_t Rows() const {
    TempFolder other;
    for (const char* part : {"", "-wal"}) fs::copy_file(file + part, other.file("a.db") + part);
    auto database = Database::Open(other.file("a.db"), OpenMode::kReadOnly);
    return (*database)->QueryInt("SELECT COUNT(*) FROM rows").value_or(0);
  }
  TempFolder folder;
  const std::string file = folder.file("a.db");
  std::string log;
};

TEST_CASE("Log check: whatever bit is flipped, it is found or nothing is lost", "[store]") {
  Died died;
  REQUIRE(died.log.size() > 100'000);
  REQUIRE(CheckLog(died.file).ok());
  std::vector<size_t> bits;
  for (size_t bit = 0; bit < 56 * 8; bit += 3) bits.push_back(bit);  // of the header and of the first frame's
  for (size_t bit = 7; bit < died.log.size() * 8; bit += 8 * 997 + 1) bits.push_back(bit);
  const size_t last = died.log.size() - 4096 - 24;
  for (size_t byte = last; byte < last + 24; ++byte) bits.push_back(byte * 8);  // of the last frame
  int found = 0;
  for (const size_t bit : bits) {
    died.Flip(bit);
    const absl::Status status = CheckLog(died.file);
    INFO("bit " << bit << ": " << status.ToString());
    CHECK((absl::IsDataLoss(status) || died.Rows() == kRows));
    found += absl::IsDataLoss(status) ? 1 : 0;
  }
  CHECK(found > static_cast<int>(bits.size()) * 9 / 10);
}

TEST_CASE("Log check: without the index beside it, damage before the last transaction is found", "[store]") {
  Died died;
  fs::remove(died.file + "-shm");
  CHECK(CheckLog(died.file).ok());
  for (const size_t byte :
       {size_t{3}, size_t{17}, size_t{32 + 8}, died.log.size() / 3, died.log.size() / 2}) {
    INFO(byte);
    died.Flip(byte * 8);
    CHECK(absl::IsDataLoss(CheckLog(died.file)));
  }
}

TEST_CASE("Log check: what a power cut leaves of the last transaction is no damage", "[store]") {
  Died died;
  fs::remove(died.file + "-shm");  // nothing synced it
  const size_t frame = 4096 + 24;
  for (const size_t cut : {size_t{1}, size_t{4096}, frame}) {
    INFO(cut);
    died.Write(died.log.substr(0, died.log.size() - cut));
    CHECK(CheckLog(died.file).ok());
    std::string torn = died.log;
    torn.replace(torn.size() - cut, cut, std::string(cut, '\0'));
    died.Write(torn);
    CHECK(CheckLog(died.file).ok());
  }
  died.Write(died.log.substr(0, 20));
  CHECK(CheckLog(died.file).ok());
  died.Write("");
  CHECK(CheckLog(died.file).ok());
}

TEST_CASE("Log check: frames of an earlier use of the log are no damage", "[store]") {
  Died died;
  {
    auto database = Database::Open(died.file, OpenMode::kReadWrite);
    (*database)->KeepLog();
    REQUIRE((*database)->QueryInt("PRAGMA wal_checkpoint(RESTART)").ok());
    REQUIRE((*database)->Execute("INSERT INTO rows VALUES (-1, 'new')").ok());
  }
  REQUIRE(fs::file_size(died.file + "-wal") >= died.log.size());
  CHECK(CheckLog(died.file).ok());
  fs::remove(died.file + "-shm");
  CHECK(CheckLog(died.file).ok());
}

TEST_CASE("Log check: finds that a log was cut off, as long as the index is there", "[store]") {
  Died died;
  died.Write(died.log.substr(0, died.log.size() / 2));
  CHECK_THAT(std::string(CheckLog(died.file).message()),
             Catch::Contains(died.file + "-wal") && Catch::Contains("--accept-log-damage"));
}

TEST_CASE("Log check: a database without a log is sound", "[store]") {
  TempFolder folder;
  CHECK(CheckLog(folder.file("none.db")).ok());
}

}  // namespace
}  // namespace winnow

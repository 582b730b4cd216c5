// Files with bytes changed or cut off without SQLite.

#include "tests/support/damage.h"

#include <filesystem>
#include <fstream>

#include "store/check.h"
#include "store/store.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

constexpr int kMarks = 5000;

// A closed database of some hundred pages.
std::string MakeFile(const TempFolder& folder) {
  const std::string file = folder.file("w.db");
  auto store = Store::Open(file);
  REQUIRE(store.ok());
  REQUIRE((*store)
              ->Write([&]() -> absl::Status {
                for (int i = 0; i < kMarks; ++i) {
                  absl::Status put = (*store)->workers.PutMark(
                      {"worker-" + std::to_string(i), Marked::kCordoned, std::string(100, 'r'), 0});
                  if (!put.ok()) return put;
                }
                return absl::OkStatus();
              })
              .ok());
  return file;
}

std::vector<std::string> Findings(const std::string& file) {
  std::vector<std::string> findings;
  auto database = Database::Open(file, OpenMode::kReadOnly);
  if (!database.ok()) return {std::string(database.status().message())};
  const absl::Status status =
      CheckFile(**database, [&](const std::string& text) { findings.push_back(text); });
  if (!status.ok()) findings.emplace_back(status.message());
  return findings;
}

TEST_CASE("Damage: a whole file has no finding", "[store]") {
  TempFolder folder;
  CHECK(Findings(MakeFile(folder)).empty());
}

TEST_CASE("Damage: a file that was cut off is refused with what to do", "[store]") {
  TempFolder folder;
  const std::string file = MakeFile(folder);
  const auto bytes = std::filesystem::file_size(file);
  const auto kept = GENERATE(0.99, 0.5, 0.1);
  std::filesystem::resize_file(file, static_cast<uintmax_t>(static_cast<double>(bytes) * kept) / 4096 * 4096);
  auto store = Store::Open(file);
  CHECK(store.status().code() == absl::StatusCode::kDataLoss);
  CHECK_THAT(std::string(store.status().message()),
             Catch::StartsWith(file) && Catch::Contains("restore it from a backup"));
}

TEST_CASE("Damage: whatever is done to a page, it is found and nothing crashes", "[store]") {
  TempFolder folder;
  const std::string file = MakeFile(folder);
  const auto pages = static_cast<int64_t>(std::filesystem::file_size(file)) / 4096;
  REQUIRE(pages > 100);
  const int64_t page = GENERATE(0, 1, 2, 10, 40, 100);
  DamagePage(file, page);
  CHECK_FALSE(Findings(file).empty());
  auto store = Store::Open(file);
  if (!store.ok()) CHECK(store.status().code() == absl::StatusCode::kDataLoss);
}

TEST_CASE("Damage: a write that meets a damaged page says so and changes nothing", "[store]") {
  TempFolder folder;
  const std::string file = MakeFile(folder);
  DamagePage(file, RootPage(file, "worker_marks"));
  auto store = Store::Open(file);
  REQUIRE(store.ok());
  const absl::Status status = (*store)->Write([&] {
    return (*store)->workers.PutMark({"new", Marked::kCordoned, "", 0});
  });
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK_THAT(std::string(status.message()), Catch::Contains("winnow-server --check"));
}

}  // namespace
}  // namespace winnow

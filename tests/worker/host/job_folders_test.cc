#include "worker/host/job_folders.h"

#include <filesystem>
#include <fstream>
#include <future>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "worker/runs/trial_directories.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// A folder of a job's trial with a file, as a trainer leaves it.
void Train(const fs::path& shared, const std::string& job) {
  const auto made = MakeTrialDirectories(shared, job, 1, Clearing::kNothing);
  REQUIRE(made.ok());
  std::ofstream(made->checkpoint / "weights") << "0.5";
}

std::vector<std::string> Listed(JobFolders& folders) {
  std::promise<std::vector<std::string>> listed;
  folders.List([&listed](std::vector<std::string> marks) { listed.set_value(std::move(marks)); });
  return listed.get_future().get();
}

TEST_CASE("JobFolders: a deleted job's folders go, in both places, and others stay", "[worker]") {
  TempFolder folder;
  const fs::path work = folder / "work", shared = folder / "shared";
  {
    JobFolders folders(work, shared);
    for (const std::string job : {"old", "new"}) {
      REQUIRE(folders.Mark(job, "db1-" + job).ok());
      Train(shared, job);
      REQUIRE(MakeLogPrefix(work, job, 1, 1, 0).ok());
    }
    Train(shared, "unmarked");
  }
  JobFolders later(work, shared);  // what is on the disk counts
  CHECK(Listed(later) == std::vector<std::string>{"db1-new", "db1-old"});
  later.Remove({"db1-old", "db1-unknown"});
  CHECK(Listed(later) == std::vector<std::string>{"db1-new"});
  CHECK_FALSE(fs::exists(shared / "jobs/old"));
  CHECK_FALSE(fs::exists(work / "jobs/old"));
  CHECK(fs::exists(shared / "jobs/new/trials/1/checkpoint/weights"));
  CHECK(fs::exists(shared / "jobs/unmarked/trials/1/checkpoint/weights"));
}

TEST_CASE("JobFolders: a folder that two servers use goes with the last of their jobs", "[worker]") {
  TempFolder folder;
  JobFolders folders(folder / "work", folder / "shared");
  REQUIRE(folders.Mark("bank", "db1-bank").ok());
  REQUIRE(folders.Mark("bank", "db2-bank").ok());
  Train(folder / "shared", "bank");
  folders.Remove({"db1-bank"});
  CHECK(Listed(folders) == std::vector<std::string>{"db2-bank"});
  CHECK(fs::exists(folder / "shared/jobs/bank/trials/1/checkpoint/weights"));
  folders.Remove({"db2-bank"});
  CHECK(Listed(folders).empty());
  CHECK_FALSE(fs::exists(folder / "shared/jobs/bank"));
}

TEST_CASE("JobFolders: nothing outside is touched, whatever a mark, a job or a link says", "[worker]") {
  TempFolder folder;
  const fs::path outside = folder / "outside";
  fs::create_directories(outside / ".marks");
  std::ofstream(outside / ".marks/db1-link") << "";
  std::ofstream(outside / "precious") << "1";
  JobFolders folders(folder / "work", folder / "shared");
  for (const std::string mark : {"", ".", "..", "../../outside", "a/b"})
    CHECK(folders.Mark("job", mark).ok());
  CHECK(folders.Mark("..", "db1-up").ok());
  CHECK(Listed(folders).empty());
  fs::create_directories(folder / "shared/jobs");
  fs::create_directory_symlink(outside, folder / "shared/jobs/link");
  folders.Remove({"db1-link", "..", "../../outside"});
  CHECK(Listed(folders).empty());
  CHECK(fs::exists(outside / "precious"));
  CHECK(fs::exists(outside / ".marks/db1-link"));
}

}  // namespace
}  // namespace winnow

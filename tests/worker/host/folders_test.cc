#include "worker/host/folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <future>
#include <set>
#include <thread>

#include "tests/catch.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_folder.h"
#include "worker/runs/log_keeper.h"
#include "worker/runs/trial_directories.h"
#include "worker/storage_id.h"
#include "worker/work_folder_lock.h"

namespace winnow {

namespace fs = std::filesystem;

TEST_CASE("TrialDirectories: later attempts see the checkpoint, unless it is to be empty", "[worker]") {
  TempFolder folder;
  const auto first = MakeTrialDirectories(folder.path(), "job", 7, Clearing::kNothing);
  REQUIRE(first.ok());
  CHECK(first->checkpoint == folder / "jobs/job/trials/7/checkpoint");
  CHECK(fs::is_directory(first->model));
  CHECK(fs::is_directory(first->output));
  fs::create_directories(first->checkpoint / "deep/er");

  REQUIRE(MakeTrialDirectories(folder.path(), "job", 7, Clearing::kNothing).ok());
  CHECK(fs::exists(first->checkpoint / "deep/er"));
  REQUIRE(MakeTrialDirectories(folder.path(), "job", 7, Clearing::kCheckpoint).ok());
  CHECK(fs::is_empty(first->checkpoint));
}

TEST_CASE("TrialDirectories: a job id cannot leave the folder", "[worker]") {
  TempFolder folder;
  const std::string job = GENERATE("", ".", "..", "a/b", "/etc");
  CHECK(MakeTrialDirectories(folder.path(), job, 1, Clearing::kCheckpoint).status().code() ==
        absl::StatusCode::kInvalidArgument);
  CHECK(MakeLogPrefix(folder.path(), job, 1, 1, 0).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("TrialDirectories: a folder that cannot be made is named", "[worker]") {
  TempFolder folder;
  std::ofstream(folder / "jobs") << "a file";
  const absl::Status status = MakeTrialDirectories(folder.path(), "job", 1, Clearing::kNothing).status();
  CHECK_THAT(std::string(status.message()), Catch::Contains((folder / "jobs").string()));
}

TEST_CASE("TrialDirectories: a link in the place of a trial's folder goes, and nothing of where it leads",
          "[worker]") {
  TempFolder folder;
  fs::create_directories(folder / "elsewhere/inner");
  const auto first = MakeTrialDirectories(folder.path(), "job", 7, Clearing::kNothing);
  REQUIRE(first.ok());
  for (const fs::path& part : {first->checkpoint, first->model}) {
    fs::remove(part);
    fs::create_directory_symlink(folder / "elsewhere", part);
  }
  REQUIRE(MakeTrialDirectories(folder.path(), "job", 7, Clearing::kCheckpoint).ok());
  for (const fs::path& part : {first->checkpoint, first->model})
    CHECK(fs::is_directory(fs::symlink_status(part)));
  CHECK(fs::exists(folder / "elsewhere/inner"));

  fs::create_directory_symlink(folder / "elsewhere", first->checkpoint / "link");
  REQUIRE(MakeTrialDirectories(folder.path(), "job", 7, Clearing::kCheckpoint).ok());
  CHECK(fs::is_empty(first->checkpoint));
  CHECK(fs::exists(folder / "elsewhere/inner"));

  fs::rename(folder / "jobs/job", folder / "moved");
  fs::create_directory_symlink(folder / "moved", folder / "jobs/job");
  CHECK_THAT(
      std::string(MakeTrialDirectories(folder.path(), "job", 7, Clearing::kCheckpoint).status().message()),
      Catch::Contains((folder / "jobs/job").string()));
}

TEST_CASE("StorageId: workers that come at once agree on one id", "[worker]") {
  TempFolder folder;
  fs::create_directory(folder / "shared");
  SECTION("where none was") {}
  SECTION("where a full disk has left an empty file") { std::ofstream(folder / "shared/storage-id"); }
  std::vector<std::string> ids(8);
  std::vector<std::thread> threads;
  for (std::string& id : ids) {
    threads.emplace_back([&id, &folder] { id = ReadOrMakeStorageId(folder / "shared").value_or("failed"); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(ids[0].size() == 32);
  CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == 1);
  CHECK(std::distance(fs::directory_iterator(folder / "shared"), {}) == 1);  // no drafts are left
}

TEST_CASE("StorageId: a disk that is full is named, and leaves nothing", "[worker]") {
  SmallDisk disk(1 << 20);
  if (!disk.mounted()) return Skip("this process may not mount a file system");
  disk.Fill();
  CHECK_THAT(std::string(ReadOrMakeStorageId(disk.folder()).status().message()),
             Catch::StartsWith(disk.folder()) && Catch::Contains("No space left on device"));
  disk.Clear();
  CHECK(fs::is_empty(disk.folder()));
  CHECK(ReadOrMakeStorageId(disk.folder()).ok());
}

TEST_CASE("StorageId: a file that holds no id is refused", "[worker]") {
  TempFolder folder;
  std::ofstream(folder / "storage-id") << "hello\n";
  CHECK_THAT(std::string(ReadOrMakeStorageId(folder.path()).status().message()),
             Catch::Contains("storage-id: \"hello\" is not an id"));
}

TEST_CASE("WorkFolderId: stays with the folder, another folder has another", "[worker]") {
  TempFolder folder;
  const auto first = ReadOrMakeWorkFolderId(folder / "a");
  REQUIRE(first.ok());
  CHECK(first->size() == 32);
  CHECK(*ReadOrMakeWorkFolderId(folder / "a") == *first);
  CHECK(*ReadOrMakeWorkFolderId(folder / "b") != *first);
  CHECK(ReadAll(folder / "a/worker-id") == *first + "\n");
}

TEST_CASE("WorkFolderLock: a look by somebody else in passing does not refuse the owner", "[worker]") {
  const TempFolder folder;
  { REQUIRE(WorkFolderLock::Take(folder / "work").ok()); }
  const int looking = open((folder / "work" / "lock").c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(flock(looking, LOCK_SH | LOCK_NB) == 0);
  std::promise<void> begun;
  auto taken = std::async(std::launch::async, [&] {
    begun.set_value();
    return WorkFolderLock::Take(folder / "work").ok();
  });
  begun.get_future().wait();
  flock(looking, LOCK_UN);
  CHECK(taken.get());
  close(looking);
}

TEST_CASE("WorkFolderLock: one owner at a time, whose process id can be read", "[worker]") {
  TempFolder folder;
  {
    const auto lock = WorkFolderLock::Take(folder / "work");
    REQUIRE(lock.ok());
    CHECK(ReadAll(folder / "work/lock") == std::to_string(getpid()) + "\n");
    const absl::Status second = WorkFolderLock::Take(folder / "work").status();
    CHECK(second.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(second.message()), Catch::Contains("process " + std::to_string(getpid())));
  }
  CHECK(WorkFolderLock::Take(folder / "work").ok());
}

TEST_CASE("LogKeeper: keeps all in the file, gives the first bytes, remembers the last lines", "[worker]") {
  TempFolder folder;
  std::string shipped;
  bool truncated = false;
  auto keeper = LogKeeper::Create(folder / "log", 10, [&](int64_t offset, std::string_view data, bool last) {
    CHECK(offset == static_cast<int64_t>(shipped.size()));
    CHECK_FALSE(truncated);
    shipped += data;
    truncated = last;
  });
  REQUIRE(keeper.ok());
  keeper->Add("0123");
  CHECK_FALSE(truncated);
  keeper->Add("456789");
  CHECK(truncated);  // as far as is known
  keeper->Add("abc\n");
  keeper->Add("def\n\n");
  CHECK(shipped == "0123456789");
  CHECK(truncated);
  CHECK(ReadAll(folder / "log") == "0123456789abc\ndef\n\n");
  CHECK(keeper->LastLines() == "0123456789abc\ndef");
}

TEST_CASE("LogKeeper: the last lines are at most ten and 2 KiB", "[worker]") {
  TempFolder folder;
  auto keeper = LogKeeper::Create(folder / "log", 0, [](int64_t, std::string_view, bool) {});
  REQUIRE(keeper.ok());
  CHECK(keeper->LastLines() == "");
  for (int i = 1; i <= 12; ++i) keeper->Add(std::to_string(i) + "\n");
  CHECK(keeper->LastLines() == "3\n4\n5\n6\n7\n8\n9\n10\n11\n12");
  keeper->Add(std::string(5000, 'x'));
  CHECK(keeper->LastLines() == std::string(2048, 'x'));
}

}  // namespace winnow

#include "trainers/data/cache/data_cache.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

constexpr uint64_t kLimit = 1 << 20;

DataCache Opened(const std::string& folder, uint64_t limit = kLimit) {
  absl::StatusOr<DataCache> cache = DataCache::Open(folder, limit);
  INFO(cache.status());
  REQUIRE(cache.ok());
  return *std::move(cache);
}

// Two sections: `size` bytes of `fill`, and four numbers.
DataCache::Builder Filled(char fill, uint64_t size = 10000, int* calls = nullptr) {
  return [=](SectionWriter& writer) {
    if (calls != nullptr) ++*calls;
    const auto bytes = writer.Add("bytes", size);
    if (!bytes.ok()) return bytes.status();
    std::memset(bytes->data(), fill, bytes->size());
    const auto numbers = writer.AddArray<int64_t>("numbers", 4);
    if (!numbers.ok()) return numbers.status();
    for (size_t i = 0; i < 4; ++i) (*numbers)[i] = static_cast<int64_t>(i) * fill;
    return absl::OkStatus();
  };
}

bool IsFilled(const MappedFile& file, char fill, uint64_t size = 10000) {
  const std::span<const std::byte> bytes = file.Section("bytes");
  const std::span<const int64_t> numbers = file.Array<int64_t>("numbers");
  return bytes.size() == size && numbers.size() == 4 && numbers[3] == 3 * fill &&
         std::all_of(bytes.begin(), bytes.end(),
                     [=](std::byte b) { return b == static_cast<std::byte>(fill); });
}

std::vector<std::string> FilesOf(const std::string& folder, const std::string& extension) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == extension) found.push_back(entry.path().string());
  }
  return found;
}

// Runs `body` in a process of its own, which ends with its answer; the process's number.
pid_t Spawn(const std::function<int()>& body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(body());
  return child;
}

int ExitOf(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_CASE("DataCache: what one has built the next ones map", "[data]") {
  DataFolder folder;
  const DataCache cache = Opened(folder.path("cache"));
  int calls = 0;
  std::string why;
  for (int i = 0; i < 3; ++i) {
    const auto file = cache.GetOrBuild("key", Filled('a', 10000, &calls), &why);
    REQUIRE(file.ok());
    CHECK(IsFilled(*file, 'a'));
    CHECK(file->is_shared());
    CHECK(reinterpret_cast<uintptr_t>(file->Section("numbers").data()) % 64 == 0);
    CHECK(file->Section("other").empty());
  }
  CHECK(calls == 1);
  CHECK(why.empty());
  REQUIRE(cache.GetOrBuild("other key", Filled('b', 10000, &calls)).ok());
  CHECK(calls == 2);
  CHECK(FilesOf(folder.path("cache"), ".tmp").empty());
}

TEST_CASE("DataCache: only its owner can read it", "[data]") {
  DataFolder folder;
  REQUIRE(Opened(folder.path("a/b/cache/")).GetOrBuild("key", Filled('a')).ok());
  struct stat info {};
  REQUIRE(::stat(folder.path("a/b/cache").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  REQUIRE(::stat(FilesOf(folder.path("a/b/cache"), ".bin").at(0).c_str(), &info) == 0);
  CHECK((info.st_mode & 0077) == 0);
  REQUIRE(::chmod(folder.path("a/b/cache").c_str(), 0777) == 0);
  CHECK(DataCache::Open(folder.path("a/b/cache"), kLimit).status().code() ==
        absl::StatusCode::kPermissionDenied);
}

TEST_CASE("DataCache: eight processes at once build once", "[data]") {
  DataFolder folder;
  const std::string built = folder.Write("built", "");
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(Spawn([&] {
      const auto cache = DataCache::Open(folder.path("cache"), kLimit);
      const auto file = cache->GetOrBuild("key", [&](SectionWriter& writer) {
        const int log = ::open(built.c_str(), O_WRONLY | O_APPEND);
        if (::write(log, "x", 1) != 1) return absl::UnknownError("log");
        return Filled('c', 500000)(writer);
      });
      return file.ok() && IsFilled(*file, 'c', 500000) ? 0 : 1;
    }));
  }
  for (const pid_t child : children) CHECK(ExitOf(child) == 0);
  CHECK(fs::file_size(built) == 1);
}

TEST_CASE("DataCache: a builder killed midway leaves nothing, and the one that waits builds", "[data]") {
  DataFolder folder;
  int started[2], waiting[2];
  REQUIRE((::pipe(started) == 0 && ::pipe(waiting) == 0));
  const pid_t victim = Spawn([&] {
    const auto cache = DataCache::Open(folder.path("cache"), kLimit);
    (void)cache->GetOrBuild("key", [&](SectionWriter& writer) {
      if (!Filled('x')(writer).ok() || ::write(started[1], "s", 1) != 1) ::_exit(9);
      for (;;) ::pause();
      return absl::OkStatus();
    });
    return 0;
  });
  char byte = 0;
  REQUIRE(::read(started[0], &byte, 1) == 1);
  CHECK(FilesOf(folder.path("cache"), ".bin").empty());
  CHECK(FilesOf(folder.path("cache"), ".tmp").size() == 1);
  const pid_t next = Spawn([&] {
    const auto cache = DataCache::Open(folder.path("cache"), kLimit);
    if (::write(waiting[1], "w", 1) != 1) return 9;
    const auto file = cache->GetOrBuild("key", Filled('y'));
    return file.ok() && IsFilled(*file, 'y') && file->is_shared() ? 0 : 1;
  });
  REQUIRE(::read(waiting[0], &byte, 1) == 1);
  REQUIRE(::kill(victim, SIGKILL) == 0);
  CHECK(ExitOf(victim) == 128 + SIGKILL);
  CHECK(ExitOf(next) == 0);
  CHECK(FilesOf(folder.path("cache"), ".tmp").empty());
  int calls = 0;
  const auto file = Opened(folder.path("cache")).GetOrBuild("key", Filled('z', 10000, &calls));
  REQUIRE(file.ok());
  CHECK(IsFilled(*file, 'y'));
  CHECK(calls == 0);
}

TEST_CASE("DataCache: a builder's error is the caller's, and nothing is kept", "[data]") {
  DataFolder folder;
  const DataCache cache = Opened(folder.path("cache"));
  const auto failed = cache.GetOrBuild("key", [](SectionWriter& writer) {
    if (!writer.Add("half", 1000).ok()) return absl::UnknownError("no section");
    return absl::InvalidArgumentError("t.csv:3: broken");
  });
  CHECK(failed.status() == absl::InvalidArgumentError("t.csv:3: broken"));
  CHECK(FilesOf(folder.path("cache"), ".tmp").empty());
  CHECK(FilesOf(folder.path("cache"), ".bin").empty());
}

TEST_CASE("DataCache: a damaged entry is built anew", "[data]") {
  DataFolder folder;
  const DataCache cache = Opened(folder.path("cache"));
  REQUIRE(cache.GetOrBuild("key", Filled('a')).ok());
  const std::string path = FilesOf(folder.path("cache"), ".bin").at(0);
  std::ifstream in(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  std::vector<std::string> damaged = {"",
                                      "short",
                                      whole.substr(0, 4096),
                                      whole.substr(0, whole.size() - 1),
                                      whole + "more",
                                      std::string(whole.size(), '\0')};
  for (size_t at = 0; at < 40; ++at) {  // every byte of the header
    damaged.push_back(whole);
    damaged.back()[at] = static_cast<char>(whole[at] ^ 0x10);
  }
  for (size_t at = whole.size() - 40; at < whole.size(); ++at) {  // and of the table's end
    damaged.push_back(whole);
    damaged.back()[at] = static_cast<char>(whole[at] ^ 0x01);
  }
  for (const size_t at : {size_t{4096}, size_t{4096 + 5000}, size_t{4096 + 9999}}) {  // of the section
    damaged.push_back(whole);
    damaged.back()[at] = static_cast<char>(whole[at] ^ 0x80);
  }
  for (const std::string& bytes : damaged) {
    fs::remove(path);
    std::ofstream(path, std::ios::binary) << bytes;
    int calls = 0;
    const auto file = cache.GetOrBuild("key", Filled('a', 10000, &calls));
    REQUIRE(file.ok());
    CHECK(calls == 1);
    CHECK(IsFilled(*file, 'a'));
  }
}

TEST_CASE("DataCache: over the limit the entry not used for longest goes, but none in use", "[data]") {
  DataFolder folder;
  const std::string path = folder.path("cache");
  const DataCache cache = Opened(path, 100000);  // room for three entries and a bit
  const auto built = [&](const std::string& key) {
    int calls = 0;
    REQUIRE(cache.GetOrBuild(key, Filled('a', 20000, &calls)).ok());
    return calls == 1;
  };
  const auto age = [&](const std::string& file, int64_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  };
  std::vector<std::string> known, by_key;
  for (const char* key : {"1", "2", "3"}) {
    CHECK(built(key));
    for (const std::string& file : FilesOf(path, ".bin")) {
      if (std::find(known.begin(), known.end(), file) == known.end()) {
        known.push_back(file);
        by_key.push_back(file);
      }
    }
    age(by_key.back(), 1000 + static_cast<int64_t>(by_key.size()));
  }
  CHECK_FALSE(built("2"));  // used now
  age(by_key[1], 2000);
  const auto in_use = cache.GetOrBuild("1", Filled('a', 20000));
  REQUIRE(in_use.ok());
  age(by_key[0], 1001);
  CHECK(built("4"));  // there is no room beside 1, 2 and 3: 3 goes, for 1 is in use
  CHECK(fs::exists(by_key[0]));
  CHECK(fs::exists(by_key[1]));
  CHECK_FALSE(fs::exists(by_key[2]));
  CHECK(IsFilled(*in_use, 'a', 20000));
  std::string why;
  const auto large = cache.GetOrBuild("large", Filled('b', 200000), &why);
  REQUIRE(large.ok());
  CHECK(IsFilled(*large, 'b', 200000));
  CHECK_FALSE(large->is_shared());
  CHECK_THAT(why, Contains("WINNOW_CACHE_BYTES"));
}

TEST_CASE("DataCache: where a file may not grow further, the entry is the process's own", "[data]") {
  DataFolder folder;
  const pid_t child = Spawn([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{50000, 50000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto cache = DataCache::Open(folder.path("cache"), kLimit);
    std::string why;
    const auto file = cache->GetOrBuild("key", Filled('d', 100000), &why);
    return file.ok() && IsFilled(*file, 'd', 100000) && !file->is_shared() && !why.empty() ? 0 : 1;
  });
  CHECK(ExitOf(child) == 0);
  CHECK(FilesOf(folder.path("cache"), ".tmp").empty());
}

TEST_CASE("DataCache: on a full disk older entries make room, or the entry is the process's own", "[data]") {
  DataFolder folder;
  const std::string disk = folder.path("disk");
  fs::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=256k,mode=700") != 0) {
    return Skip("this process may not mount a file system");
  }
  {
    const DataCache cache = Opened(disk + "/cache", 16 * kLimit);
    std::string why;
    CHECK(cache.GetOrBuild("old", Filled('o', 100000), &why).ok());
    CHECK(why.empty());
    const auto young = cache.GetOrBuild("young", Filled('y', 200000), &why);  // beside "old" it does not fit
    CHECK((young.ok() && young->is_shared() && IsFilled(*young, 'y', 200000)));
    const auto large = cache.GetOrBuild("large", Filled('l', 900000), &why);
    CHECK((large.ok() && !large->is_shared() && IsFilled(*large, 'l', 900000)));
    CHECK_THAT(why, Contains("No space left on device"));
    CHECK(FilesOf(disk + "/cache", ".tmp").empty());
    CHECK(IsFilled(*young, 'y', 200000));
  }
  CHECK(::umount(disk.c_str()) == 0);
}

TEST_CASE("DataCache: a folder that cannot be is said, and building goes on without", "[data]") {
  DataFolder folder;
  const std::string file = folder.Write("file", "");
  const auto cache = DataCache::Open(file + "/cache", kLimit);
  REQUIRE_FALSE(cache.ok());
  CHECK_THAT(std::string(cache.status().message()), Contains(file + "/cache"));
  CHECK(DataCache::Open(file, kLimit).status().code() == absl::StatusCode::kUnavailable);
  const auto built = DataCache::None().GetOrBuild("key", Filled('n'));
  REQUIRE(built.ok());
  CHECK(IsFilled(*built, 'n'));
}

TEST_CASE("DataCache: a folder that goes away under it takes nothing with it", "[data]") {
  DataFolder folder;
  const DataCache cache = Opened(folder.path("cache"));
  const auto file = cache.GetOrBuild("key", Filled('a'));
  REQUIRE(file.ok());
  fs::remove_all(folder.path("cache"));
  CHECK(IsFilled(*file, 'a'));
  std::string why;
  const auto again = cache.GetOrBuild("key", Filled('b'), &why);
  REQUIRE(again.ok());
  CHECK(IsFilled(*again, 'b'));
  CHECK_THAT(why, Contains("cache folder"));
}

TEST_CASE("DataCache: the environment says where it stands, how large it is, or that there is none",
          "[data]") {
  DataFolder folder;
  const auto in_child = [&](const std::function<bool()>& holds) {
    return ExitOf(Spawn([&] {
             for (const char* name : {"WINNOW_CACHE_DIR", "WINNOW_CACHE_BYTES", "XDG_CACHE_HOME", "HOME"})
               ::unsetenv(name);
             return holds() ? 0 : 1;
           })) == 0;
  };
  std::string warning;
  CHECK(in_child([&] { return DefaultCacheFolder() == "/tmp/winnow-" + std::to_string(::geteuid()); }));
  CHECK(
      in_child([&] { return ::setenv("HOME", "/h", 1) == 0 && DefaultCacheFolder() == "/h/.cache/winnow"; }));
  CHECK(in_child(
      [&] { return ::setenv("XDG_CACHE_HOME", "/x", 1) == 0 && DefaultCacheFolder() == "/x/winnow"; }));
  for (const char* off : {"", "off"}) {
    CHECK(in_child([&] {
      ::setenv("WINNOW_CACHE_DIR", off, 1);
      return DataCache::FromEnvironment(&warning).folder() == nullptr && warning.empty();
    }));
  }
  CHECK(in_child([&] {
    ::setenv("WINNOW_CACHE_DIR", folder.path("own").c_str(), 1);
    ::setenv("WINNOW_CACHE_BYTES", "12345", 1);
    const DataCache cache = DataCache::FromEnvironment(&warning);
    return cache.folder() != nullptr && cache.folder()->size_limit() == 12345;
  }));
  CHECK(in_child([&] {
    ::setenv("WINNOW_CACHE_DIR", folder.path("own").c_str(), 1);
    ::setenv("WINNOW_CACHE_BYTES", "20 GB", 1);
    return DataCache::FromEnvironment(&warning).folder() == nullptr &&
           warning.find("20 GB") != std::string::npos;
  }));
  CHECK(*DefaultCacheBytes(folder.path("not/yet")) <= uint64_t{20} << 30);
}

}  // namespace
}  // namespace winnow

#include "worker/sources/source_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// No permission stops root, so that a test as root would see less than most workers do.
class NotRoot {
 public:
  NotRoot() {
    if (was_root_) REQUIRE(seteuid(kNobody) == 0);
  }
  ~NotRoot() {
    if (was_root_ && seteuid(0) != 0) std::abort();
  }

 private:
  static constexpr uid_t kNobody = 65534;
  const bool was_root_ = geteuid() == 0;
};

std::string Content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("Source tree: a worker that is not root copies a sealed source, for a setup to change",
          "[worker]") {
  TempFolder folder;
  fs::permissions(folder.path(), fs::perms::all);
  const gid_t group = getegid();
  const NotRoot not_root;
  const fs::path source = folder / "source", copy = folder / "copy", inner = fs::path("pkg") / "inner";
  fs::create_directories(source / inner);
  std::ofstream(source / inner / "run.sh") << "echo";
  fs::permissions(source / inner / "run.sh", fs::perms::owner_exec, fs::perm_options::add);
  fs::create_symlink("inner/run.sh", source / "pkg" / "link");
  REQUIRE(SealTree(source).ok());
  struct stat sealed {};
  REQUIRE(stat((source / inner).c_str(), &sealed) == 0);
  CHECK((sealed.st_mode & 0222) == 0);
  CHECK(sealed.st_gid == group);

  const absl::Status copied = CopyTree(source, copy, static_cast<uid_t>(-1), static_cast<gid_t>(-1));
  INFO(copied.ToString());
  REQUIRE(copied.ok());
  CHECK(Content(copy / inner / "run.sh") == "echo");
  CHECK((fs::status(copy / inner / "run.sh").permissions() & fs::perms::owner_exec) != fs::perms::none);
  CHECK(fs::read_symlink(copy / "pkg" / "link") == "inner/run.sh");
  std::ofstream(copy / inner / "made.py") << "SEEN = 7";
  std::ofstream(copy / inner / "run.sh", std::ios::app) << " 2";
  CHECK(Content(copy / inner / "run.sh") == "echo 2");
  CHECK(Content(copy / inner / "made.py") == "SEEN = 7");
  CHECK(Content(source / inner / "run.sh") == "echo");

  REQUIRE(SealTree(copy).ok());
  for (const fs::path& each : {source, copy}) {
    CHECK(RemoveSource(each).ok());
    CHECK_FALSE(fs::exists(each));
  }
}

}  // namespace
}  // namespace winnow

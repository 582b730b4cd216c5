#include "base/rename_new.h"

#include <errno.h>

#include <filesystem>
#include <fstream>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

// As of a file system without RENAME_NOREPLACE, such as NFS.
int Refuses(int, const char*, int, const char*, unsigned) noexcept {
  errno = EINVAL;
  return -1;
}

TEST_CASE("RenameNew: a file gets a new name and never another's, on every file system", "[base]") {
  for (const auto rename_with : {&renameat2, &Refuses}) {
    TempFolder folder;
    const std::string one = (folder / "one").string(), other = (folder / "other").string();
    std::ofstream(one) << "1";
    std::ofstream(other) << "2";
    CHECK(RenameNew(one, other, rename_with) == EEXIST);
    CHECK(std::filesystem::exists(one));
    std::filesystem::remove(other);
    CHECK(RenameNew(one, other, rename_with) == 0);
    CHECK(std::filesystem::exists(other));
    CHECK_FALSE(std::filesystem::exists(one));
    CHECK(RenameNew(one, other + "2", rename_with) == ENOENT);
  }
}

}  // namespace
}  // namespace winnow

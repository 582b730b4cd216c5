#include "artifact/folder.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/artifact/folder.h"
#include "tests/catch.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Bounds this process's descriptors during its lifetime.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t most) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{most, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// Folders of that name in one another, each with a file; longer than any path may be.
void Nest(const fs::path& root, const std::string& name, int depth) {
  int above = open(root.c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < depth; ++i) {
    REQUIRE(mkdirat(above, name.c_str(), 0755) == 0);
    const int inner = openat(above, name.c_str(), O_RDONLY | O_DIRECTORY);
    close(openat(inner, "file", O_CREAT | O_WRONLY, 0644));
    close(above);
    above = inner;
  }
  close(above);
}

TEST_CASE("OpenFolder: what is nested deeper than there are descriptors is removed", "[artifact]") {
  const Folder folder;
  Nest(folder.path(), "nested", 3000);
  folder.Write(".moved-up-1/a file", "whose folder has the name that one moved up would get");
  folder.Write(".moved-up-2", "likewise");
  folder.Write("kept/file", "");
  fs::create_directory_symlink(folder.path("kept"), folder.path("link"));
  const auto root = *OpenFolder::Open(folder.path());
  {
    const FewDescriptors few(64);
    REQUIRE(root.Remove("link").ok());
    REQUIRE(root.Remove("nested").ok());
    REQUIRE(root.Remove("is missing").ok());
    CHECK(fs::exists(folder.path("kept/file")));
    CHECK(!fs::exists(fs::symlink_status(folder.path("link"))));
    CHECK(!fs::exists(folder.path("nested")));
    Nest(folder.path(), "nested", 3000);
    REQUIRE(root.RemoveAll().ok());
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("OpenFolder: a link to a folder is removed, and nothing in that folder", "[artifact]") {
  const Folder folder, other;
  other.Write("of others/file", "");
  folder.Write("inner/deeper/file", "");
  fs::create_directory_symlink(other.path("of others"), folder.path("inner/deeper/link"));
  fs::create_directory_symlink(other.path("of others"), folder.path("inner/link"));
  const auto root = *OpenFolder::Open(folder.path());
  REQUIRE(root.Remove("inner").ok());
  CHECK(fs::is_empty(folder.path()));
  CHECK(fs::exists(other.path("of others/file")));
}

}  // namespace
}  // namespace winnow

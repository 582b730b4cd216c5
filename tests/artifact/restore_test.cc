#include "artifact/restore.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <iterator>
#include <map>

#include "artifact/digest.h"
#include "artifact/manifest.h"
#include "tests/artifact/folder.h"
#include "tests/catch.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// The blobs of a folder, to be read from memory.
struct Blobs {
  explicit Blobs(const Folder& folder) : manifest(*MakeManifest(folder.path())) {
    for (const v1::ArtifactFile& file : manifest.files()) {
      const std::string text = folder.Read(file.path());
      for (int i = 0; i < file.blobs_size(); ++i) {
        bytes[file.blobs(i).digest()] = text.substr(static_cast<size_t>(i) * kBlobBytes, kBlobBytes);
      }
    }
  }
  ReadBlob Reader() {
    return [this](const v1::BlobName& name) -> absl::StatusOr<std::string> {
      const auto found = bytes.find(name.digest());
      return found == bytes.end() ? absl::StatusOr<std::string>(absl::NotFoundError("no blob"))
                                  : found->second;
    };
  }
  v1::Manifest manifest;
  std::map<std::string, std::string> bytes;
};

// Returns the number of names in a folder, including hidden ones.
int64_t Names(const fs::path& folder) { return std::distance(fs::directory_iterator(folder), {}); }

TEST_CASE("Restore: the files come back with their bytes, in place of what was there", "[artifact]") {
  Folder from;
  from.Write("deep/down/weights", std::string(kBlobBytes, 'a') + "b");
  from.Write("run.sh", "#!/bin/sh\n");
  from.Write("empty", "");
  fs::permissions(from.path("run.sh"), fs::perms::owner_exec, fs::perm_options::add);
  Blobs blobs(from);
  Folder to;
  to.Write("checkpoint/old", "goes");
  REQUIRE(RestoreFolder(blobs.manifest, to.path("checkpoint"), blobs.Reader()).ok());
  CHECK(FolderEquals(to.path("checkpoint"), blobs.manifest));
  CHECK(Names(to.path()) == 1);
}

// From now on, this process may change no permissions, as on some network file systems.
bool RefuseChmod() {
  std::array<sock_filter, 5> code = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmodat, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmod, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program = {code.size(), code.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_CASE("Restore: a file system that refuses chmod is no obstacle", "[artifact]") {
  Folder from;
  from.Write("a", "new");
  Blobs blobs(from);
  Folder to;
  const auto restore = [&]() noexcept {
    return RefuseChmod() && RestoreFolder(blobs.manifest, to.path("checkpoint"), blobs.Reader()).ok();
  };
  const pid_t child = fork();
  if (child == 0) _exit(restore() ? 0 : 1);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(to.Read("checkpoint/a") == "new");
}

TEST_CASE("Restore: many files come back too", "[artifact]") {
  Folder from;
  for (int i = 0; i < 150; ++i)
    from.Write(std::to_string(i % 7) + "/" + std::to_string(i), std::to_string(i));
  Blobs blobs(from);
  Folder to;
  REQUIRE(RestoreFolder(blobs.manifest, to.path("checkpoint"), blobs.Reader()).ok());
  CHECK(FolderEquals(to.path("checkpoint"), blobs.manifest));
  blobs.bytes.erase(DigestOf("100"));
  CHECK(absl::IsNotFound(RestoreFolder(blobs.manifest, to.path("other"), blobs.Reader())));
  CHECK(Names(to.path()) == 1);
}

TEST_CASE("Restore: an empty manifest empties the folder, and one that is missing is made", "[artifact]") {
  Folder to;
  to.Write("checkpoint/old", "goes");
  REQUIRE(RestoreFolder({}, to.path("checkpoint"), nullptr).ok());
  CHECK(Names(to.path("checkpoint")) == 0);
  REQUIRE(RestoreFolder({}, to.path("a/b/c"), nullptr).ok());
  CHECK(fs::is_directory(to.path("a/b/c")));
  for (const char* name : {"a/b/c/", "new/", "new/."}) {
    INFO(name);
    CHECK(RestoreFolder({}, to.path(name), nullptr).ok());
    CHECK(Names(to.path(name)) == 0);
  }
  CHECK(Names(to.path()) == 3);
}

TEST_CASE("Restore: what is missing or false leaves the folder as it was, and nothing beside it",
          "[artifact]") {
  Folder from;
  from.Write("a", "first");
  from.Write("b", "second");
  Blobs blobs(from);
  Folder to;
  to.Write("checkpoint/old", "stays");
  absl::StatusCode expected = absl::StatusCode::kDataLoss;
  SECTION("a byte is flipped") { blobs.bytes[DigestOf("second")] = "secone"; }
  SECTION("cut short") { blobs.bytes[DigestOf("second")] = "secon"; }
  SECTION("not there") {
    blobs.bytes.erase(DigestOf("second"));
    expected = absl::StatusCode::kNotFound;
  }
  SECTION("a path that escapes") {
    blobs.manifest.mutable_files(0)->set_path("../escaped");
    expected = absl::StatusCode::kInvalidArgument;
  }
  CHECK(RestoreFolder(blobs.manifest, to.path("checkpoint"), blobs.Reader()).code() == expected);
  CHECK(to.Read("checkpoint/old") == "stays");
  CHECK(Names(to.path("checkpoint")) == 1);
  CHECK(Names(to.path()) == 1);
}

TEST_CASE("Restore: the guard has the last word", "[artifact]") {
  Folder from;
  from.Write("a", "new");
  Blobs blobs(from);
  Folder to;
  to.Write("checkpoint/old", "stays");
  const auto refuse = [](const auto&) { return absl::CancelledError("not wanted any more"); };
  CHECK(absl::IsCancelled(RestoreFolder(blobs.manifest, to.path("checkpoint"), blobs.Reader(), refuse)));
  CHECK(to.Read("checkpoint/old") == "stays");
}

TEST_CASE("Restore: what a killed process left beside the folder is removed", "[artifact]") {
  Folder to;
  to.Write(".checkpoint.restore-abc123/half", "left");
  to.Write(".other.restore-abc123/half", "of another");
  REQUIRE(RestoreFolder({}, to.path("checkpoint"), nullptr).ok());
  CHECK_FALSE(fs::exists(to.path(".checkpoint.restore-abc123")));
  CHECK(fs::exists(to.path(".other.restore-abc123")));
}

}  // namespace
}  // namespace winnow

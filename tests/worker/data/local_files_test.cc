#include "worker/data/local_files.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// A worker that is not root, with all capabilities that this process may have.
bool BecomeWorkerWithCapabilities() {
  constexpr uid_t kWorker = 1'900'000;
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> own{};
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setresgid(kWorker, kWorker, kWorker) != 0 ||
      setresuid(kWorker, kWorker, kWorker) != 0 || syscall(SYS_capget, &header, own.data()) != 0)
    return false;
  for (__user_cap_data_struct& word : own) word.effective = word.permitted;
  return syscall(SYS_capset, &header, own.data()) == 0;
}

// What happened, as an exit code.
int OpenAll(bool as_root, const fs::path& secret, const fs::path& open_to_all) {
  const TrainerUser user{.uid = 1'900'001, .gid = 1'900'001};
  if (!as_root && !BecomeWorkerWithCapabilities()) return 1;
  if (!OpenForUser(secret, std::nullopt).ok()) return 2;
  if (OpenForUser(secret, user).ok()) return 3;
  if (FilesOfChannel(secret.parent_path(), user).ok()) return 4;
  if (!OpenForUser(open_to_all, user).ok()) return 5;
  return OpenForUser(secret, std::nullopt).ok() ? 0 : 6;  // the capabilities are back
}

}  // namespace

TEST_CASE("a worker opens nothing for a job that its user may not read, as root or with capabilities") {
  if (geteuid() != 0) return Skip("only root gives a process the capabilities");
  const bool as_root = GENERATE(true, false);
  const TempFolder folder;
  fs::permissions(folder.path(), fs::perms(0755));
  fs::create_directory(folder / "closed");
  std::ofstream(folder / "closed/secret") << "secret";
  std::ofstream(folder / "open") << "open";
  fs::permissions(folder / "closed/secret", fs::perms(0600));
  fs::permissions(folder / "closed", fs::perms(0700));
  fs::permissions(folder / "open", fs::perms(0644));
  const pid_t child = fork();
  if (child == 0) _exit(OpenAll(as_root, folder / "closed/secret", folder / "open"));
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace winnow

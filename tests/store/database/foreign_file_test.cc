#include "store/database/foreign_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

struct Folders {
  Folders() {
    fs::create_directory(folder.file("in"));
    std::ofstream(folder.file("in/a.csv")) << "a";
    std::ofstream(folder.file("out.csv")) << "out";
    in = OwnedDescriptor(open(folder.file("in").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  void Link(const std::string& to, const std::string& name) const {
    fs::create_symlink(to, folder.file("in/" + name));
  }
  TempFolder folder;
  OwnedDescriptor in;
};

TEST_CASE("Foreign file: what is no regular file is never opened, so nothing waits", "[store]") {
  TempFolder folder;
  REQUIRE(mkfifo(folder.file("fifo").c_str(), 0600) == 0);
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = folder.file("socket");
  name.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  for (const std::string& path :
       {folder.file("fifo"), name, std::string("/dev/zero"), folder.path().string()}) {
    INFO(path);
    CHECK(ForeignFile::Open(path).status().code() == absl::StatusCode::kInvalidArgument);
  }
  close(server);
}

TEST_CASE("Foreign file: beneath a folder, whatever leads out of it is refused in the same words",
          "[store]") {
  Folders folders;
  folders.Link("a.csv", "inside");
  folders.Link("../out.csv", "outside");
  folders.Link("../none.csv", "nowhere");
  folders.Link(folders.folder.file("in/a.csv"), "absolute");
  folders.Link("/proc/self/fd/0", "magic");
  CHECK(ForeignFile::OpenBeneath(folders.in.get(), "a.csv").ok());
  CHECK(ForeignFile::OpenBeneath(folders.in.get(), "inside").ok());
  const absl::Status out = ForeignFile::OpenBeneath(folders.in.get(), "outside").status();
  CHECK(out.code() == absl::StatusCode::kPermissionDenied);
  for (const char* path :
       {"nowhere", "absolute", "magic", "../out.csv", "../none.csv", "/etc/passwd", "/no/such"}) {
    INFO(path);
    CHECK(ForeignFile::OpenBeneath(folders.in.get(), path).status() == out);
    CHECK_FALSE(StaysBeneath(folders.in.get(), path));
  }
  CHECK(StaysBeneath(folders.in.get(), "none"));
  CHECK(ForeignFile::OpenBeneath(folders.in.get(), "none").status().code() ==
        absl::StatusCode::kInvalidArgument);
}

TEST_CASE("Foreign file: a file that may not be opened keeps this process's locks on it", "[store]") {
  Folders folders;
  const std::string name = folders.folder.file("in/a.csv");
  const int held = open(name.c_str(), O_RDWR | O_CLOEXEC);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  REQUIRE(fcntl(held, F_SETLK, &lock) == 0);
  struct stat own {};
  fstat(held, &own);
  CHECK_FALSE(ForeignFile::Open(name, [&](uint64_t device, uint64_t inode) {
                return device != own.st_dev || inode != own.st_ino;
              }).ok());
  const pid_t other = fork();
  if (other == 0) {
    struct flock wanted {};
    wanted.l_type = F_WRLCK;
    const int again = open(name.c_str(), O_RDWR);
    _exit(fcntl(again, F_SETLK, &wanted) == 0 ? 1 : 0);
  }
  int status = 0;
  waitpid(other, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
  close(held);
}

}  // namespace
}  // namespace winnow

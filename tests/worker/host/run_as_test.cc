#include "worker/host/run_as.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include "fmt/format.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/program.h"
#include "worker/runs/trial_directories.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Four numbers of this process alone, since what runs as one of them is ended: of tests that run side by
// side.
uid_t FirstUser() { return 2'000'000 + 4 * static_cast<uid_t>(getpid()); }

#define SKIP_WITHOUT_ROOT() \
  if (geteuid() != 0) return Skip("only root runs trainers as others")

struct Host {
  Host() {
    fs::permissions(folder.path(), fs::perms(0755));
    auto created = TrainerUsers::Create(*RunAs::Parse(fmt::format("{}-{}", FirstUser(), FirstUser() + 3)),
                                        folder / "registry");
    REQUIRE(created.ok());
    users.emplace(*std::move(created));
  }
  FolderName Trial(int64_t number) const { return *NameTrialFolder(folder.path(), "job", number); }
  // As ProcessTrainers prepares it.
  UserLease Begin(int64_t number) const {
    auto lease = users->Take(Trial(number));
    REQUIRE(lease.ok());
    REQUIRE(MakeTrialDirectories(folder.path(), "job", number, Clearing::kNothing).ok());
    REQUIRE(GiveTrialDirectories(folder.path(), "job", number, lease->user()).ok());
    return *std::move(lease);
  }
  TempFolder folder;
  std::optional<TrainerUsers> users;
};

struct stat About(const fs::path& path) {
  struct stat about {};
  REQUIRE(lstat(path.c_str(), &about) == 0);
  return about;
}

ProcessSpec SpecAs(const std::shared_ptr<const UserLease>& lease, const std::string& script) {
  ProcessSpec spec = ShellSpec(script);
  spec.mark = "WINNOW_ASSIGNMENT=run-as-test";
  spec.environment.push_back(spec.mark);
  spec.setup.user = lease;
  return spec;
}

}  // namespace

TEST_CASE("RunAs: a wrong user or range is refused with what was expected", "[worker]") {
  struct Case {
    const char* text;
    const char* expected;
  };
  const auto [text, expected] = GENERATE(values<Case>({
      {"", "there is no user"},
      {"no-such-user", "there is no user no-such-user"},
      {"0", "trainers may not run as root"},
      {"root", "trainers may not run as root"},
      {"61184:no-such-group", "there is no group no-such-group"},
      {"61184-61184", "the first below the last"},
      {"61190-61184", "the first below the last"},
      {"61184-", "the first below the last"},
      {"1000000-1002000", "2 to 1024 numbers"},
      {"65530-65540", "65534 "},
      {"1-40", " is user "},
      {"4294967295", "there is no user"},
  }));
  const absl::Status status = RunAs::Parse(text).status();
  INFO(status);
  CHECK(absl::IsInvalidArgument(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains(expected));
  CHECK_THAT(std::string(status.message()), Catch::Contains("expected USER[:GROUP]"));
}

TEST_CASE("RunAs: a range has users with groups of their own, unless one is named", "[worker]") {
  const auto range = RunAs::Parse("61184-61247");
  REQUIRE(range.ok());
  CHECK(range->is_range());
  CHECK(range->count() == 64);
  CHECK(range->user(63).uid == 61247);
  CHECK(range->user(63).gid == 61247);
  CHECK(range->Contains(61184));
  CHECK_FALSE(range->Contains(61248));
  CHECK(RunAs::Parse("61184-61247:users")->user(63).gid == RunAs::Parse("61184-61247:users")->user(0).gid);
  CHECK_FALSE(RunAs::Parse("nobody").ok());
  CHECK(RunAs::Parse("daemon")->user(0).name == "daemon");
}

TEST_CASE("RunAs: a trial's ranks have one user, other trials have others, until none is left", "[worker]") {
  SKIP_WITHOUT_ROOT();
  Host host;
  const UserLease first = host.Begin(1);
  CHECK(first.IsAlone());
  {
    const UserLease again = host.Begin(1);
    CHECK(again.user().uid == first.user().uid);
    CHECK_FALSE(first.IsAlone());
  }
  CHECK(first.IsAlone());
  std::set<uid_t> uids = {first.user().uid};
  std::vector<UserLease> others;
  for (int64_t trial = 2; trial <= 4; ++trial) uids.insert(others.emplace_back(host.Begin(trial)).user().uid);
  CHECK(uids.size() == 4);
  const absl::Status none = host.users->Take(host.Trial(5)).status();
  CHECK(absl::IsResourceExhausted(none));
  CHECK_THAT(std::string(none.message()), Catch::Contains("all 4 users"));
  others.pop_back();
  CHECK(host.users->Take(host.Trial(5)).ok());
}

TEST_CASE("RunAs: a trial's folder is its user's while it is held, and nobody's afterwards", "[worker]") {
  SKIP_WITHOUT_ROOT();
  Host host;
  const fs::path trial = host.Trial(1).path();
  {
    const UserLease lease = host.Begin(1);
    CHECK(About(trial / "checkpoint").st_uid == lease.user().uid);
    CHECK((About(trial / "checkpoint").st_mode & 0777) == 0700);
    for (const fs::path& above : {trial, trial.parent_path(), host.folder / "jobs"}) {
      CHECK(About(above).st_uid == 0);
      CHECK((About(above).st_mode & 0777) == 0711);
    }
  }
  CHECK((About(trial).st_mode & 0777) == 0700);
}

TEST_CASE("RunAs: what an earlier user of the trial has left becomes the next one's, but no foreign file",
          "[worker]") {
  SKIP_WITHOUT_ROOT();
  Host host;
  const fs::path checkpoint = host.Trial(1).path() / "checkpoint";
  { const UserLease lease = host.Begin(1); }
  const uid_t earlier = 1'000'000 + FirstUser();
  fs::create_directories(checkpoint / "deep");
  std::ofstream(checkpoint / "deep/own") << "x";
  std::ofstream(checkpoint / "restored") << "x";
  std::ofstream(host.folder / "secret") << "x";
  fs::create_hard_link(host.folder / "secret", checkpoint / "stolen");
  fs::create_symlink(host.folder / "secret", checkpoint / "link");
  fs::create_hard_link(checkpoint / "deep/own", checkpoint / "second-name");
  for (const char* name : {"", "deep", "deep/own", "link"})
    REQUIRE(lchown((checkpoint / name).c_str(), earlier, earlier) == 0);

  const UserLease lease = host.Begin(1);

  for (const char* name : {"", "deep", "deep/own", "second-name", "restored", "link"}) {
    INFO(name);
    CHECK(About(checkpoint / name).st_uid == lease.user().uid);
  }
  CHECK(About(checkpoint / "stolen").st_uid == 0);
  CHECK(About(host.folder / "secret").st_uid == 0);
}

TEST_CASE("RunAs: a trainer has the user, no other group, no capability, and its standard error by name",
          "[worker]") {
  SKIP_WITHOUT_ROOT();
  Host host;
  const auto lease = std::make_shared<const UserLease>(host.Begin(1));
  const auto result = RunSpec(SpecAs(lease,
                                     "id -u; id -G; grep -E '^(CapEff|CapPrm|CapAmb|NoNewPrivs):' "
                                     "/proc/self/status; echo named > /dev/stderr"));
  REQUIRE(result.has_value());
  const std::string uid = std::to_string(lease->user().uid);
  CHECK_THAT(result->out, Catch::StartsWith(uid + "\n" + uid + "\n"));
  for (const char* line : {"CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
                           "CapAmb:\t0000000000000000", "NoNewPrivs:\t1"}) {
    CHECK_THAT(result->out, Catch::Contains(line));
  }
  CHECK(result->err == "named\n");
}

TEST_CASE("RunAs: what a trainer leaves running under its user ends with it, though it has shed its marks",
          "[worker]") {
  SKIP_WITHOUT_ROOT();
  Host host;
  const auto lease = std::make_shared<const UserLease>(host.Begin(1));
  const auto result = RunSpec(
      SpecAs(lease, "env -i setsid sleep 1000 & echo $!; until grep -q sleep /proc/$!/comm; do :; done"));
  REQUIRE(result.has_value());
  const pid_t left = static_cast<pid_t>(std::stol(result->out));
  CHECK((kill(left, 0) != 0 && errno == ESRCH));
}

TEST_CASE(
    "RunAs: after a worker was killed its trial's processes end and its folder closes, before another has "
    "the user",
    "[worker]") {
  SKIP_WITHOUT_ROOT();
  Host host;
  const fs::path trial = host.Trial(1).path();
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t worker = fork();
  if (worker == 0) {
    const auto lease = host.users->Take(host.Trial(1));
    MakeTrialDirectories(host.folder.path(), "job", 1, Clearing::kNothing).status().IgnoreError();
    GiveTrialDirectories(host.folder.path(), "job", 1, lease->user()).IgnoreError();
    if (fork() == 0) {
      BecomeUser(lease->user());
      const unsigned told = static_cast<unsigned>(ready[1]);
      if (told > 3) close_range(3, told - 1, 0);  // as exec does: the lock is the worker's alone
      close_range(told + 1, ~0U, 0);
      const pid_t self = getpid();
      if (write(ready[1], &self, sizeof self) < 0) _exit(1);
      for (;;) pause();
    }
    for (;;) pause();
  }
  pid_t left = 0;
  REQUIRE(read(ready[0], &left, sizeof left) == sizeof left);
  const int left_fd = static_cast<int>(syscall(SYS_pidfd_open, left, 0));
  REQUIRE(host.users->ReclaimAll() == 0);  // it is held
  kill(worker, SIGKILL);
  siginfo_t info{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(worker), &info, WEXITED) == 0);
  CHECK((About(trial).st_mode & 0777) == 0711);

  CHECK(host.users->ReclaimAll() == 1);

  CHECK((About(trial).st_mode & 0777) == 0700);
  pollfd wait{left_fd, POLLIN, 0};
  CHECK(poll(&wait, 1, 20'000) == 1);
  close(left_fd);
  for (const int fd : ready) close(fd);
}

TEST_CASE("RunAs: who may read a file depends on owner, group, permissions and the folders above",
          "[worker]") {
  SKIP_WITHOUT_ROOT();
  TempFolder folder;
  const TrainerUser user{FirstUser(), FirstUser()};
  const fs::path token = folder / "token";
  std::ofstream(token) << "x";
  fs::permissions(folder.path(), fs::perms(0755));
  fs::permissions(token, fs::perms(0644));
  CHECK(Obstacle(user, token).empty());
  fs::permissions(token, fs::perms(0640));
  CHECK(Obstacle(user, token) == fs::canonical(token));
  REQUIRE(chown(token.c_str(), 0, FirstUser()) == 0);
  CHECK(Obstacle(user, token).empty());
  fs::permissions(folder.path(), fs::perms(0700));
  CHECK(Obstacle(user, token) == fs::canonical(folder.path()));
}

}  // namespace winnow

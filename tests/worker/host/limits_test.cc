#include "worker/host/limits.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "tests/catch.h"
#include "tests/support/small_disk.h"
#include "tests/worker/fake_server.h"
#include "tests/worker/trainer_play.h"
#include "worker/host/group_tree.h"

namespace winnow {
namespace {

constexpr char kNoGroups[] = "this machine permits no groups of cgroup v2";
constexpr char kNoControllers[] = "this machine's cgroup v2 has not both controllers, memory and cpu";

v1::Assignment Shell(const std::string& script) { return MakeAssignment("a", {"/bin/sh", "-c", script}); }

v1::Assignment Python(const std::string& program, double memory_gib) {
  v1::Assignment assignment = MakeAssignment("a", {"/usr/bin/python3", "-c", program});
  assignment.set_memory_gib(memory_gib);
  return assignment;
}

// A worker's limits, with groups if requested and permitted.
struct Host {
  explicit Host(bool groups) {
    if (groups) {
      limiter.emplace(&loop, folder.path(), "test" + std::to_string(getpid()));
    } else {
      limiter.emplace(&loop);
    }
  }
  TrainerPlay Run(const v1::Assignment& assignment) {
    return RunTrainer(&loop, folder, assignment, &*limiter);
  }

  TempFolder folder;
  EventLoop loop;
  std::optional<Limiter> limiter;
};

bool IsGone(pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace

TEST_CASE("Limits: a trainer that uses more memory than its limit ends as out of memory", "[worker]") {
  Host host(GENERATE(false, true));
  const TrainerPlay play =
      host.Run(Python("import time; b = bytearray(b'x' * (200 << 20)); time.sleep(1000)", 0.125));
  CHECK(play.outcome.kind() == v1::Outcome::FAILED);
  CHECK(play.outcome.cause() == v1::Outcome::OUT_OF_MEMORY);
  CHECK_THAT(play.outcome.reason(),
             Catch::StartsWith("out of memory: used 0.") && Catch::Contains("GiB of its limit of 0.125 GiB"));
}

TEST_CASE("Limits: memory counts wherever the trainer's processes have gone", "[worker]") {
  Host host(GENERATE(false, true));
  const TrainerPlay play =
      host.Run(Python("import subprocess, time\n"
                      "eats = 'import time; b = bytearray(b\"x\" * (200 << 20)); time.sleep(1000)'\n"
                      "subprocess.Popen(['setsid', '-f', 'python3', '-c', eats])\n"
                      "time.sleep(1000)",
                      0.125));
  CHECK(play.outcome.cause() == v1::Outcome::OUT_OF_MEMORY);
}

TEST_CASE("Limits: pages that processes share count once", "[worker]") {
  constexpr int64_t kBytes = 64 << 20;
  const std::string shared(kBytes, 'x');
  std::vector<pid_t> processes = {getpid()};
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    processes.push_back(child);
  }
  CHECK(MemoryOf(processes, INT64_MAX) > 5 * kBytes);
  CHECK(MemoryOf(processes, kBytes) < 3 * kBytes);
  for (size_t i = 1; i < processes.size(); ++i) {
    kill(processes[i], SIGKILL);
    waitpid(processes[i], nullptr, 0);
  }
}

TEST_CASE("Limits: within its memory a trainer finishes", "[worker]") {
  Host host(GENERATE(false, true));
  const TrainerPlay play = host.Run(
      Python("import time; b = bytearray(b'x' * (30 << 20)); time.sleep(0.3); print('loss=1')", 0.25));
  CHECK(play.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(play.reports.size() == 1);
}

TEST_CASE("Limits: an allocation refused under a limit counts as out of memory", "[worker]") {
  Host host(false);
  const TrainerPlay limited = host.Run(Python("bytearray(1 << 46)", 0.5));
  CHECK(limited.outcome.cause() == v1::Outcome::OUT_OF_MEMORY);
  CHECK_THAT(limited.outcome.reason(),
             Catch::StartsWith("out of memory: an allocation exceeded its limit of 0.5 GiB: ") &&
                 Catch::Contains("MemoryError"));
  const TrainerPlay free = host.Run(Python("bytearray(1 << 46)", 0));
  CHECK(free.outcome.kind() == v1::Outcome::FAILED);
  CHECK(free.outcome.cause() == v1::Outcome::CAUSE_UNSPECIFIED);
}

TEST_CASE("Limits: without groups, trainers are bound to the processors that fewest others are bound to",
          "[worker]") {
  Host host(false);
  const auto processors = [&host] {
    auto held = host.limiter->Confine("a", "", {1, 0});
    REQUIRE(held.ok());
    return *std::move(held);
  };
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return Skip("this machine has one processor");
  const auto first = processors(), second = processors();
  REQUIRE(first->Child().processors.size() == 1);
  CHECK(first->Child().processors != second->Child().processors);

  v1::Assignment assignment = Shell("grep Cpus_allowed_list /proc/self/status; echo $OMP_NUM_THREADS");
  assignment.set_cpus(0.5);
  const TrainerPlay play = host.Run(assignment);
  CHECK_THAT(play.out, Catch::Matches("Cpus_allowed_list:\\s[0-9]+\n1\n"));
}

TEST_CASE("Limits: with groups and their controllers, the kernel keeps memory and processors", "[worker]") {
  Host host(true);
  if (host.limiter->Name() != "cgroup v2") return Skip(kNoControllers);
  v1::Assignment assignment = Shell(
      "g=$(findmnt -no TARGET -t cgroup2 | tail -1)$(sed -n s/0:://p /proc/self/cgroup); cat $g/cpu.max "
      "$g/memory.max");
  assignment.set_cpus(0.5);
  assignment.set_memory_gib(0.5);
  const TrainerPlay play = host.Run(assignment);
  CHECK(play.out == "50000 100000\n536870912\n");
  // One process of several has too much: all end, at once, though the first would wait.
  const TrainerPlay several = host.Run(Python(
      "import os, time\nif os.fork() == 0: b = bytearray(b'x' * (200 << 20))\ntime.sleep(1000)", 0.125));
  CHECK(several.outcome.cause() == v1::Outcome::OUT_OF_MEMORY);
}

TEST_CASE("Limits: with groups, nothing gets away that has left its session and shed its marks", "[worker]") {
  Host host(true);
  if (!host.limiter->HasGroups()) return Skip(kNoGroups);
  const std::string pid = (host.folder / "pid").string();
  const TrainerPlay play =
      host.Run(Shell("env -i setsid sh -c 'echo $$ > " + pid + "; exec sleep 1000' & while [ ! -s " + pid +
                     " ]; do sleep 0.01; done; cat " + pid));
  CHECK(play.outcome.kind() == v1::Outcome::FINISHED);
  REQUIRE(!play.out.empty());
  CHECK(IsGone(std::stoi(play.out)));
}

TEST_CASE("Limits: with groups, the parent of what is left of a trainer's session ends too", "[worker]") {
  Host host(true);
  if (!host.limiter->HasGroups()) return Skip(kNoGroups);
  const std::string pid = (host.folder / "pid").string();
  // It sheds its marks, leaves the session and never waits for its child, which stays there.
  const TrainerPlay play =
      host.Run(Shell("sh -c 'sleep 1000 & exec env -i setsid sh -c \"echo $$ > " + pid +
                     "; exec sleep 1000\"' & while [ ! -s " + pid + " ]; do sleep 0.01; done; cat " + pid));
  CHECK(play.outcome.kind() == v1::Outcome::FINISHED);
  REQUIRE(!play.out.empty());
  CHECK(IsGone(std::stoi(play.out)));
}

TEST_CASE("Limits: a group whose processes were still ending is removed when the next one is made",
          "[worker]") {
  Host host(true);
  if (!host.limiter->HasGroups()) return Skip(kNoGroups);
  std::filesystem::path group;
  std::vector<pid_t> children;
  {
    const auto confined = host.limiter->Confine("a", "", {});
    REQUIRE(confined.ok());
    group = (*confined)->Child().group->path();
    for (int i = 0; i < 20; ++i) {
      children.push_back(fork());
      if (children.back() == 0) {
        for (;;) pause();
      }
      REQUIRE((*confined)->Child().group->Set("cgroup.procs", std::to_string(children.back())).ok());
    }
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  REQUIRE(host.limiter->Confine("b", "", {}).ok());
  CHECK_FALSE(std::filesystem::exists(group));
}

TEST_CASE("Limits: a worker that comes back ends what was left in the groups of the one before", "[worker]") {
  TempFolder folder;
  int pipe_fds[2];
  REQUIRE(pipe(pipe_fds) == 0);
  const std::string name = "test" + std::to_string(getpid());
  const pid_t worker = fork();
  if (worker == 0) {
    EventLoop loop;
    Limiter limiter(&loop, folder.path(), name);
    pid_t trainer = -1;
    if (limiter.HasGroups()) {
      auto held = limiter.Confine("a", "", {});
      ProcessSpec spec{
          {"/bin/sh", "-c", "setsid sleep 1000 & exec sleep 1000"}, {"PATH=/usr/bin:/bin"}, "/", ""};
      spec.setup = (*held)->Child();
      auto process =
          Process::Start(&loop, spec, {[](Process::Stream, std::string_view) {}, [](const ProcessEnd&) {}});
      while ((*held)->Child().group->Processes().size() < 2) {
      }
      trainer = (*process)->pid();
      if (write(pipe_fds[1], &trainer, sizeof trainer) != sizeof trainer) _exit(1);
      for (;;) pause();
    }
    if (write(pipe_fds[1], &trainer, sizeof trainer) != sizeof trainer) _exit(1);
    _exit(0);
  }
  pid_t trainer = -1;
  REQUIRE(read(pipe_fds[0], &trainer, sizeof trainer) == sizeof trainer);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  if (trainer < 0) return Skip(kNoGroups);

  std::string tree;
  std::getline(std::ifstream(folder / "cgroup"), tree);
  REQUIRE(std::filesystem::exists(tree));
  EventLoop loop;
  {
    const Limiter next(&loop, folder.path(), name);
    CHECK(next.leftovers() >= 1);  // the leader dies with its worker, the other does not
    CHECK(Cgroup::At(tree).Number("cgroup.events", "populated") == 0);
  }
  CHECK(!std::filesystem::exists(tree));
}

TEST_CASE("Limits: a record that names no group of a worker is left alone", "[worker]") {
  TempFolder folder;
  std::filesystem::create_directories(folder / "winnow-x/keep");
  std::ofstream(folder / "cgroup") << (folder / "winnow-x").string() << "\n";
  CHECK(KillLeftoverGroups(folder / "cgroup") == 0);
  CHECK(std::filesystem::exists(folder / "winnow-x/keep"));
  CHECK(KillLeftoverGroups(folder / "none") == 0);
}

TEST_CASE("Limits: the kernel ends a trainer before its worker when the host runs out of memory",
          "[worker]") {
  Host host(false);
  CHECK(host.Run(Shell("cat /proc/self/oom_score_adj")).out == "500\n");
}

TEST_CASE("Limits: max_attempt_time leaves the grace to save, and fails the attempt with its name",
          "[worker]") {
  Host host(false);
  v1::Assignment assignment = Shell("trap 'echo saved; exit 0' TERM; while true; do sleep 0.01; done");
  assignment.mutable_max_attempt_time()->set_nanos(300'000'000);
  const TrainerPlay play = host.Run(assignment);
  CHECK(play.out == "saved\n");
  CHECK(play.outcome.kind() == v1::Outcome::FAILED);
  CHECK(play.outcome.cause() == v1::Outcome::TIME_LIMIT);
  CHECK(play.outcome.reason() == "the attempt took longer than limits.max_attempt_time, 0.3 s");
}

TEST_CASE("Limits: max_attempt_time does not touch what has ended before", "[worker]") {
  Host host(false);
  v1::Assignment assignment = Shell("exit 3");
  assignment.mutable_max_attempt_time()->set_seconds(1000);
  const TrainerPlay play = host.Run(assignment);
  CHECK(play.outcome.exit_code() == 3);
  CHECK(play.outcome.cause() == v1::Outcome::CAUSE_UNSPECIFIED);
}

TEST_CASE("TrainerRun: distinguishes what the machine lacks from what the trainer lacks", "[worker]") {
  Host host(false);
  CHECK(absl::IsNotFound(host.Run(MakeAssignment("a", {"no-such-trainer"})).start));
  v1::Assignment bad_regex = Shell("true");
  bad_regex.mutable_metrics(0)->set_regex("loss=(");
  CHECK(absl::IsInvalidArgument(host.Run(bad_regex).start));
  std::filesystem::remove_all(host.folder / "work");
  std::ofstream(host.folder / "work") << "no folder";
  CHECK(absl::IsResourceExhausted(host.Run(Shell("true")).start));
}

TEST_CASE("TrainerRun: a disk that is full when the program saves is the machine's fault", "[worker]") {
  SmallDisk disk(32 << 20);
  if (!disk.mounted()) return Skip("this process may not mount a small disk");
  Host host(false);
  const v1::Assignment saves =
      Shell("mkdir -p $WINNOW_CHECKPOINT_DIR; exec head -c 64M /dev/zero > $WINNOW_CHECKPOINT_DIR/big");
  const v1::Outcome outcome =
      RunTrainer(&host.loop, host.folder, saves, &*host.limiter, {}, disk.folder()).outcome;
  CHECK(outcome.kind() == v1::Outcome::FAILED);
  CHECK(outcome.cause() == v1::Outcome::NOT_STARTED);
  CHECK_THAT(outcome.reason(), Catch::StartsWith("the disk is full: ") &&
                                   Catch::Contains("No space left on device (exit code 1)"));
}

TEST_CASE("TrainerRun: what a program says of a disk that is not the worker's is its own failure",
          "[worker]") {
  Host host(false);
  const v1::Outcome outcome = host.Run(Shell("echo loss=1; cp /etc/passwd /dev/full")).outcome;
  CHECK(outcome.kind() == v1::Outcome::FAILED);
  CHECK(outcome.cause() == v1::Outcome::CAUSE_UNSPECIFIED);
  CHECK_THAT(outcome.reason(), Catch::Contains("No space left on device (exit code 1)"));
}

TEST_CASE("TrainerRun: logs that find no space cost neither reports nor the outcome", "[worker]") {
  Host host(false);
  std::filesystem::create_directories(host.folder / "work/jobs/job/1");
  std::filesystem::create_symlink("/dev/full", host.folder / "work/jobs/job/1/attempt-1-rank-0.stdout.log");
  const TrainerPlay play = host.Run(Shell("echo loss=1; echo loss=2"));
  CHECK(play.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(play.reports.size() == 2);
  CHECK(play.out == "loss=1\nloss=2\n");
}

}  // namespace winnow

#include "worker/host/process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/program.h"
#include "worker/host/process_tree.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kForever[] = "while true; do sleep 0.01; done";

// Stops the process once it has printed "ready".
auto StopWhenReady(EventLoop::Clock::duration grace) {
  return [grace](Process* process, const std::string& out) {
    if (out.find("ready") != std::string::npos) process->Stop(grace);
  };
}

absl::Status StartError(const ProcessSpec& spec) {
  EventLoop loop;
  return Process::Start(&loop, spec, {[](Process::Stream, std::string_view) {}, [](const ProcessEnd&) {}})
      .status();
}

void WriteScript(const std::filesystem::path& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  REQUIRE(chmod(path.c_str(), mode) == 0);
}

// Whether the process ends within 60 s; it need not be a child of ours.
bool EndsSoon(pid_t pid) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd wait{fd, POLLIN, 0};
  const bool ended = poll(&wait, 1, 60'000) == 1;
  close(fd);
  return ended;
}

TEST_CASE("Process tree: a file that cannot be read to its end is empty, and no exception", "[worker]") {
  // Reading fails after the opening, as it does for a process that ends in between.
  CHECK(KernelText("/proc").empty());
  CHECK_FALSE(KernelText("/proc/self/stat").empty());
}

}  // namespace

TEST_CASE("Process: output, exit code and signal arrive", "[worker]") {
  const auto exited = RunSpec(ShellSpec("echo out; echo err >&2; exit 7"));
  REQUIRE(exited.has_value());
  CHECK(exited->out == "out\n");
  CHECK(exited->err == "err\n");
  CHECK(exited->end.exit_code == 7);
  CHECK(exited->end.signal == 0);

  const auto killed = RunSpec(ShellSpec("kill -SEGV $$"));
  REQUIRE(killed.has_value());
  CHECK(killed->end.exit_code == 128 + SIGSEGV);
  CHECK(killed->end.signal == SIGSEGV);
}

TEST_CASE("Process: one that is gone is not killed again, whoever has its id by then", "[worker]") {
  EventLoop loop;
  Process* running = nullptr;
  auto process = Process::Start(&loop, ShellSpec(std::string("echo ready; ") + kForever),
                                {[&](Process::Stream, std::string_view) { running->Stop(seconds(20)); },
                                 [&](const ProcessEnd&) { loop.Quit(); }});
  REQUIRE(process.ok());
  running = process->get();
  loop.Run();
  const pid_t id = running->pid();
  clone_args args{};
  args.exit_signal = SIGCHLD;
  args.set_tid = reinterpret_cast<uint64_t>(&id);
  args.set_tid_size = 1;
  const auto other = static_cast<pid_t>(syscall(SYS_clone3, &args, sizeof args));
  if (other == 0) {
    for (;;) pause();
  }
  if (other < 0) return Skip("the id of a process cannot be chosen");
  CHECK(setpgid(other, other) == 0);
  running->Stop(seconds(0));
  loop.After(milliseconds(1), [&loop] { loop.Quit(); });
  loop.Run();
  kill(other, SIGUSR1);
  int status = 0;
  CHECK(waitpid(other, &status, 0) == id);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1));
}

TEST_CASE("Process: every byte of a large output arrives", "[worker]") {
  const auto result = RunSpec(ShellSpec("head -c 10000000 /dev/zero; head -c 3000000 /dev/zero >&2"));
  REQUIRE(result.has_value());
  CHECK(result->out.size() == 10'000'000);
  CHECK(result->err.size() == 3'000'000);
}

TEST_CASE("Process: starts clean, with nothing of ours but what was given", "[worker]") {
  signal(SIGPIPE, SIG_IGN);
  const int open_here = open("/dev/null", O_RDONLY);  // without close-on-exec
  ProcessSpec spec = ShellSpec("cat; env | sort; pwd; ls /proc/self/fd | wc -l; kill -PIPE $$; echo alive");
  spec.environment = {"PATH=/usr/bin:/bin", "A=1"};
  spec.working_directory = "/usr";

  const auto result = RunSpec(spec);

  close(open_here);
  signal(SIGPIPE, SIG_DFL);
  REQUIRE(result.has_value());
  // 0, 1, 2 and the folder that ls reads.
  CHECK(result->out == "A=1\nPATH=/usr/bin:/bin\nPWD=/usr\n/usr\n4\n");
  CHECK(result->end.signal == SIGPIPE);
}

TEST_CASE("Process: a program without a slash is looked for beside the worker, then along PATH", "[worker]") {
  TempFolder folder;
  std::filesystem::create_directories(folder / "beside");
  std::filesystem::create_directories(folder / "path");
  WriteScript(folder / "beside/both", "#!/bin/sh\necho beside\n", 0755);
  WriteScript(folder / "path/both", "#!/bin/sh\necho path\n", 0755);
  WriteScript(folder / "path/one", "#!/bin/sh\necho path\n", 0755);
  WriteScript(folder / "path/here", "#!/bin/sh\necho here $1\n", 0755);
  ProcessSpec spec{
      {"both"}, {"PATH=/nowhere:" + (folder / "path").string()}, "/tmp", (folder / "beside").string()};
  CHECK(RunSpec(spec)->out == "beside\n");
  spec.command = {"one"};
  CHECK(RunSpec(spec)->out == "path\n");
  spec = {{"./here", "two words"}, {}, (folder / "path").string(), ""};
  CHECK(RunSpec(spec)->out == "here two words\n");
}

TEST_CASE("Process: what cannot be executed is refused with its name and the reason", "[worker]") {
  TempFolder folder;
  WriteScript(folder / "plain", "#!/bin/sh\n", 0644);
  WriteScript(folder / "no-interpreter", "echo\n", 0755);
  WriteScript(folder / "lost-interpreter", "#!/nowhere/sh\n", 0755);
  WriteScript(folder / "of-windows", "#!/bin/sh\r\necho\r\n", 0755);
  const auto error = [](const std::string& program, const std::string& directory = "/tmp") {
    return std::string(StartError({{program}, {"PATH=/usr/bin"}, directory, "/opt/beside"}).message());
  };
  CHECK(error("no-such") == "cannot execute no-such: no such program in /opt/beside or PATH (/usr/bin)");
  CHECK(error("./no-such") == "cannot execute ./no-such: No such file or directory");
  CHECK(error("true", "/no/such") == "cannot enter working directory /no/such: No such file or directory");
  const std::string not_executable =
      ": Permission denied (the file is not executable: chmod +x, or let the command begin with its "
      "interpreter)";
  CHECK(error(folder / "plain") == "cannot execute " + (folder / "plain").string() + not_executable);
  CHECK(error("./plain", folder.path()) == "cannot execute ./plain" + not_executable);
  CHECK_THAT(error(folder.path()), Catch::EndsWith(": Permission denied"));
  CHECK_THAT(error(folder / "no-interpreter"), Catch::Contains("Exec format error") && Catch::Contains("#!"));
  CHECK_THAT(error(folder / "lost-interpreter"),
             Catch::EndsWith(": No such file or directory (the interpreter that its first line names, "
                             "\"#!/nowhere/sh\", is not there)"));
  CHECK_THAT(error("./lost-interpreter", folder.path()), Catch::Contains("\"#!/nowhere/sh\""));
  CHECK_THAT(error(folder / "of-windows"), Catch::Contains("end as on Windows"));
  CHECK(StartError({{}, {}, "/tmp", ""}).message() == "the command is empty");
}

TEST_CASE("Process: what a program leaves behind is killed with it", "[worker]") {
  const auto result = RunSpec(ShellSpec("(trap '' TERM HUP; exec sleep 1000) & echo $!; exit 0"));
  REQUIRE(result.has_value());
  CHECK(result->end.exit_code == 0);
  CHECK(kill(std::stoi(result->out), 0) == -1);
  CHECK(errno == ESRCH);
}

TEST_CASE("Process: with a mark, what has a session of its own is killed too, its children as well",
          "[worker]") {
  TempFolder folder;
  // The outer shell waits until the pid is written, so that everything runs when it ends.
  const std::string pids = (folder / "pids").string();
  ProcessSpec spec = ShellSpec("setsid sh -c 'sleep 1000 & echo $$ $! > " + pids + "; wait' & while [ ! -s " +
                               pids + " ]; do sleep 0.01; done; cat " + pids);
  spec.mark = "WINNOW_ASSIGNMENT=marked";
  spec.environment.push_back(spec.mark);
  const auto result = RunSpec(spec);
  REQUIRE(result.has_value());
  int session = 0, child = 0;
  REQUIRE(sscanf(result->out.c_str(), "%d %d", &session, &child) == 2);
  for (const int pid : {session, child}) {
    CHECK(kill(pid, 0) == -1);
    CHECK(errno == ESRCH);
  }
}

TEST_CASE("Process: with a mark, the parent of what is left of the group is killed too", "[worker]") {
  TempFolder folder;
  // The parent leaves the group and never waits for its child, which stays in it.
  const std::string pids = (folder / "pids").string();
  ProcessSpec spec =
      ShellSpec("sh -c 'sleep 1000 & exec setsid sh -c \"echo $$ $! > " + pids +
                "; exec sleep 1000\"' & while [ ! -s " + pids + " ]; do sleep 0.01; done; cat " + pids);
  spec.mark = "WINNOW_ASSIGNMENT=marked";
  spec.environment.push_back(spec.mark);
  const auto result = RunSpec(spec);
  REQUIRE(result.has_value());
  int parent = 0, child = 0;
  REQUIRE(sscanf(result->out.c_str(), "%d %d", &parent, &child) == 2);
  for (const int pid : {parent, child}) {
    CHECK(kill(pid, 0) == -1);
    CHECK(errno == ESRCH);
  }
}

TEST_CASE("Process: what ends by itself in a session of its own does not stay as a zombie", "[worker]") {
  ProcessSpec spec = ShellSpec("(for i in 1 2 3; do (setsid sh -c 'echo $$' &); done) | cat");
  SECTION("with the mark") {
    spec.mark = "WINNOW_ASSIGNMENT=marked";
    spec.environment.push_back(spec.mark);
  }
  SECTION("without") { spec.mark = "WINNOW_ASSIGNMENT=shed"; }
  const auto result = RunSpec(spec);
  REQUIRE(result.has_value());
  std::istringstream pids(result->out);
  int count = 0;
  for (int pid = 0; pids >> pid; ++count) {
    CHECK(kill(pid, 0) == -1);
    CHECK(errno == ESRCH);
  }
  CHECK(count == 3);
}

TEST_CASE("Process: SIGTERM leaves time to save", "[worker]") {
  const auto result =
      RunSpec(ShellSpec(std::string("trap 'echo saved; exit 0' TERM; echo ready; ") + kForever),
              StopWhenReady(seconds(20)));
  REQUIRE(result.has_value());
  CHECK(result->out == "ready\nsaved\n");
  CHECK(result->end.exit_code == 0);
}

TEST_CASE("Process: the whole group has the grace, though its leader goes at once", "[worker]") {
  // A second process of the group receives the signal and lives a moment longer than the shell that started
  // it.
  const auto result =
      RunSpec(ShellSpec(std::string("(trap 'sleep 0.1; echo saved; exit 0' TERM; echo ready; ") + kForever +
                        "); true"),
              StopWhenReady(seconds(20)));
  REQUIRE(result.has_value());
  CHECK(result->out == "ready\nsaved\n");
  CHECK(result->end.signal == SIGTERM);
}

TEST_CASE("Process: what ignores SIGTERM is killed after the grace", "[worker]") {
  const auto began = std::chrono::steady_clock::now();
  const auto result = RunSpec(ShellSpec(std::string("trap '' TERM; echo ready; ") + kForever),
                              StopWhenReady(milliseconds(100)));
  REQUIRE(result.has_value());
  CHECK(result->end.signal == SIGKILL);
  CHECK(std::chrono::steady_clock::now() - began >= milliseconds(100));
}

TEST_CASE("Process: a second stop can only shorten the grace", "[worker]") {
  const auto result = RunSpec(ShellSpec(std::string("trap '' TERM; echo ready; ") + kForever),
                              [](Process* process, const std::string& out) {
                                if (out.find("ready") == std::string::npos) return;
                                process->Stop(seconds(1000));
                                process->Stop(milliseconds(0));
                                process->Stop(seconds(1000));
                              });
  REQUIRE(result.has_value());
  CHECK(result->end.signal == SIGKILL);
}

TEST_CASE("Process: stopping what has ended by itself changes nothing", "[worker]") {
  EventLoop loop;
  ProcessEnd end;
  auto process = Process::Start(&loop, ShellSpec("exit 3"),
                                {[](Process::Stream, std::string_view) {},
                                 [&](const ProcessEnd& ended) {
                                   end = ended;
                                   loop.Quit();
                                 }});
  REQUIRE(process.ok());
  REQUIRE(EndsSoon((*process)->pid()));  // the loop does not know yet
  CHECK((*process)->HasEnded());

  (*process)->Stop(milliseconds(0));
  loop.Run();

  CHECK(end.exit_code == 3);
}

TEST_CASE("Process: destroying it kills the group", "[worker]") {
  EventLoop loop;
  auto process = Process::Start(&loop, ShellSpec("exec sleep 1000"),
                                {[](Process::Stream, std::string_view) {}, [](const ProcessEnd&) {}});
  REQUIRE(process.ok());
  const pid_t pid = (*process)->pid();
  process->reset();
  CHECK(kill(pid, 0) == -1);
}

TEST_CASE("Process: distinguishes many that run at once", "[worker]") {
  EventLoop loop;
  std::vector<std::string> outs(20);
  std::vector<std::unique_ptr<Process>> processes;
  int left = 20;
  for (int i = 0; i < 20; ++i) {
    auto process =
        Process::Start(&loop, ShellSpec("echo " + std::to_string(i) + "; exit " + std::to_string(i)),
                       {[&outs, i](Process::Stream, std::string_view bytes) { outs[i] += bytes; },
                        [&, i](const ProcessEnd& end) {
                          CHECK(end.exit_code == i);
                          if (--left == 0) loop.Quit();
                        }});
    REQUIRE(process.ok());
    processes.push_back(*std::move(process));
  }
  loop.After(seconds(60), [&loop] { loop.Quit(); });
  loop.Run();
  CHECK(left == 0);
  for (int i = 0; i < 20; ++i) CHECK(outs[i] == std::to_string(i) + "\n");
}

TEST_CASE("Process: a worker killed by SIGKILL takes its trainers with it", "[worker]") {
  int pipe_fds[2];
  REQUIRE(pipe(pipe_fds) == 0);
  const pid_t worker = fork();
  if (worker == 0) {
    EventLoop loop;
    auto trainer = Process::Start(&loop, ShellSpec("exec sleep 1000"),
                                  {[](Process::Stream, std::string_view) {}, [](const ProcessEnd&) {}});
    const pid_t pid = trainer.ok() ? (*trainer)->pid() : -1;
    if (write(pipe_fds[1], &pid, sizeof pid) != sizeof pid) _exit(1);
    loop.Run();
    _exit(0);
  }
  pid_t trainer = -1;
  REQUIRE(read(pipe_fds[0], &trainer, sizeof trainer) == sizeof trainer);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
  REQUIRE(trainer > 0);
  REQUIRE(kill(trainer, 0) == 0);

  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);

  CHECK(EndsSoon(trainer));
}

}  // namespace winnow

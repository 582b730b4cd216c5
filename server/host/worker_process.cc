#include "server/host/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

extern char** environ;

namespace winnow {
namespace {

constexpr char kArgumentsFile[] = "arguments";

int OpenProcess(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

std::vector<std::string> ReadArguments(const std::filesystem::path& work_dir) {
  std::vector<std::string> arguments;
  std::ifstream file(work_dir / kArgumentsFile);
  for (std::string line; std::getline(file, line);) arguments.push_back(line);
  return arguments;
}

bool WriteArguments(const std::filesystem::path& work_dir, const std::vector<std::string>& arguments) {
  std::ofstream file(work_dir / kArgumentsFile, std::ios::trunc);
  for (const std::string& argument : arguments) file << argument << '\n';
  return file.flush().good();
}

// Returns this process's environment without the address of any server and without settings: local workers
// use this server and its flags.
std::vector<char*> EnvironmentOfWorkers() {
  std::vector<char*> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool withheld = text.starts_with("WINNOW_TLS_") || text.starts_with("WINNOW_TOKEN") ||
                          text.starts_with("WINNOW_SERVER_") || text.starts_with("WINNOW_WORKER_");
    if (!withheld) entries.push_back(*entry);
  }
  entries.push_back(nullptr);
  return entries;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const std::vector<std::string>& arguments,
                                                                    const std::filesystem::path& work_dir,
                                                                    const std::filesystem::path& log) {
  std::error_code error;
  std::filesystem::create_directories(work_dir, error);
  if (error || !WriteArguments(work_dir, arguments)) {
    return absl::FailedPreconditionError(
        fmt::format("cannot write to {}: {}", work_dir.string(), error ? error.message() : strerror(errno)));
  }
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  // Closes what a library left open over exec: a listener would block the next server's port.
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // a terminal's Ctrl-C is for the server, which stops its workers
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  std::vector<char*> environment = EnvironmentOfWorkers();
  int code = posix_spawn(&pid, argv[0], &files, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (code != 0) {
    return absl::FailedPreconditionError(fmt::format("cannot start {}: {}", arguments[0], strerror(code)));
  }
  int descriptor = OpenProcess(pid);
  if (descriptor < 0) {
    int why = errno;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return absl::InternalError(fmt::format("cannot watch process {}: {}", pid, strerror(why)));
  }
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(pid, descriptor, true, arguments));
}

absl::Status WorkerProcess::Check(std::vector<std::string> arguments) {
  arguments.emplace_back("--check");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int words[2];
  if (pipe2(words, O_CLOEXEC) != 0) return absl::InternalError(fmt::format("pipe: {}", strerror(errno)));
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, words[1], STDERR_FILENO);
  pid_t pid = 0;
  std::vector<char*> environment = EnvironmentOfWorkers();
  const int code = posix_spawn(&pid, argv[0], &files, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  close(words[1]);
  std::string said;
  char part[1024];
  for (ssize_t bytes; code == 0 && (bytes = read(words[0], part, sizeof part)) > 0;)
    said.append(part, static_cast<size_t>(bytes));
  close(words[0]);
  int status = 0;
  if (code == 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return absl::OkStatus();
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return absl::FailedPreconditionError(
      fmt::format("a local worker cannot be started: {}", code != 0 ? strerror(code) : said));
}

std::unique_ptr<WorkerProcess> WorkerProcess::Adopt(const std::filesystem::path& work_dir) {
  int lock = open((work_dir / "lock").c_str(), O_RDWR | O_CLOEXEC);
  if (lock < 0) return nullptr;
  bool held = flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  char text[32] = {};
  ssize_t bytes = pread(lock, text, sizeof text - 1, 0);
  close(lock);  // releases the lock if it was free
  pid_t pid = bytes > 0 ? static_cast<pid_t>(atoi(text)) : 0;
  if (!held || pid <= 1) return nullptr;
  int descriptor = OpenProcess(pid);
  if (descriptor < 0) return nullptr;
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(pid, descriptor, false, ReadArguments(work_dir)));
}

WorkerProcess::~WorkerProcess() { close(descriptor_); }

void WorkerProcess::Signal(int signal) { syscall(SYS_pidfd_send_signal, descriptor_, signal, nullptr, 0); }

std::string WorkerProcess::Reap() {
  if (!child_) return "ended";
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) return "ended";
  if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace winnow

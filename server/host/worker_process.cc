#include "server/host/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

#include "base/spawn.h"

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

// Without the address of any server and without settings: local workers use this server and its flags.
std::vector<std::string> EnvironmentOfWorkers() {
  return EnvironmentWithout([](std::string_view entry) {
    return entry.starts_with("WINNOW_TLS_") || entry.starts_with("WINNOW_TOKEN") ||
           entry.starts_with("WINNOW_SERVER_") || entry.starts_with("WINNOW_WORKER_");
  });
}

// A descriptor that closes by itself, and that no new process inherits.
class StandardFile {
 public:
  StandardFile(const char* path, int flags) : descriptor_(open(path, flags | O_CLOEXEC, 0600)) {}
  ~StandardFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  StandardFile(const StandardFile&) = delete;
  StandardFile& operator=(const StandardFile&) = delete;
  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

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
  const StandardFile nothing("/dev/null", O_RDONLY), output(log.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  if (output.get() < 0)
    return absl::FailedPreconditionError(
        fmt::format("cannot write to {}: {}", log.string(), strerror(errno)));
  pid_t pid = 0;
  const int code =
      Spawn(arguments, EnvironmentOfWorkers(), {nothing.get(), output.get(), output.get()}, &pid);
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
  int words[2];
  if (pipe2(words, O_CLOEXEC) != 0) return absl::InternalError(fmt::format("pipe: {}", strerror(errno)));
  const StandardFile nothing("/dev/null", O_RDWR);
  pid_t pid = 0;
  const int code = Spawn(arguments, EnvironmentOfWorkers(), {nothing.get(), nothing.get(), words[1]}, &pid);
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

#include "server/host/pools/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

extern char** environ;

namespace winnow {
namespace {

using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock;

constexpr size_t kMostBytes = 64 << 20;  // of an output
constexpr size_t kMostWords = 400;

// A pipe whose ends close by themselves.
struct Pipe {
  int ends[2] = {-1, -1};
  bool Open() { return pipe2(ends, O_CLOEXEC) == 0; }
  void Close(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  ~Pipe() {
    Close(0);
    Close(1);
  }
};

std::string OneLine(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!blank) line += c;
    if (blank && !line.empty() && line.back() != ' ') line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line.size() > kMostWords ? line.substr(0, kMostWords) + "…" : line;
}

pid_t Spawn(const std::vector<std::string>& command, Pipe& in, Pipe& out, Pipe& err,
            const std::vector<std::string>& variables, int* error) {
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto replaced = [text](const std::string& variable) {
      return text.starts_with(std::string_view(variable).substr(0, variable.find('=') + 1));
    };
    if (text.starts_with("WINNOW_")) continue;  // the server's own settings
    if (std::none_of(variables.begin(), variables.end(), replaced)) environment.push_back(*entry);
  }
  for (const std::string& variable : variables) environment.push_back(const_cast<char*>(variable.c_str()));
  environment.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  *error = posix_spawnp(&pid, argv[0], &files, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return *error == 0 ? pid : -1;
}

}  // namespace

std::string ProgramResult::Words() const {
  if (std::string words = OneLine(errors); !words.empty()) return words;
  if (std::string words = OneLine(output); !words.empty()) return words;
  return fmt::format("exit code {}", exit_code);
}

absl::StatusOr<ProgramResult> RunProgram(const std::vector<std::string>& command, const std::string& input,
                                         milliseconds patience, const std::vector<std::string>& variables) {
  Pipe in, out, err;
  if (!in.Open() || !out.Open() || !err.Open())
    return absl::UnavailableError(fmt::format("{}: pipe: {}", command[0], strerror(errno)));
  int error = 0;
  const pid_t pid = Spawn(command, in, out, err, variables, &error);
  if (pid < 0)
    return absl::NotFoundError(fmt::format("{} cannot be started: {}", command[0], strerror(error)));
  in.Close(0);
  out.Close(1);
  err.Close(1);
  fcntl(in.ends[1], F_SETFL, O_NONBLOCK);
  ProgramResult result;
  size_t sent = 0;
  if (input.empty()) in.Close(1);
  const auto end = SteadyTime::now() + patience;
  bool late = false;
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    const auto left = std::chrono::ceil<milliseconds>(end - SteadyTime::now()).count();
    late = left <= 0;
    if (late) break;
    pollfd waits[] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}, {in.ends[1], POLLOUT, 0}};
    if (poll(waits, 3, static_cast<int>(std::min<int64_t>(left, 60'000))) < 0 && errno != EINTR) break;
    if ((waits[2].revents & (POLLOUT | POLLERR)) != 0) {
      const ssize_t bytes = write(in.ends[1], input.data() + sent, input.size() - sent);
      if (bytes > 0) sent += static_cast<size_t>(bytes);
      if (sent == input.size() || (bytes < 0 && errno != EAGAIN && errno != EINTR)) in.Close(1);
    }
    char part[16384];
    for (const auto& [wait, pipe, text] :
         {std::tuple{0, &out, &result.output}, std::tuple{1, &err, &result.errors}}) {
      if (pipe->ends[0] < 0 || (waits[wait].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      const ssize_t bytes = read(pipe->ends[0], part, sizeof part);
      if (bytes > 0 && text->size() < kMostBytes) text->append(part, static_cast<size_t>(bytes));
      if (bytes == 0 || (bytes < 0 && errno != EINTR)) pipe->Close(0);
    }
  }
  if (late) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (late) {
    return absl::UnavailableError(fmt::format("{} did not end within {:.0f} s{}", command[0],
                                              std::chrono::duration<double>(patience).count(),
                                              result.errors.empty() ? "" : ": " + OneLine(result.errors)));
  }
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

}  // namespace winnow

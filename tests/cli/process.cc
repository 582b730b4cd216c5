#include "tests/cli/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>

#include "checkout.h"

namespace winnow {
namespace {

constexpr int kPatienceMs = 60000;

void Check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const std::string& server, Io io,
                 const std::vector<std::string>& environment, const std::string& input,
                 const std::string& folder) {
  int in[2];
  Check(pipe2(in, O_CLOEXEC) == 0, "pipe");
  int out[2];
  int err[2] = {-1, -1};
  const bool terminal = io != Io::kPipes;
  if (terminal) {
    winsize size = {30, static_cast<unsigned short>(io == Io::kTerminal ? 100 : 60), 0, 0};
    Check(openpty(&out[0], &out[1], nullptr, nullptr, &size) == 0, "openpty");
    fcntl(out[0], F_SETFD, FD_CLOEXEC);
    fcntl(out[1], F_SETFD, FD_CLOEXEC);
  } else {
    Check(pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0, "pipe");
  }

  std::vector<std::string> words = {std::string(WINNOW_BIN_DIR) + "/winnow"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = {"PATH=/usr/bin:/bin", "TZ=UTC", "TERM=xterm", "HOME=/"};
  if (!server.empty()) variables.push_back("WINNOW_SERVER=" + server);
  variables.insert(variables.end(), environment.begin(), environment.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, terminal ? out[1] : err[1], STDERR_FILENO);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  const int error = posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  if (err[1] >= 0) close(err[1]);
  out_fd_ = out[0];
  err_fd_ = err[0];
  Check(error == 0, "posix_spawn");
  Check(write(in[1], input.data(), input.size()) == static_cast<ssize_t>(input.size()), "write");
  close(in[1]);
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    Wait();
  }
  for (const int fd : {out_fd_, err_fd_}) {
    if (fd >= 0) close(fd);
  }
}

bool Process::ReadSome() {
  pollfd fds[] = {{out_fd_, POLLIN, 0}, {err_fd_, POLLIN, 0}};
  if (out_fd_ < 0 && err_fd_ < 0) return false;
  Check(poll(fds, 2, kPatienceMs) > 0, "winnow said nothing for a minute");
  std::array<char, 65536> buffer;
  for (const bool first : {true, false}) {
    int& fd = first ? out_fd_ : err_fd_;
    if (fd < 0 || fds[first ? 0 : 1].revents == 0) continue;
    const ssize_t bytes = read(fd, buffer.data(), buffer.size());
    if (bytes > 0) {
      (first ? out_ : err_).append(buffer.data(), static_cast<size_t>(bytes));
    } else if (bytes == 0 || errno != EINTR) {  // a terminal ends with EIO
      close(fd);
      fd = -1;
    }
  }
  return true;
}

bool Process::ReadUntil(const std::string& text) {
  while (true) {
    const size_t at = out_.find(text, found_);
    if (at != std::string::npos) {
      found_ = at + text.size();
      return true;
    }
    if (!ReadSome()) return false;
  }
}

int Process::Wait() {
  while (ReadSome()) {
  }
  int status = 0;
  Check(waitpid(pid_, &status, 0) == pid_, "waitpid");
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void Process::Signal(int signal) { kill(pid_, signal); }

Result RunWinnow(const std::vector<std::string>& arguments, const std::string& server,
                 const std::string& input) {
  Process process(arguments, server, Process::Io::kPipes, {}, input);
  Result result;
  result.code = process.Wait();
  result.out = process.out();
  result.err = process.err();
  return result;
}

}  // namespace winnow

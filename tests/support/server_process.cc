#include "tests/support/server_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace winnow {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Returns the parent of a process; -1 if it is gone.
pid_t ParentOf(pid_t pid) {
  const std::string stat = ReadFile(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return -1;
  std::istringstream rest(stat.substr(name_end + 1));
  std::string state;
  pid_t parent = -1;
  rest >> state >> parent;
  return state == "Z" ? -1 : parent;
}

std::vector<pid_t> AllPids() {
  std::vector<pid_t> pids;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      pids.push_back(std::stoi(name));
    }
  }
  return pids;
}

// Waits until the process, which need not be a child, is gone.
void WaitGone(pid_t pid) {
  int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return;
  pollfd wait{fd, POLLIN, 0};
  poll(&wait, 1, 10000);
  close(fd);
}

}  // namespace

ServerProcess::ServerProcess(std::string binary, std::vector<std::string> extra_flags)
    : binary_(std::move(binary)), extra_flags_(std::move(extra_flags)) {
  std::string pattern = (fs::temp_directory_path() / "winnow-XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
  Start();
}

void ServerProcess::Start() {
  const fs::path port_file = folder_ / "port";
  const std::string log_file = (folder_ / "server.log").string();
  fs::remove(port_file);
  std::vector<std::string> arguments = {binary_, "--listen", address(), "--port-file", port_file.string()};
  const auto has = [&](const char* flag) {
    return std::find(extra_flags_.begin(), extra_flags_.end(), flag) != extra_flags_.end();
  };
  if (!has("--http")) arguments.insert(arguments.end(), {"--http", "off"});
  if (!has("--db")) arguments.insert(arguments.end(), {"--db", database()});
  arguments.insert(arguments.end(), extra_flags_.begin(), extra_flags_.end());
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  // What trainers keep is not that of the user and of other tests.
  std::string cache = "WINNOW_CACHE_DIR=" + (folder_ / "cache").string();
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  if (std::getenv("WINNOW_CACHE_DIR") == nullptr) variables.push_back(cache.data());
  variables.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    int fd = open(log_file.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
    dup2(fd, 1);
    dup2(fd, 2);
    execve(argv[0], argv.data(), variables.data());
    _exit(127);
  }
  port_ = 0;
  for (int tries = 0; tries < 3000 && port_ == 0; ++tries) {
    if (!(std::ifstream(port_file) >> port_)) {
      port_ = 0;
      if (waitpid(pid_, nullptr, WNOHANG) != 0) break;
      poll(nullptr, 0, 10);
    }
  }
  if (port_ == 0) {
    fmt::print(stderr, "winnow-server did not start:\n{}", log());
    std::exit(1);
  }
}

std::string ServerProcess::address() const { return fmt::format("127.0.0.1:{}", port_); }

std::string ServerProcess::log() const { return ReadFile(folder_ / "server.log"); }

std::shared_ptr<grpc::Channel> ServerProcess::Connect(int slot) {
  if (static_cast<int>(channels_.size()) <= slot) channels_.resize(slot + 1);
  if (!channels_[slot]) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
    channels_[slot] = grpc::CreateCustomChannel(address(), grpc::InsecureChannelCredentials(), arguments);
  }
  return channels_[slot];
}

std::unique_ptr<v1::TuningService::Stub> ServerProcess::Client() {
  return v1::TuningService::NewStub(Connect(static_cast<int>(channels_.size())));
}

int ServerProcess::Stop() {
  if (pid_ <= 0) return 0;
  kill(pid_, SIGTERM);
  return Wait();
}

int ServerProcess::Wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void ServerProcess::Kill() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void ServerProcess::Restart() { Start(); }

std::vector<pid_t> ServerProcess::WorkerPids() const {
  std::vector<std::pair<std::string, pid_t>> workers;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_ / "winnow.db.d" / "workers", ignored)) {
    pid_t pid = -1;
    if (std::ifstream(entry.path() / "lock") >> pid && ParentOf(pid) >= 0) {
      workers.emplace_back(entry.path().filename().string(), pid);
    }
  }
  std::sort(workers.begin(), workers.end());
  std::vector<pid_t> pids;
  for (const auto& [name, pid] : workers) pids.push_back(pid);
  return pids;
}

std::vector<pid_t> ServerProcess::TrainerPids() const {
  const std::vector<pid_t> workers = WorkerPids();
  std::vector<pid_t> trainers;
  for (pid_t pid : AllPids()) {
    if (std::find(workers.begin(), workers.end(), ParentOf(pid)) != workers.end()) trainers.push_back(pid);
  }
  return trainers;
}

ServerProcess::~ServerProcess() {
  const std::vector<pid_t> workers = WorkerPids();
  Stop();
  for (pid_t pid : workers) kill(pid, SIGKILL);
  for (pid_t pid : workers) WaitGone(pid);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace winnow

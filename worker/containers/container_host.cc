#include "worker/containers/container_host.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <system_error>

#include "absl/status/status.h"
#include "base/spawn.h"
#include "base/status_text.h"
#include "fmt/format.h"
#include "spdlog/spdlog.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorkLabel = "winnow.work-dir";
constexpr const char* kWorkerLabel = "winnow.worker";
constexpr std::chrono::seconds kRemovePatience(30);
constexpr std::chrono::milliseconds kFirstRemovalPause(500);  // doubles from try to try
constexpr int kMostRemovals = 8;
constexpr std::chrono::milliseconds kReapPause(50);

// Removes the containers of engine $1 with label $2.
constexpr const char* kRemoveByLabel =
    R"(ids=$("$1" ps --all --quiet --filter "label=$2") && [ -n "$ids" ] && "$1" rm --force $ids)";

// Starts `sh -c script sh arguments…`, in a session of its own, with the reading end as its input. Returns
// its id; below 0: -errno.
pid_t StartShell(const std::string& script, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment, int input) {
  std::vector<std::string> words = {"sh", "-c", script, "sh"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<char*> argv = Pointers(words), envp = Pointers(environment);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  sigemptyset(&none);
  sigfillset(&usual);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/bin/sh", &files, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? pid : -error;
}

std::string RandomName() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

// Waits for the child, and kills it when the time is over.
void Await(pid_t child, std::chrono::seconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (waitpid(child, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) kill(child, SIGKILL);
    usleep(10'000);
  }
}

}  // namespace

ContainerHost::ContainerHost(EventLoop* loop, fs::path work, const std::vector<std::string>& environment,
                             bool other_users)
    : loop_(loop),
      folder_(work / "containers"),
      work_(work.string()),
      environment_(EngineEnvironment(environment)),
      instance_(RandomName()),
      images_(loop, work, environment_, other_users) {
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (const auto engine = EngineNamed(file); engine.has_value()) {
      const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
      const pid_t shell =
          StartShell(kRemoveByLabel, {file, fmt::format("{}={}", kWorkLabel, work_)}, environment_, nothing);
      if (shell > 0) Await(shell, kRemovePatience);
      close(nothing);
    } else {
      std::error_code ignored;
      fs::remove(entry->path(), ignored);  // of a container that was running then
    }
  }
}

ContainerHost::~ContainerHost() {
  loop_->Cancel(reap_timer_);
  for (const auto& [number, removal] : removals_) loop_->Cancel(removal.pause);
  for (const auto& [engine, pipe] : guards_) close(pipe);
}

std::string ContainerHost::NewName() { return fmt::format("winnow-{}-{}", instance_, ++last_name_); }

std::vector<std::pair<std::string, std::string>> ContainerHost::Labels() const {
  return {{kWorkLabel, work_}, {kWorkerLabel, instance_}};
}

absl::Status ContainerHost::Guard(ContainerEngine engine) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!error) fs::permissions(folder_, fs::perms(0700), error);
  if (error)
    return absl::ResourceExhaustedError(fmt::format("cannot make {}: {}", folder_.string(), error.message()));
  if (!HasMonitor(engine) || guards_.contains(engine)) return absl::OkStatus();
  // The next worker looks for this engine's containers.
  if (!std::ofstream(folder_ / ProgramOf(engine)))
    return absl::ResourceExhaustedError(fmt::format("cannot write in {}", folder_.string()));
  return StartGuard(engine);
}

absl::Status ContainerHost::StartGuard(ContainerEngine engine) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return absl::ResourceExhaustedError(fmt::format("cannot guard containers: {}", strerrordesc_np(errno)));
  const std::string label = fmt::format("{}={}", kWorkerLabel, instance_);
  const pid_t guard = StartShell(fmt::format("while read -r line; do :; done; {}", kRemoveByLabel),
                                 {std::string(ProgramOf(engine)), label}, environment_, ends[0]);
  close(ends[0]);
  if (guard < 0) {
    close(ends[1]);
    return absl::ResourceExhaustedError(fmt::format("cannot guard containers: {}", strerrordesc_np(-guard)));
  }
  guards_[engine] = ends[1];
  return absl::OkStatus();
}

void ContainerHost::Remove(ContainerEngine engine, const std::string& name, std::function<void()> done) {
  TryToRemove({engine, name, std::move(done)}, ++last_removal_);
}

void ContainerHost::TryToRemove(Removal removal, int number) {
  ++removal.tries;
  // Without a message where it is gone already: podman's --ignore, and docker's words.
  std::vector<std::string> command = {std::string(ProgramOf(removal.engine)), "rm", "--force"};
  if (removal.engine == ContainerEngine::kPodman) command.insert(command.end(), {"--time=0", "--ignore"});
  command.push_back(removal.name);
  auto call = EngineCall::Start(loop_, std::move(command), environment_, kRemovePatience, nullptr,
                                [this, removal, number](const EngineCall::Result& result) {
                                  const bool gone =
                                      result.exit_code == 0 ||
                                      result.errors.find("No such container") != std::string::npos;
                                  std::string why;
                                  if (result.out_of_time) {
                                    why = fmt::format("no answer in {} s", kRemovePatience.count());
                                  } else if (!gone) {
                                    why = LastLine(result.errors);
                                  }
                                  Removed(removal, number, gone && !result.out_of_time, why);
                                });
  if (call.ok()) {
    removals_[number] = {*std::move(call)};
  } else {
    loop_->Post([this, removal = std::move(removal), number, why = MessageOf(call.status())] {
      Removed(removal, number, false, why);
    });
  }
}

void ContainerHost::Removed(Removal removal, int number, bool gone, const std::string& why) {
  removals_.erase(number);  // and with it the function that calls this
  if (gone) return removal.done();
  spdlog::warn("container {} cannot be removed: {}", removal.name, why);
  if (removal.tries == kMostRemovals) return removal.done();
  removals_[number].pause = loop_->After(kFirstRemovalPause * (1 << (removal.tries - 1)),
                                         [this, removal, number] { TryToRemove(removal, number); });
}

void ContainerHost::ReapMonitor(pid_t monitor) {
  if (monitor <= 0) return;
  monitors_.insert(monitor);
  Reap();
}

void ContainerHost::Reap() {
  loop_->Cancel(std::exchange(reap_timer_, 0));
  std::erase_if(monitors_, [](pid_t monitor) { return waitpid(monitor, nullptr, WNOHANG) != 0; });
  if (!monitors_.empty())
    reap_timer_ = loop_->After(kReapPause, [this] {
      reap_timer_ = 0;
      Reap();
    });
}

}  // namespace winnow

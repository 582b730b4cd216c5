#include "server/host/local_workers.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/status_text.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kQuickDeath{5000};
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{10'000};
constexpr int kOfflineTimeoutSeconds = 600;
constexpr int kMostSlotsOfWorker = 1024;  // per worker

}  // namespace

std::vector<GpuDevice> GpusOfWorker(const std::vector<GpuDevice>& gpus, int index, int count) {
  const auto at = [&](int parts) {
    return gpus.begin() + static_cast<std::ptrdiff_t>(gpus.size()) * std::clamp(parts, 0, count) / count;
  };
  return {at(index - 1), at(index)};
}

std::string LocalWorkerName(int index) { return fmt::format("local-{}", index); }

LocalWorkers::LocalWorkers(LocalWorkersOptions options)
    : options_(std::move(options)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

LocalWorkers::Place LocalWorkers::MakePlace(int index) const {
  Place place;
  place.name = LocalWorkerName(index);
  place.work_dir = options_.state_dir / "workers" / place.name;
  // A separate range for every server and worker of this machine, below the system's ephemeral ports.
  int rendezvous = 10'000 + (options_.port * 41 + (index - 1) * options_.slots) % 20'000;
  place.arguments = {options_.program.string(),
                     "--server",
                     options_.server,
                     "--name",
                     place.name,
                     "--slots",
                     std::to_string(options_.slots),
                     "--work-dir",
                     place.work_dir.string(),
                     "--shared-dir",
                     (options_.state_dir / "shared").string(),
                     "--rendezvous-port",
                     std::to_string(rendezvous),
                     "--offline-timeout",
                     std::to_string(kOfflineTimeoutSeconds)};
  if (!options_.run_as.empty()) {
    place.arguments.insert(place.arguments.end(), {"--run-as", options_.run_as});
  }
  if (options_.warm_trainers >= 0) {
    place.arguments.insert(place.arguments.end(),
                           {"--warm-trainers", std::to_string(options_.warm_trainers)});
  }
  if (options_.count > 1) {
    place.arguments.insert(place.arguments.end(), {"--host-workers", std::to_string(options_.count)});
  }
  if (options_.gpus) {
    place.arguments.insert(place.arguments.end(),
                           {"--gpus", GpuListText(GpusOfWorker(*options_.gpus, index, options_.count))});
  }
  if (!options_.gpu_health_command.empty()) {
    place.arguments.insert(place.arguments.end(), {"--gpu-health-command", options_.gpu_health_command});
  }
  if (!options_.secrets_dir.empty()) {
    place.arguments.insert(place.arguments.end(), {"--secrets-dir", options_.secrets_dir.string()});
  }
  return place;
}

// Trainers of other users can pass the state folder to their own folders; the rest is private to this user.
absl::Status LocalWorkers::LetTrainersThrough() const {
  namespace fs = std::filesystem;
  constexpr fs::perms kPassThrough = fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec;
  const fs::perms closed = fs::perms::group_all | fs::perms::others_all;
  std::error_code error;
  for (fs::directory_iterator entry(options_.state_dir, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_symlink(error)) continue;
    const std::string name = entry->path().filename();
    if (name != "shared" && name != "workers")
      fs::permissions(entry->path(), closed, fs::perm_options::remove, error);
  }
  for (const fs::path& folder : {options_.state_dir, options_.state_dir / "workers"}) {
    if (!error) fs::permissions(folder, kPassThrough, error);
  }
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("cannot set the permissions of the files in {}: {}",
                                                   options_.state_dir.string(), error.message()));
}

absl::StatusOr<std::unique_ptr<LocalWorkers>> LocalWorkers::Start(LocalWorkersOptions options) {
  if (options.count > 0 && access(options.program.c_str(), X_OK) != 0) {
    return absl::FailedPreconditionError(
        fmt::format("{} does not exist; it must be beside winnow-server (or use --local-workers 0)",
                    options.program.string()));
  }
  std::error_code error;
  std::filesystem::create_directories(options.state_dir / "workers", error);
  if (error) {
    return absl::FailedPreconditionError(
        fmt::format("cannot create {}: {}", (options.state_dir / "workers").string(), error.message()));
  }
  std::unique_ptr<LocalWorkers> workers(new LocalWorkers(std::move(options)));
  if (!workers->options_.run_as.empty() && workers->options_.count > 0) {
    absl::Status status = workers->LetTrainersThrough();
    // A worker with all slots of this host would need this many users at a time.
    std::vector<std::string> arguments = workers->MakePlace(1).arguments;
    const int slots = std::min(workers->options_.count * workers->options_.slots, kMostSlotsOfWorker);
    *(std::find(arguments.begin(), arguments.end(), "--slots") + 1) = std::to_string(slots);
    if (status.ok()) status = WorkerProcess::Check(std::move(arguments));
    if (!status.ok()) return status;
  }
  for (int i = 1; i <= workers->options_.count; ++i) {
    Place& place = workers->places_.emplace_back(workers->MakePlace(i));
    workers->AdoptPlace(place);
    if (place.process != nullptr) continue;
    auto process = WorkerProcess::Start(place.arguments, place.work_dir, place.work_dir / "worker.log");
    if (!process.ok()) return process.status();
    place.process = *std::move(process);
    place.started = steady_clock::now();
  }
  // Workers of an earlier server that had more of them.
  for (int i = workers->options_.count + 1;; ++i) {
    Place place = workers->MakePlace(i);
    if (!std::filesystem::exists(place.work_dir)) break;
    place.wanted = false;
    place.process = WorkerProcess::Adopt(place.work_dir);
    if (place.process == nullptr) continue;
    place.process->Signal(SIGTERM);
    workers->places_.push_back(std::move(place));
  }
  workers->thread_ = std::thread([raw = workers.get()] { raw->Run(); });
  return workers;
}

LocalWorkers::~LocalWorkers() {
  if (thread_.joinable()) Stop(milliseconds(0));
  close(wake_);
}

void LocalWorkers::Wake() {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(wake_, &one, sizeof one);
}

void LocalWorkers::Stop(milliseconds patience) {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    kill_at_ = steady_clock::now() + patience;
  }
  Wake();
  if (thread_.joinable()) thread_.join();
}

void LocalWorkers::Kill() {
  {
    MutexLock lock(mutex_);
    killing_ = true;
  }
  Wake();
}

void LocalWorkers::AdoptPlace(Place& place) {
  place.process = WorkerProcess::Adopt(place.work_dir);
  if (place.process == nullptr) return;
  place.started = steady_clock::now();
  if (place.process->StartedWith(place.arguments)) {
    options_.log(fmt::format("worker {} (process {}) is still running", place.name, place.process->pid()));
    return;
  }
  options_.log(fmt::format("worker {} (process {}) was started with other flags; it is replaced", place.name,
                           place.process->pid()));
  place.process->Signal(SIGTERM);
}

void LocalWorkers::StartPlace(Place& place) {
  auto process = WorkerProcess::Start(place.arguments, place.work_dir, place.work_dir / "worker.log");
  place.started = steady_clock::now();
  if (process.ok()) {
    place.process = *std::move(process);
    options_.log(fmt::format("worker {} (process {}) is started", place.name, place.process->pid()));
    return;
  }
  place.pause = std::clamp(place.pause * 2, kFirstPause, kLongestPause);
  place.start_at = place.started + place.pause;
  options_.log(fmt::format("worker {} cannot be started: {}", place.name, MessageOf(process.status())));
}

void LocalWorkers::OnEnd(Place& place) {
  std::string how = place.process->Reap();
  auto lived = steady_clock::now() - place.started;
  place.process = nullptr;
  place.pause =
      lived < kQuickDeath ? std::clamp(place.pause * 2, kFirstPause, kLongestPause) : milliseconds(0);
  place.start_at = steady_clock::now() + place.pause;
  options_.log(fmt::format("worker {} {}; its output is in {}", place.name, how,
                           (place.work_dir / "worker.log").string()));
}

void LocalWorkers::WaitForSomething() {
  std::vector<pollfd> waits = {{wake_, POLLIN, 0}};
  std::optional<Time> next;
  auto earlier = [&](Time time) { next = next ? std::min(*next, time) : time; };
  {
    MutexLock lock(mutex_);
    if (stopping_ && !killing_) earlier(kill_at_);
    for (const Place& place : places_) {
      if (place.process != nullptr) {
        waits.push_back({place.process->descriptor(), POLLIN, 0});
      } else if (place.wanted && !stopping_) {
        earlier(place.start_at);
      }
    }
  }
  int timeout = -1;
  if (next) {
    auto left = std::chrono::ceil<milliseconds>(*next - steady_clock::now()).count();
    timeout = static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
  }
  poll(waits.data(), waits.size(), timeout);
  uint64_t count = 0;
  [[maybe_unused]] ssize_t bytes = read(wake_, &count, sizeof count);
}

void LocalWorkers::Run() {
  bool asked = false;
  bool killed = false;
  while (true) {
    WaitForSomething();
    for (Place& place : places_) {
      if (place.process == nullptr) continue;
      pollfd end = {place.process->descriptor(), POLLIN, 0};
      if (poll(&end, 1, 0) == 1) OnEnd(place);
    }
    bool stopping = false;
    bool killing = false;
    {
      MutexLock lock(mutex_);
      stopping = stopping_;
      killing = killing_ || (stopping_ && steady_clock::now() >= kill_at_);
    }
    if (!stopping) {
      for (Place& place : places_) {
        if (place.wanted && place.process == nullptr && steady_clock::now() >= place.start_at)
          StartPlace(place);
      }
      continue;
    }
    bool some = false;
    for (Place& place : places_) {
      if (place.process == nullptr) continue;
      some = true;
      if (!asked) place.process->Signal(SIGTERM);
      if (killing && !killed) place.process->Signal(SIGKILL);
    }
    asked = true;
    killed = killed || killing;
    if (!some) return;
  }
}

}  // namespace winnow

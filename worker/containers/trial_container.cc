#include "worker/containers/trial_container.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "artifact/files.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// The engine failed, and not the program.
constexpr int kEngineFailed = 125;
constexpr const char* kMonitorsOomFile = "oom";
constexpr int kMostLooked = 10'000;  // entries of a channel's folder among which links are looked for
// Before each variable that apptainer sets in a container.
constexpr std::string_view kApptainerPrefix = "APPTAINERENV_";

std::string NameOfVariable(const std::string& entry) { return entry.substr(0, entry.find('=')); }

// How the program ended: the engine's process exits with 128 + signal for a signal of the program.
ProcessEnd EndOfProgram(ProcessEnd end) {
  if (end.signal == 0 && end.exit_code > 128 && end.exit_code < 128 + NSIG) end.signal = end.exit_code - 128;
  return end;
}

std::optional<pid_t> ReadId(const std::string& file) {
  pid_t id = 0;
  if (file.empty() || !(std::ifstream(file) >> id) || id <= 0) return std::nullopt;
  return id;
}

}  // namespace

std::vector<std::string> ContainerVariables(const v1::Assignment& assignment, bool has_home,
                                            const std::vector<std::string>& environment) {
  constexpr std::array<std::string_view, 15> kContract = {"RANK",
                                                          "WORLD_SIZE",
                                                          "LOCAL_RANK",
                                                          "MASTER_ADDR",
                                                          "MASTER_PORT",
                                                          "PYTHONPATH",
                                                          "PYTHONUNBUFFERED",
                                                          "CUDA_VISIBLE_DEVICES",
                                                          "ROCR_VISIBLE_DEVICES",
                                                          "NVIDIA_VISIBLE_DEVICES",
                                                          "CUDA_DEVICE_ORDER",
                                                          "OMP_NUM_THREADS",
                                                          "OPENBLAS_NUM_THREADS",
                                                          "MKL_NUM_THREADS",
                                                          "NUMEXPR_NUM_THREADS"};
  std::vector<std::string> variables;
  for (const std::string& entry : environment) {
    const std::string name = NameOfVariable(entry);
    const bool of_contract = name.starts_with("SM_") || name.starts_with("WINNOW_") ||
                             std::find(kContract.begin(), kContract.end(), name) != kContract.end() ||
                             (has_home && (name == "HOME" || name == "TMPDIR"));
    const bool of_job = assignment.environment().contains(name) || assignment.secrets().contains(name);
    if (of_contract || of_job) variables.push_back(entry);
  }
  return variables;
}

std::vector<ContainerMount> ChannelMounts(const fs::path& path, const fs::path& views) {
  std::error_code error;
  std::set<std::string> paths = {(fs::exists(path, error) ? path : path.parent_path()).string()};
  const auto [end_of_views, rest] = std::mismatch(views.begin(), views.end(), path.begin(), path.end());
  const bool is_view = !views.empty() && end_of_views == views.end();
  int looked = 0;
  for (fs::recursive_directory_iterator entry(path, error), end;
       is_view && !error && entry != end && ++looked <= kMostLooked; entry.increment(error)) {
    std::error_code no_link;
    const fs::path target =
        entry->is_symlink(no_link) ? fs::read_symlink(entry->path(), no_link) : fs::path();
    if (target.is_absolute()) paths.insert(target.parent_path().string());
  }
  std::vector<ContainerMount> mounts;
  for (const std::string& each : paths) mounts.push_back({each, false});
  return mounts;
}

absl::StatusOr<std::unique_ptr<TrialContainer>> TrialContainer::Make(ContainerHost* host,
                                                                     const v1::Assignment& assignment,
                                                                     Needs needs) {
  const v1::ContainerSpec& spec = assignment.container();
  const std::optional<ContainerEngine> engine = EngineNamed(spec.engine());
  if (!engine.has_value()) return absl::InvalidArgumentError("the container has no engine");
  ContainerPlan plan;
  plan.engine = *engine;
  plan.image = spec.image();
  plan.options.assign(spec.options().begin(), spec.options().end());
  plan.command.assign(assignment.command().begin(), assignment.command().end());
  plan.name = host->NewName();
  plan.labels = host->Labels();
  plan.labels.emplace_back("winnow.assignment", assignment.id());
  plan.variables_file = (host->folder() / (plan.name + ".env")).string();
  if (plan.engine == ContainerEngine::kPodman) {
    plan.program_id_file = (host->folder() / (plan.name + ".pid")).string();
    plan.monitor_id_file = (host->folder() / (plan.name + ".monitor")).string();
  }
  for (ContainerMount& mount : needs.mounts) {
    std::error_code unknown;
    const auto same = [&mount](const ContainerMount& other) { return other.path == mount.path; };
    if (mount.path.empty() || !fs::exists(mount.path, unknown) ||
        std::any_of(plan.mounts.begin(), plan.mounts.end(), same))
      continue;
    if (absl::Status status = CheckMount(mount); !status.ok()) return status;
    plan.mounts.push_back(std::move(mount));
  }
  plan.working_directory = needs.working_directory;
  plan.uid = needs.user != nullptr ? needs.user->uid : geteuid();
  plan.gid = needs.user != nullptr ? needs.user->gid : getegid();
  plan.maps_user = plan.engine == ContainerEngine::kPodman && geteuid() != 0;
  plan.without_rights = needs.user != nullptr;
  plan.control = needs.control && PassesDescriptor(plan.engine);
  plan.cpus = assignment.cpus();
  plan.memory_gib = assignment.memory_gib();
  plan.gpus.assign(assignment.gpus().begin(), assignment.gpus().end());
  plan.gpu_access = FindGpuAccess(plan.engine);
  std::vector<std::string> variables = std::move(needs.variables);
  for (std::string& entry : variables) {
    const std::string name = NameOfVariable(entry);
    if (name == "CUDA_VISIBLE_DEVICES" && !plan.gpus.empty())
      entry = fmt::format("{}={}", name, VisibleGpus(plan.gpus, plan.gpu_access));
    if (entry.find('\n') != std::string::npos && HasMonitor(plan.engine))
      return absl::InvalidArgumentError(fmt::format(
          "the value of {} has a line end, which {} cannot pass to a container; expected one line", name,
          ProgramOf(plan.engine)));
  }
  if (absl::Status status = host->Guard(plan.engine); !status.ok()) return status;
  std::unique_ptr<TrialContainer> container(new TrialContainer(host, std::move(plan), std::move(variables)));
  if (absl::Status status = container->WriteVariables(); !status.ok()) return status;
  return container;
}

TrialContainer::~TrialContainer() {
  *alive_ = false;
  if (is_apart()) {
    const std::optional<pid_t> monitor = ReadId(plan_.monitor_id_file);
    if (!is_gone_)
      host_->Remove(plan_.engine, plan_.name,
                    [host = host_, monitor] { host->ReapMonitor(monitor.value_or(0)); });
  }
  RemoveFiles();
}

// Not on the command line, which everybody on the host may read.
absl::Status TrialContainer::WriteVariables() const {
  if (!is_apart()) return absl::OkStatus();
  absl::StatusOr<OpenFile> file = OpenFile::Open(plan_.variables_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  absl::Status status = file.status();
  if (status.ok()) status = file->Write(fmt::format("{}\n", fmt::join(variables_, "\n")));
  if (status.ok()) return status;
  return absl::ResourceExhaustedError(status.message());
}

void TrialContainer::RemoveFiles() const {
  std::error_code ignored;
  for (const std::string& file : {plan_.variables_file, plan_.program_id_file, plan_.monitor_id_file}) {
    if (!file.empty()) fs::remove(file, ignored);
  }
  fs::remove(host_->folder() / kMonitorsOomFile, ignored);
}

std::vector<std::string> TrialContainer::Environment() const {
  std::vector<std::string> environment = host_->environment();
  if (is_apart()) return environment;
  for (const std::string& entry : variables_) environment.push_back(std::string(kApptainerPrefix) + entry);
  // By these the worker recognises its trial's processes.
  for (const std::string& entry : variables_) {
    if (entry.starts_with("WINNOW_ASSIGNMENT=") || entry.starts_with("WINNOW_WORK_DIR="))
      environment.push_back(entry);
  }
  return environment;
}

std::optional<pid_t> TrialContainer::program() const { return ReadId(plan_.program_id_file); }

void TrialContainer::ProcessEnded(const ProcessEnd& end, bool stopped,
                                  std::function<void(const ProcessEnd&)> gone) {
  const ProcessEnd program = EndOfProgram(end);
  if (!is_apart()) {
    is_gone_ = true;
    return gone(program);
  }
  if (end.exit_code == kEngineFailed) host_->images().Forget(plan_.image);
  const auto finish = [this, program, gone = std::move(gone)] {
    is_gone_ = true;
    host_->ReapMonitor(ReadId(plan_.monitor_id_file).value_or(0));
    const auto last = gone;  // may delete this
    last(program);
  };
  // A process that ends by itself has removed its container.
  if (!stopped && end.signal == 0 && end.exit_code != kEngineFailed) return finish();
  host_->Remove(plan_.engine, plan_.name, [alive = alive_, finish] {
    if (*alive) finish();
  });
}

}  // namespace winnow

#include "worker/containers/container_command.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;
// As of trainers without a container: the kernel ends them before their worker.
constexpr int kOomScore = 500;

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool Exists(const std::string& root, const char* path) {
  std::error_code ignored;
  return fs::exists(fs::path(root) / path, ignored);
}

bool HasCdi(const std::string& root) {
  for (const char* folder : {"etc/cdi", "run/cdi"}) {
    std::error_code error;
    for (fs::directory_iterator entry(fs::path(root) / folder, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().filename().string().starts_with("nvidia")) return true;
    }
  }
  return false;
}

void AddGpus(const ContainerPlan& plan, std::vector<std::string>* words) {
  if (plan.gpus.empty()) return;
  switch (plan.gpu_access) {
    case GpuAccess::kNone:
      return;
    case GpuAccess::kCdi:
      for (const std::string& id : plan.gpus) words->push_back("--device=nvidia.com/gpu=" + id);
      return;
    case GpuAccess::kGpus:
      // One value of a list with commas: quotes keep the ids together.
      words->push_back(fmt::format("--gpus=\"device={}\"", fmt::join(plan.gpus, ",")));
      return;
    case GpuAccess::kAmd:
      for (const char* word : {"--device=/dev/kfd", "--device=/dev/dri"}) words->push_back(word);
      return;
    case GpuAccess::kNvidia:
      words->push_back("--nv");
      return;
    case GpuAccess::kRocm:
      words->push_back("--rocm");
      return;
  }
}

std::vector<std::string> ApptainerCommand(const ContainerPlan& plan) {
  std::vector<std::string> words = {"apptainer", "exec", "--cleanenv", "--no-home"};
  for (const ContainerMount& mount : plan.mounts)
    words.push_back(fmt::format("--bind={0}:{0}{1}", mount.path, mount.writable ? "" : ":ro"));
  if (!plan.working_directory.empty()) words.push_back("--pwd=" + plan.working_directory);
  AddGpus(plan, &words);
  words.insert(words.end(), plan.options.begin(), plan.options.end());
  words.push_back(plan.image);
  words.insert(words.end(), plan.command.begin(), plan.command.end());
  return words;
}

}  // namespace

GpuAccess FindGpuAccess(ContainerEngine engine, const std::string& root) {
  const bool nvidia = Exists(root, "dev/nvidiactl");
  const bool amd = Exists(root, "dev/kfd");
  if (engine == ContainerEngine::kApptainer)
    return nvidia ? GpuAccess::kNvidia : amd ? GpuAccess::kRocm : GpuAccess::kNone;
  if (nvidia && HasCdi(root)) return GpuAccess::kCdi;
  if (nvidia && engine == ContainerEngine::kDocker) return GpuAccess::kGpus;
  return amd && !nvidia ? GpuAccess::kAmd : GpuAccess::kNone;
}

std::string VisibleGpus(const std::vector<std::string>& ids, GpuAccess access) {
  const bool numbered = std::all_of(ids.begin(), ids.end(), IsNumber);
  if ((access != GpuAccess::kCdi && access != GpuAccess::kGpus) || !numbered)
    return fmt::format("{}", fmt::join(ids, ","));
  std::vector<size_t> own(ids.size());
  for (size_t i = 0; i < own.size(); ++i) own[i] = i;
  return fmt::format("{}", fmt::join(own, ","));
}

std::vector<std::string> ContainerCommand(const ContainerPlan& plan) {
  if (plan.engine == ContainerEngine::kApptainer) return ApptainerCommand(plan);
  const bool podman = plan.engine == ContainerEngine::kPodman;
  std::vector<std::string> words = {std::string(ProgramOf(plan.engine))};
  if (podman) words.push_back("--log-level=error");
  for (const char* word : {"run", "--rm", "--pull=never", "--network=host", "--pid=host", "--ipc=host"})
    words.push_back(word);
  // Its output goes to the worker only, and podman's without passing through anything.
  words.push_back(podman ? "--log-driver=passthrough" : "--log-driver=none");
  words.push_back("--name=" + plan.name);
  words.push_back("--stop-timeout=0");  // where it is removed, its time is over
  for (const auto& [name, value] : plan.labels) words.push_back(fmt::format("--label={}={}", name, value));
  words.push_back("--env-file=" + plan.variables_file);
  if (!plan.program_id_file.empty()) words.push_back("--pidfile=" + plan.program_id_file);
  if (!plan.monitor_id_file.empty()) words.push_back("--conmon-pidfile=" + plan.monitor_id_file);
  for (const ContainerMount& mount : plan.mounts) {
    words.push_back(fmt::format("--mount=type=bind,source={0},destination={0}{1}", mount.path,
                                mount.writable ? "" : ",readonly"));
  }
  if (!plan.working_directory.empty()) words.push_back("--workdir=" + plan.working_directory);
  if (plan.maps_user) words.push_back("--userns=keep-id");
  words.push_back(fmt::format("--user={}:{}", plan.uid, plan.gid));
  if (plan.without_rights) {
    words.push_back("--cap-drop=all");
    words.push_back("--security-opt=no-new-privileges");
  }
  if (plan.cpus > 0) words.push_back(fmt::format("--cpus={}", plan.cpus));
  if (plan.memory_gib > 0) {
    const auto bytes = static_cast<int64_t>(plan.memory_gib * kBytesPerGib);
    words.push_back(fmt::format("--memory={}b", bytes));
    words.push_back(fmt::format("--memory-swap={}b", bytes));
  }
  words.push_back(fmt::format("--oom-score-adj={}", kOomScore));
  if (plan.control) words.push_back("--preserve-fds=1");
  AddGpus(plan, &words);
  words.push_back("--entrypoint=");
  words.insert(words.end(), plan.options.begin(), plan.options.end());
  words.push_back(plan.image);
  words.insert(words.end(), plan.command.begin(), plan.command.end());
  return words;
}

absl::Status CheckMount(const ContainerMount& mount) {
  if (mount.path.find_first_of(",:\n") == std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("the container cannot have \"{}\"; expected a path without a comma, a colon and a line end",
                  mount.path));
}

bool IsHarmless(std::string_view option) {
  constexpr std::array<std::string_view, 6> kHarmless = {
      "--cap-drop=", "--entrypoint=", "--hostname=", "--read-only=", "--stop-signal=", "--ulimit="};
  return option == "--read-only" ||
         std::any_of(kHarmless.begin(), kHarmless.end(),
                     [option](std::string_view known) { return option.starts_with(known); });
}

}  // namespace winnow

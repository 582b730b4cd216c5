#include "worker/containers/container_engine.h"

#include <unistd.h>

#include <algorithm>

namespace winnow {

std::string_view ProgramOf(ContainerEngine engine) {
  switch (engine) {
    case ContainerEngine::kPodman:
      return "podman";
    case ContainerEngine::kDocker:
      return "docker";
    case ContainerEngine::kApptainer:
      return "apptainer";
  }
  return "";
}

std::optional<ContainerEngine> EngineNamed(std::string_view name) {
  for (const ContainerEngine engine : kContainerEngines) {
    if (ProgramOf(engine) == name) return engine;
  }
  return std::nullopt;
}

bool HasMonitor(ContainerEngine engine) { return engine != ContainerEngine::kApptainer; }

bool PassesDescriptor(ContainerEngine engine) { return engine == ContainerEngine::kPodman; }

std::string PathOf(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    if (entry.starts_with("PATH=")) return entry.substr(5);
  }
  return "";
}

bool IsInstalled(ContainerEngine engine, std::string_view path) {
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string program =
        std::string(path.substr(begin, end - begin)) + "/" + std::string(ProgramOf(engine));
    if (end > begin && access(program.c_str(), X_OK) == 0) return true;
    begin = end + 1;
  }
  return false;
}

std::vector<std::string> EngineEnvironment(const std::vector<std::string>& inherited) {
  std::vector<std::string> environment = inherited;
  std::erase_if(environment, [](const std::string& entry) {
    return entry.starts_with("WINNOW_TOKEN") || entry.starts_with("WINNOW_TLS_") ||
           entry.starts_with("WINNOW_SERVER=") || entry.starts_with("WINNOW_ASSIGNMENT=") ||
           entry.starts_with("WINNOW_WORK_DIR=");
  });
  return environment;
}

}  // namespace winnow

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// A program that runs containers.
enum class ContainerEngine { kPodman, kDocker, kApptainer };

// In the order in which a worker looks for one.
inline constexpr ContainerEngine kContainerEngines[] = {ContainerEngine::kPodman, ContainerEngine::kDocker,
                                                        ContainerEngine::kApptainer};

// The name of its program, as in `trainer.container.engine`.
std::string_view ProgramOf(ContainerEngine engine);
// Absent: no engine has this name.
std::optional<ContainerEngine> EngineNamed(std::string_view name);

// Whether its containers are children of a service or a monitor, and not of the process that runs them: they
// then outlive that process.
bool HasMonitor(ContainerEngine engine);
// Whether a container inherits descriptor 3 of the process that runs it.
bool PassesDescriptor(ContainerEngine engine);

// The value of PATH in `environment`, a list of "NAME=value"; empty: it has none.
std::string PathOf(const std::vector<std::string>& environment);
// Whether one of the folders of `path` has the engine's program.
bool IsInstalled(ContainerEngine engine, std::string_view path);

// What the engine itself is started with: the worker's environment without the address and the token of the
// server. Nothing that a job sets is in it, because engines and the dynamic linker obey variables.
std::vector<std::string> EngineEnvironment(const std::vector<std::string>& inherited);

}  // namespace winnow

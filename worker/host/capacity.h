#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace winnow {

// Resources of this host that the worker and its trainers may use.
struct HostCapacity {
  double cpus = 0;        // processors of the affinity mask, limited by the CPU quotas of the control groups
  double memory_gib = 0;  // memory of the machine or the lowest limit of the control groups; 0: unknown
};

// `proc` is /proc; a test passes its own.
HostCapacity ReadHostCapacity(const std::filesystem::path& proc = "/proc");

// Adds "NAME" or "NAME=VALUE" to `labels`; a later value replaces an earlier one. Returns the error, or "".
std::string AddLabel(const std::string& text, std::map<std::string, std::string>* labels);

}  // namespace winnow

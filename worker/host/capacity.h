#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace winnow {

// What this host lets the worker and its trainers use.
struct HostCapacity {
  double cpus = 0;        // of the processors it may run on, as many as its control groups allow
  double memory_gib = 0;  // the machine's, or the least limit of its control groups; 0: not known
};

// `proc` is /proc; a test brings its own.
HostCapacity ReadHostCapacity(const std::filesystem::path& proc = "/proc");

// How many nvidia0, nvidia1, … are in `devices`, which is /dev.
int CountGpus(const std::filesystem::path& devices = "/dev");

// Adds "NAME" or "NAME=VALUE" to `labels`; a later value replaces an earlier one. Empty, or what is wrong.
std::string AddLabel(const std::string& text, std::map<std::string, std::string>* labels);

}  // namespace winnow

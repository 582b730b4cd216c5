#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/host/pools/pool.h"
#include "server/host/pools/pool_settings.h"

namespace winnow {

// A pool of the server's configuration.
struct DeclaredPool {
  PoolSettings settings;
  std::shared_ptr<Pool> engine;
};

// A kind of pools: its name in `kind`, the field with its own settings, and how it is made.
struct PoolKind {
  const char* name;
  const char* field;
  MakePool* make;
};

// Reads the pools' file: {"pools": [...]} (docs/pools.md). `folder`: for the pools' own files; `prefix`: of
// the names of all allocations of this server, "winnow-" and 8 hexadecimal digits. INVALID_ARGUMENT: every
// error, a line each.
absl::StatusOr<std::vector<DeclaredPool>> ReadPoolsFile(const std::string& file,
                                                        const std::filesystem::path& folder,
                                                        const std::string& prefix,
                                                        const std::vector<PoolKind>& kinds);

// The name before "-NUMBER" of a pool's allocations.
std::string AllocationPrefix(const std::string& prefix, const std::string& pool);

}  // namespace winnow

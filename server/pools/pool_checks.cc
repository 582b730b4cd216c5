#include "server/pools/pool_checks.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "store/allocations.h"

namespace winnow {

std::string PoolWithoutServer(const std::vector<DeclaredPool>& pools, const std::string& listen) {
  for (const DeclaredPool& pool : pools) {
    const std::vector<std::string>& arguments = pool.settings.worker_arguments;
    const bool given = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
      return argument == "--server" || argument.starts_with("--server=");
    });
    const bool is_here = pool.settings.kind == "LOCAL";
    if (given || is_here || !pool.settings.server.empty()) continue;
    return fmt::format(
        "worker.server of pool {} is missing: {} is no address by which nodes reach this server",
        pool.settings.name, listen);
  }
  return "";
}

absl::Status WarnOfOtherPools(Database& database, const std::vector<DeclaredPool>& pools) {
  const absl::StatusOr<std::vector<AllocationRow>> open = AllocationTable(database).Open();
  if (!open.ok()) return open.status();
  for (const AllocationRow& row : *open) {
    const bool declared = std::any_of(pools.begin(), pools.end(), [&row](const DeclaredPool& pool) {
      return pool.settings.name == row.pool;
    });
    if (declared) continue;
    spdlog::warn(
        "{} of pool {} has not ended, but --pools does not declare that pool: its nodes are not given back. "
        "Declare the pool again, or end {} at its engine",
        row.name, row.pool, row.engine_id.empty() ? "it" : row.engine_id);
  }
  return absl::OkStatus();
}

}  // namespace winnow

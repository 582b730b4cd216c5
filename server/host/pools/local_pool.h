#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/host/pools/pilot_pool.h"
#include "server/host/pools/pool_settings.h"

namespace winnow {

// This machine as an engine: a "node" is a process group of it, with the worker. Nothing waits, and nothing
// but the pool's max_nodes limits it. What runs is found by the command lines of this machine's processes,
// and so also after the server was killed.
class LocalPool final : public PilotPool {
 public:
  static std::unique_ptr<Pool> Make(const PoolSettings& settings, const PoolPlace& place,
                                    const nlohmann::json& own, PoolProblems& problems);

  absl::StatusOr<std::vector<std::string>> Submit(const std::vector<AllocationRequest>& batch) override;
  absl::StatusOr<std::vector<Allocation>> List(const std::vector<AllocationKey>& allocations) override;
  absl::Status Cancel(const std::vector<AllocationKey>& allocations) override;
  std::string Render(const std::vector<AllocationRequest>& batch) const override;

 private:
  explicit LocalPool(PilotFiles files) : PilotPool(std::move(files)) {}
  void Reap();
  // The leaders of the process groups of its nodes, by the allocation's name.
  std::map<std::string, std::vector<pid_t>> Running(const std::vector<AllocationKey>& allocations) const;

  std::string scratch_;
  std::vector<pid_t> children_;  // that this process has started and that have not been waited for
};

}  // namespace winnow

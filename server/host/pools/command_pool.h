#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/host/pools/pilot_pool.h"
#include "server/host/pools/pool_settings.h"
#include "server/host/pools/program.h"

namespace winnow {

// Any engine, by three programs of the user (docs/pools.md says what each gets and prints).
class CommandPool final : public PilotPool {
 public:
  static std::unique_ptr<Pool> Make(const PoolSettings& settings, const PoolPlace& place,
                                    const nlohmann::json& own, PoolProblems& problems);

  absl::StatusOr<std::vector<std::string>> Submit(const std::vector<AllocationRequest>& batch) override;
  absl::StatusOr<std::vector<Allocation>> List(const std::vector<AllocationKey>& allocations) override;
  absl::Status Cancel(const std::vector<AllocationKey>& allocations) override;
  void Stop() override { stopping_ = true; }
  std::string Render(const std::vector<AllocationRequest>& batch) const override;

 private:
  explicit CommandPool(PilotFiles files) : PilotPool(std::move(files)) {}
  std::vector<std::string> Variables(const AllocationRequest& request) const;

  std::vector<std::string> submit_, list_, cancel_;
  std::string scratch_;
  std::chrono::seconds patience_{45};
  std::atomic<bool> stopping_ = false;
};

}  // namespace winnow

#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/host/pools/pilot_files.h"
#include "server/host/pools/pool_settings.h"
#include "server/host/pools/program.h"

namespace winnow {

// Any engine, by three programs of the user (docs/pools.md says what each gets and prints).
class CommandPool final : public Pool {
 public:
  static std::unique_ptr<Pool> Make(const PoolSettings& settings, const PoolPlace& place,
                                    const nlohmann::json& own, PoolProblems& problems);

  absl::StatusOr<std::vector<std::string>> Submit(const std::vector<AllocationRequest>& batch) override;
  absl::StatusOr<std::vector<Allocation>> List(const std::vector<AllocationKey>& allocations) override;
  absl::Status Cancel(const std::vector<AllocationKey>& allocations) override;
  absl::Status Forget(const AllocationKey& allocation) override { return files_.Remove(allocation.name); }
  std::string LastWords(const AllocationKey& allocation) override {
    return files_.LastWords(allocation.name);
  }
  std::string Render(const std::vector<AllocationRequest>& batch) const override;

 private:
  explicit CommandPool(PilotFiles files) : files_(std::move(files)) {}
  std::vector<std::string> Variables(const AllocationRequest& request) const;

  PilotFiles files_;
  std::vector<std::string> submit_, list_, cancel_;
  std::string scratch_;
  std::chrono::seconds patience_{45};
};

}  // namespace winnow

#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/host/pools/pilot_pool.h"
#include "server/host/pools/pool_settings.h"
#include "server/host/pools/slurm_calls.h"

namespace winnow {

// Slurm, by its commands or its REST service. An allocation is a job of its name; several of one node are an
// array whose indices are their numbers. Accounting is not needed.
class SlurmPool final : public PilotPool {
 public:
  static std::unique_ptr<Pool> Make(const PoolSettings& settings, const PoolPlace& place,
                                    const nlohmann::json& own, PoolProblems& problems);

  int most_in_batch() const override { return arrays_ ? kMostInArray : 1; }
  absl::StatusOr<std::vector<std::string>> Submit(const std::vector<AllocationRequest>& batch) override;
  absl::StatusOr<std::vector<Allocation>> List(const std::vector<AllocationKey>& allocations) override;
  absl::Status Cancel(const std::vector<AllocationKey>& allocations) override;
  void Stop() override { calls_->Stop(); }
  std::string Render(const std::vector<AllocationRequest>& batch) const override;

 private:
  static constexpr int kMostInArray = 100;

  explicit SlurmPool(PilotFiles files) : PilotPool(std::move(files)) {}
  SlurmSubmission SubmissionOf(const std::vector<AllocationRequest>& batch) const;
  std::string Script(const std::vector<AllocationRequest>& batch) const;

  std::unique_ptr<SlurmCalls> calls_;
  std::vector<std::string> srun_arguments_;
  std::string scratch_;  // a directory on each node
  bool arrays_ = true;
};

// The allocation that the job is. Unknown states count as running. For tests.
Allocation ReadSlurmJob(const SlurmJob& job);

}  // namespace winnow

#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/host/pools/pilot_files.h"
#include "server/host/pools/pool_settings.h"
#include "server/host/pools/program.h"

namespace winnow {

// Slurm, by the commands sbatch, squeue and scancel (22.05 or newer). An allocation is a job of its name;
// several of one node are an array whose indices are their numbers. One text squeue asks for all; accounting
// is not needed.
class SlurmPool final : public Pool {
 public:
  static std::unique_ptr<Pool> Make(const PoolSettings& settings, const PoolPlace& place,
                                    const nlohmann::json& own, PoolProblems& problems);

  int most_in_batch() const override { return arrays_ ? kMostInArray : 1; }
  absl::StatusOr<std::vector<std::string>> Submit(const std::vector<AllocationRequest>& batch) override;
  absl::StatusOr<std::vector<Allocation>> List(const std::vector<AllocationKey>& allocations) override;
  absl::Status Cancel(const std::vector<AllocationKey>& allocations) override;
  absl::Status Forget(const AllocationKey& allocation) override { return files_.Remove(allocation.name); }
  std::string LastWords(const AllocationKey& allocation) override {
    return files_.LastWords(allocation.name);
  }
  std::string Render(const std::vector<AllocationRequest>& batch) const override;

 private:
  static constexpr int kMostInArray = 100;

  SlurmPool(PilotFiles files) : files_(std::move(files)) {}
  std::vector<std::string> SbatchCommand(const std::vector<AllocationRequest>& batch) const;
  std::string Script(const std::vector<AllocationRequest>& batch) const;
  absl::StatusOr<ProgramResult> Run(std::vector<std::string> command, const std::string& input = "") const;

  PilotFiles files_;
  std::string bin_;  // directory of the commands; "": they are in PATH
  std::string partition_, account_, qos_;
  std::vector<std::string> arguments_;  // of sbatch, verbatim
  std::vector<std::string> srun_arguments_;
  std::string scratch_;  // a directory on each node
  bool arrays_ = true;
};

// What squeue prints with the format that SlurmPool asks for; lines that are none are left out. For tests.
std::vector<Allocation> ReadSqueue(const std::string& output);
// What a failed command's words mean, see Pool.
absl::Status SlurmError(const ProgramResult& result);

}  // namespace winnow

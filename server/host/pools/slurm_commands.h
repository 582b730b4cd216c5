#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "server/host/pools/fields.h"
#include "server/host/pools/program.h"
#include "server/host/pools/slurm_calls.h"

namespace winnow {

// Slurm by the commands sbatch, squeue and scancel (22.05 or newer). One text squeue asks for all; accounting
// is not needed.
class SlurmCommands final : public SlurmCalls {
 public:
  // Reads its settings from the pool's `slurm`; `fields` has then their errors.
  explicit SlurmCommands(Fields& fields);

  absl::StatusOr<std::string> Submit(const SlurmSubmission& submission) override;
  absl::StatusOr<std::vector<SlurmJob>> Jobs(const std::vector<std::string>& names,
                                             const std::vector<std::string>& ids) override;
  absl::Status Cancel(const std::vector<std::string>& ids) override;
  void Stop() override { stopping_ = true; }
  std::string Render(const SlurmSubmission& submission) const override;

 private:
  std::vector<std::string> SbatchCommand(const SlurmSubmission& submission) const;
  absl::StatusOr<ProgramResult> Run(std::vector<std::string> command, const std::string& input = "",
                                    const std::string& enough = "",
                                    const std::atomic<bool>* stop = nullptr) const;

  std::string partition_, account_, qos_;
  std::vector<std::string> arguments_;  // of sbatch, verbatim
  std::string bin_;                     // directory of the commands; "": they are in PATH
  std::atomic<bool> stopping_ = false;
};

// What squeue prints with the format that SlurmCommands asks for; lines that are none are left out. For
// tests.
std::vector<SlurmJob> ReadSqueue(const std::string& output);

}  // namespace winnow

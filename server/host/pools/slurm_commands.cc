#include "server/host/pools/slurm_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "absl/strings/str_split.h"
#include "server/host/pools/pilot_files.h"

namespace winnow {
namespace {

constexpr std::chrono::seconds kSlurmPatience{45};
// Job id, state, reason, nodes, job name, array index.
constexpr char kSqueueFormat[] = "%i|%T|%r|%N|%j|%K";
// sbatch asks again for two minutes where a limit such as MaxJobCount is reached. Nobody waits for it here.
constexpr char kSbatchAsksAgain[] = "sleeping and retrying";
constexpr size_t kMostNamesBytes = 60'000;  // of a command line

absl::Status ErrorOf(const ProgramResult& result) { return SlurmError(result.Words(), result.errors); }

}  // namespace

std::vector<SlurmJob> ReadSqueue(const std::string& output) {
  std::vector<SlurmJob> jobs;
  const std::vector<std::string> lines = absl::StrSplit(output, '\n');
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = absl::StrSplit(line, '|');
    if (parts.size() == 6) jobs.push_back({parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]});
  }
  return jobs;
}

SlurmCommands::SlurmCommands(Fields& fields)
    : partition_(fields.Text("partition")),
      account_(fields.Text("account")),
      qos_(fields.Text("qos")),
      arguments_(fields.Texts("arguments")),
      bin_(fields.Text("bin_dir")) {
  for (const std::string& argument : arguments_) {
    for (const char* ours :
         {"--job-name", "-J", "--array", "-a", "--parsable", "--nodes", "-N", "--output", "-o"}) {
      if (argument == ours || argument.starts_with(std::string(ours) + "=")) {
        fields.Problem(
            "arguments",
            fmt::format("has \"{}\", which the server sets itself; expected other options", argument));
      }
    }
  }
}

absl::StatusOr<ProgramResult> SlurmCommands::Run(std::vector<std::string> command, const std::string& input,
                                                 const std::string& enough,
                                                 const std::atomic<bool>* stop) const {
  if (!bin_.empty()) command[0] = bin_ + "/" + command[0];
  return RunProgram(command, input, kSlurmPatience, {}, enough, stop);
}

std::vector<std::string> SlurmCommands::SbatchCommand(const SlurmSubmission& submission) const {
  const WorkerShape& shape = submission.shape;
  std::vector<std::string> command = {"sbatch",           "--parsable",          "--no-requeue",
                                      "--comment=winnow", "--ntasks-per-node=1", "--output=/dev/null"};
  command.push_back("--job-name=" + submission.name);
  if (!submission.array.empty()) command.push_back("--array=" + submission.array);
  command.push_back(fmt::format("--nodes={}", submission.nodes));
  if (submission.nodes > 1) command.push_back("--no-kill");
  if (shape.cpus > 0) command.push_back(fmt::format("--cpus-per-task={}", SlurmProcessors(shape.cpus)));
  if (shape.memory_gib > 0) command.push_back(fmt::format("--mem={}", SlurmMegabytes(shape.memory_gib)));
  if (shape.gpus > 0) command.push_back(fmt::format("--gres=gpu:{}", shape.gpus));
  if (submission.time_limit.count() > 0)
    command.push_back(fmt::format("--time={}", SlurmMinutes(submission.time_limit)));
  if (!partition_.empty()) command.push_back("--partition=" + partition_);
  if (!account_.empty()) command.push_back("--account=" + account_);
  if (!qos_.empty()) command.push_back("--qos=" + qos_);
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  return command;
}

absl::StatusOr<std::string> SlurmCommands::Submit(const SlurmSubmission& submission) {
  const absl::StatusOr<ProgramResult> result =
      Run(SbatchCommand(submission), submission.script, kSbatchAsksAgain);
  if (!result.ok()) return result.status();
  if (result->exit_code != 0) return ErrorOf(*result);
  // "ID" or "ID;CLUSTER".
  std::string id = result->output.substr(0, result->output.find_first_of(";\n"));
  if (id.empty() || id.find_first_not_of("0123456789") != std::string::npos)
    return absl::UnavailableError(fmt::format("sbatch printed no job id, but: {}", result->Words()));
  return id;
}

absl::StatusOr<std::vector<SlurmJob>> SlurmCommands::Jobs(const std::vector<std::string>& names,
                                                          const std::vector<std::string>& /*ids*/) {
  std::vector<std::string> command = {"squeue", "--noheader", "--states=all", "--array",
                                      fmt::format("--format={}", kSqueueFormat)};
  const std::string list = fmt::format("{}", fmt::join(names, ","));
  if (list.size() < kMostNamesBytes) command.push_back("--name=" + list);
  const absl::StatusOr<ProgramResult> result = Run(std::move(command), "", "", &stopping_);
  if (!result.ok()) return result.status();
  if (result->exit_code != 0) return absl::UnavailableError(result->Words());
  return ReadSqueue(result->output);
}

absl::Status SlurmCommands::Cancel(const std::vector<std::string>& ids) {
  std::vector<std::string> command = {"scancel", "--quiet"};
  command.insert(command.end(), ids.begin(), ids.end());
  const absl::StatusOr<ProgramResult> result = Run(std::move(command));
  if (!result.ok()) return result.status();
  const bool gone = result->errors.find("Invalid job id") != std::string::npos ||
                    result->errors.find("already completing") != std::string::npos;
  return result->exit_code == 0 || gone ? absl::OkStatus() : ErrorOf(*result);
}

std::string SlurmCommands::Render(const SlurmSubmission& submission) const {
  std::string command;
  for (const std::string& argument : SbatchCommand(submission)) {
    const bool plain =
        argument.find_first_of(" \t\"'$&|;<>()*?[]\\`~#!") == std::string::npos && !argument.empty();
    command += (command.empty() ? "" : " ") + (plain ? argument : ShellQuoted(argument));
  }
  return fmt::format("{} <<'END'\n{}END\n", command, submission.script);
}

}  // namespace winnow

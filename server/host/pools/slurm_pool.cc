#include "server/host/pools/slurm_pool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "server/host/pools/fields.h"

namespace winnow {
namespace {

constexpr std::chrono::seconds kSlurmPatience{45};
// Job id, state, reason, nodes, job name, array index.
constexpr char kSqueueFormat[] = "%i|%T|%r|%N|%j|%K";
constexpr size_t kMostNamesBytes = 60'000;  // of a command line

// Slurm allows indices below 1001 (MaxArraySize). So an array is named by the block of numbers in which its
// first one is, and its indices count from the block's first number: at most kNumbersOfBlock + kMostInArray.
constexpr int64_t kNumbersOfBlock = 500;

std::string BaseOf(const std::string& name) { return name.substr(0, name.rfind('-')); }

std::string ArrayName(const std::string& name, int64_t block) {
  return fmt::format("{}-{}x", BaseOf(name), block);
}

int64_t BlockOf(int64_t number) { return number / kNumbersOfBlock; }

// The names of the jobs that the allocation may be, or be in.
std::vector<std::string> JobNames(const std::string& name) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(name.substr(name.rfind('-') + 1), &number)) return {name};
  std::vector<std::string> names = {name, ArrayName(name, BlockOf(number))};
  if (BlockOf(number) > 0) names.push_back(ArrayName(name, BlockOf(number) - 1));
  return names;
}

// The allocation that is the job, or the element of that index of it.
std::string AllocationName(const std::string& job, const std::string& index) {
  int64_t of_array = 0, block = 0;
  if (!absl::SimpleAtoi(index, &of_array) || !job.ends_with('x')) return job;
  const size_t dash = job.rfind('-');
  if (!absl::SimpleAtoi(job.substr(dash + 1, job.size() - dash - 2), &block)) return job;
  return fmt::format("{}-{}", job.substr(0, dash), block * kNumbersOfBlock + of_array);
}

bool Contains(const std::string& text, std::initializer_list<std::string_view> any) {
  return std::any_of(any.begin(), any.end(),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

bool IsOver(std::string_view state) {
  static constexpr std::array<std::string_view, 10> kOver = {
      "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE",      "FAILED",
      "NODE_FAIL", "PREEMPTED", "TIMEOUT",   "OUT_OF_MEMORY", "REVOKED"};
  return std::find(kOver.begin(), kOver.end(), state) != kOver.end();
}

bool Waits(std::string_view state) {
  static constexpr std::array<std::string_view, 6> kWaits = {"PENDING",      "CONFIGURING",  "REQUEUED",
                                                             "REQUEUE_HOLD", "SPECIAL_EXIT", "STOPPED"};
  return std::find(kWaits.begin(), kWaits.end(), state) != kWaits.end();
}

std::string_view InWords(std::string_view code) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"Resources", "waits for free nodes"},
      {"Priority", "jobs of higher priority come first"},
      {"Dependency", "waits for another job"},
      {"PartitionDown", "the partition is down"},
      {"PartitionNodeLimit", "the partition allows fewer nodes"},
      {"PartitionTimeLimit", "the partition allows less time"},
      {"ReqNodeNotAvail", "nodes that it needs are not available"},
      {"BadConstraints", "no node has what it asks for"},
      {"JobHeldUser", "held by a user"},
      {"JobHeldAdmin", "held by an administrator"},
      {"BeginTime", "its start time has not come"},
      {"BOOT_FAIL", "a node did not boot"},
      {"CANCELLED", "cancelled"},
      {"COMPLETED", "its workers have left"},
      {"DEADLINE", "its deadline was reached"},
      {"FAILED", "a worker or the script failed"},
      {"NODE_FAIL", "a node failed"},
      {"PREEMPTED", "preempted by another job"},
      {"TIMEOUT", "its time limit was reached"},
      {"OUT_OF_MEMORY", "it used more memory than it asked for"},
      {"REQUEUED", "requeued"},
      {"SUSPENDED", "suspended"},
      {"COMPLETING", "its nodes are being freed"}};
  for (const auto& [name, words] : kWords) {
    if (name == code) return words;
  }
  return "";
}

std::string Said(std::string_view code) {
  const std::string_view words = InWords(code);
  return words.empty() ? std::string(code) : fmt::format("{}: {}", code, words);
}

}  // namespace

std::vector<Allocation> ReadSqueue(const std::string& output) {
  std::vector<Allocation> allocations;
  const std::vector<std::string> lines = absl::StrSplit(output, '\n');
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = absl::StrSplit(line, '|');
    if (parts.size() != 6) continue;
    const std::string& state = parts[1];
    const std::string& reason = parts[2];
    Allocation allocation;
    allocation.id = parts[0];
    allocation.name = AllocationName(parts[4], parts[5]);
    allocation.state = IsOver(state)  ? Allocation::State::kEnded
                       : Waits(state) ? Allocation::State::kQueued
                                      : Allocation::State::kRunning;
    const bool more =
        !reason.empty() && reason != "None" && reason != state && !Contains(reason, {"NonZeroExit"});
    if (allocation.state == Allocation::State::kQueued) {
      allocation.reason = Said(more ? std::string_view(reason) : std::string_view(state));
    } else if (state != "RUNNING") {
      allocation.reason = Said(state);
      if (more && allocation.state == Allocation::State::kEnded && reason != "TimeLimit")
        allocation.reason += fmt::format(" ({})", reason);
    }
    if (!parts[3].empty()) allocation.hosts.push_back(parts[3]);
    allocations.push_back(std::move(allocation));
  }
  return allocations;
}

absl::Status SlurmError(const ProgramResult& result) {
  const std::string words = result.Words();
  const std::string& all = result.errors;
  if (Contains(all, {"SubmitJob", "MaxSubmit", "AssocGrpSubmit", "QOSGrpSubmit", "job submit limit",
                     "temporarily unable to accept job", "Resource temporarily unavailable",
                     "maximum job count", "MaxJobCount", "Rate limit"})) {
    return absl::ResourceExhaustedError(words);
  }
  if (Contains(all, {"Unable to contact", "Socket timed out", "Connection refused", "Connection timed out",
                     "Zero Bytes", "Unexpected message received", "Transport endpoint",
                     "Communication connection failure", "backup controller", "not responding",
                     "Protocol authentication error", "munged", "Message receive failure",
                     "Slurm controller not responding", "Send/recv operation"})) {
    return absl::UnavailableError(words);
  }
  return absl::InvalidArgumentError(words);
}

std::unique_ptr<Pool> SlurmPool::Make(const PoolSettings&, const PoolPlace& place, const nlohmann::json& own,
                                      PoolProblems& problems) {
  const size_t before = problems.size();
  Fields fields(own, "slurm", problems);
  const std::string shared = fields.Text("shared_dir", place.folder.string());
  std::unique_ptr<SlurmPool> pool(new SlurmPool(PilotFiles(shared)));
  if (!shared.starts_with('/'))
    fields.Problem("shared_dir",
                   fmt::format("is \"{}\"; expected an absolute path that all nodes see", shared));
  pool->partition_ = fields.Text("partition");
  pool->account_ = fields.Text("account");
  pool->qos_ = fields.Text("qos");
  pool->arguments_ = fields.Texts("arguments");
  pool->srun_arguments_ = fields.Texts("srun_arguments");
  pool->scratch_ = fields.Text("scratch_dir", "/tmp");
  pool->bin_ = fields.Text("bin_dir");
  pool->arrays_ = fields.Bool("arrays", true);
  if (!pool->scratch_.starts_with('/') && !pool->scratch_.starts_with('$')) {
    fields.Problem(
        "scratch_dir",
        fmt::format("is \"{}\"; expected an absolute path on the nodes, or a variable such as \"$TMPDIR\"",
                    pool->scratch_));
  }
  for (const std::string& argument : pool->arguments_) {
    for (const char* ours :
         {"--job-name", "-J", "--array", "-a", "--parsable", "--nodes", "-N", "--output", "-o"}) {
      if (argument == ours || argument.starts_with(std::string(ours) + "=")) {
        fields.Problem(
            "arguments",
            fmt::format("has \"{}\", which the server sets itself; expected other options", argument));
      }
    }
  }
  fields.Done();
  if (problems.size() != before) return nullptr;
  return pool;
}

absl::StatusOr<ProgramResult> SlurmPool::Run(std::vector<std::string> command,
                                             const std::string& input) const {
  if (!bin_.empty()) command[0] = bin_ + "/" + command[0];
  return RunProgram(command, input, kSlurmPatience);
}

std::vector<std::string> SlurmPool::SbatchCommand(const std::vector<AllocationRequest>& batch) const {
  const AllocationRequest& first = batch.front();
  std::vector<std::string> command = {"sbatch",           "--parsable",          "--no-requeue",
                                      "--comment=winnow", "--ntasks-per-node=1", "--output=/dev/null"};
  if (batch.size() > 1) {
    const int64_t block = BlockOf(first.number);
    const int64_t begin = block * kNumbersOfBlock;
    command.push_back("--job-name=" + ArrayName(first.name, block));
    command.push_back(fmt::format("--array={}-{}", first.number - begin, batch.back().number - begin));
  } else {
    command.push_back("--job-name=" + first.name);
  }
  command.push_back(fmt::format("--nodes={}", first.nodes));
  if (first.nodes > 1) command.push_back("--no-kill");
  if (first.shape.cpus > 0) command.push_back(fmt::format("--cpus-per-task={}", std::ceil(first.shape.cpus)));
  if (first.shape.memory_gib > 0)
    command.push_back(
        fmt::format("--mem={}", static_cast<int64_t>(std::ceil(first.shape.memory_gib * 1024))));
  if (first.shape.gpus > 0) command.push_back(fmt::format("--gres=gpu:{}", first.shape.gpus));
  if (first.time_limit.count() > 0)
    command.push_back(fmt::format("--time={}", (first.time_limit.count() + 59) / 60));
  if (!partition_.empty()) command.push_back("--partition=" + partition_);
  if (!account_.empty()) command.push_back("--account=" + account_);
  if (!qos_.empty()) command.push_back("--qos=" + qos_);
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  return command;
}

std::string SlurmPool::Script(const std::vector<AllocationRequest>& batch) const {
  const AllocationRequest& first = batch.front();
  const std::string name =
      batch.size() > 1 ? fmt::format("{}$(({} + SLURM_ARRAY_TASK_ID))", ShellQuoted(BaseOf(first.name) + "-"),
                                     BlockOf(first.number) * kNumbersOfBlock)
                       : ShellQuoted(first.name);
  std::vector<std::string> srun = {"srun", "--overlap", "--kill-on-bad-exit=0", "--ntasks-per-node=1"};
  if (first.shape.cpus > 0) srun.push_back(fmt::format("--cpus-per-task={}", std::ceil(first.shape.cpus)));
  std::string worker;
  for (const std::string& argument : first.command)
    worker += " " + ShellArgument(argument, first.name, "$SLURM_PROCID");
  for (const std::string& argument : srun_arguments_) srun.push_back(ShellQuoted(argument));
  const std::string scratch = scratch_.starts_with('$') ? "\"" + scratch_ + "\"" : ShellQuoted(scratch_);
  return fmt::format(
      "#!/bin/sh\n"
      "# A worker of winnow-server on each node.\n"
      "winnow_name={}\n"
      "winnow_files={}/\"$winnow_name\"\n"
      "winnow_scratch={}\n"
      "export winnow_name winnow_files winnow_scratch\n"
      "exec >> \"$winnow_files/output\" 2>&1\n"
      "exec {} sh -c {}\n",
      name, ShellQuoted(files_.folder().string()), scratch, fmt::join(srun, " "),
      ShellQuoted(PilotScript(worker, "$SLURM_PROCID")));
}

absl::StatusOr<std::vector<std::string>> SlurmPool::Submit(const std::vector<AllocationRequest>& batch) {
  for (const AllocationRequest& request : batch) {
    if (absl::Status status = files_.Write(request); !status.ok()) return status;
  }
  const absl::StatusOr<ProgramResult> result = Run(SbatchCommand(batch), Script(batch));
  if (!result.ok()) return result.status();
  if (result->exit_code != 0) return SlurmError(*result);
  // "ID" or "ID;CLUSTER".
  const std::string id = result->output.substr(0, result->output.find_first_of(";\n"));
  if (id.empty() || id.find_first_not_of("0123456789") != std::string::npos)
    return absl::UnavailableError(fmt::format("sbatch printed no job id, but: {}", result->Words()));
  std::vector<std::string> ids;
  for (const AllocationRequest& request : batch)
    ids.push_back(
        batch.size() > 1
            ? fmt::format("{}_{}", id, request.number - BlockOf(batch.front().number) * kNumbersOfBlock)
            : id);
  return ids;
}

absl::StatusOr<std::vector<Allocation>> SlurmPool::List(const std::vector<AllocationKey>& allocations) {
  if (allocations.empty()) return std::vector<Allocation>();
  std::set<std::string> wanted, names;
  size_t bytes = 0;
  for (const AllocationKey& key : allocations) {
    wanted.insert(key.name);
    for (const std::string& name : JobNames(key.name)) {
      if (names.insert(name).second) bytes += name.size() + 1;
    }
  }
  std::vector<std::string> command = {"squeue", "--noheader", "--states=all", "--array",
                                      fmt::format("--format={}", kSqueueFormat)};
  if (bytes < kMostNamesBytes) command.push_back(fmt::format("--name={}", fmt::join(names, ",")));
  const absl::StatusOr<ProgramResult> result = Run(std::move(command));
  if (!result.ok()) return result.status();
  if (result->exit_code != 0) return absl::UnavailableError(result->Words());
  std::vector<Allocation> known = ReadSqueue(result->output);
  std::erase_if(known, [&](const Allocation& allocation) { return !wanted.contains(allocation.name); });
  return known;
}

absl::Status SlurmPool::Cancel(const std::vector<AllocationKey>& allocations) {
  std::vector<std::string> ids;
  std::vector<AllocationKey> unknown;
  for (const AllocationKey& key : allocations) {
    if (key.id.empty()) {
      unknown.push_back(key);
    } else {
      ids.push_back(key.id);
    }
  }
  const absl::StatusOr<std::vector<Allocation>> found = List(unknown);
  if (!found.ok()) return found.status();
  for (const Allocation& allocation : *found) {
    if (allocation.state != Allocation::State::kEnded) ids.push_back(allocation.id);
  }
  if (ids.empty()) return absl::OkStatus();
  std::vector<std::string> command = {"scancel", "--quiet"};
  command.insert(command.end(), ids.begin(), ids.end());
  const absl::StatusOr<ProgramResult> result = Run(std::move(command));
  if (!result.ok()) return result.status();
  if (result->exit_code == 0 || Contains(result->errors, {"Invalid job id", "already completing"}))
    return absl::OkStatus();
  return SlurmError(*result);
}

std::string SlurmPool::Render(const std::vector<AllocationRequest>& batch) const {
  std::string command;
  for (const std::string& argument : SbatchCommand(batch)) {
    const bool plain =
        argument.find_first_of(" \t\"'$&|;<>()*?[]\\`~#!") == std::string::npos && !argument.empty();
    command += (command.empty() ? "" : " ") + (plain ? argument : ShellQuoted(argument));
  }
  return fmt::format("{} <<'END'\n{}END\n", command, Script(batch));
}

}  // namespace winnow

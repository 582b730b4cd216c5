#include "server/host/pools/slurm_pool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "absl/strings/numbers.h"
#include "server/host/pools/fields.h"
#include "server/host/pools/slurm_commands.h"
#include "server/host/pools/slurm_rest.h"

namespace winnow {
namespace {

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

// Slurm has put it back into the queue, after its start had failed, and starts it only if a person releases
// it.
bool IsHeld(const SlurmJob& job) {
  static constexpr std::array<std::string_view, 2> kHeld = {"requeued held", "JobHoldMaxRequeue"};
  const bool says = std::any_of(kHeld.begin(), kHeld.end(), [&](std::string_view words) {
    return job.reason.find(words) != std::string::npos;
  });
  return job.state == "REQUEUE_HOLD" || job.state == "SPECIAL_EXIT" || (Waits(job.state) && says);
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

Allocation ReadSlurmJob(const SlurmJob& job) {
  Allocation allocation;
  allocation.id = job.id;
  allocation.name = AllocationName(job.name, job.index);
  allocation.state = IsOver(job.state)  ? Allocation::State::kEnded
                     : Waits(job.state) ? Allocation::State::kQueued
                                        : Allocation::State::kRunning;
  allocation.held = IsHeld(job);
  const bool more = !job.reason.empty() && job.reason != "None" && job.reason != job.state &&
                    job.reason.find("NonZeroExit") == std::string::npos;
  if (allocation.state == Allocation::State::kQueued) {
    allocation.reason = Said(more ? job.reason : job.state);
  } else if (job.state != "RUNNING") {
    allocation.reason = Said(job.state);
    if (more && allocation.state == Allocation::State::kEnded && job.reason != "TimeLimit")
      allocation.reason += fmt::format(" ({})", job.reason);
  }
  if (!job.nodes.empty()) allocation.hosts.push_back(job.nodes);
  return allocation;
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
  pool->srun_arguments_ = fields.Texts("srun_arguments");
  pool->scratch_ = fields.Text("scratch_dir", "/tmp");
  pool->arrays_ = fields.Bool("arrays", true);
  if (!pool->scratch_.starts_with('/') && !pool->scratch_.starts_with('$')) {
    fields.Problem(
        "scratch_dir",
        fmt::format("is \"{}\"; expected an absolute path on the nodes, or a variable such as \"$TMPDIR\"",
                    pool->scratch_));
  }
  if (fields.Has("rest")) {
    pool->calls_ = MakeSlurmRest(fields, problems);
  } else {
    pool->calls_ = std::make_unique<SlurmCommands>(fields);
  }
  fields.Done();
  if (problems.size() != before) return nullptr;
  return pool;
}

SlurmSubmission SlurmPool::SubmissionOf(const std::vector<AllocationRequest>& batch) const {
  const AllocationRequest& first = batch.front();
  SlurmSubmission submission;
  submission.name = first.name;
  if (batch.size() > 1) {
    const int64_t block = BlockOf(first.number);
    const int64_t begin = block * kNumbersOfBlock;
    submission.name = ArrayName(first.name, block);
    submission.array = fmt::format("{}-{}", first.number - begin, batch.back().number - begin);
  }
  submission.nodes = first.nodes;
  submission.shape = first.shape;
  submission.time_limit = first.time_limit;
  submission.script = Script(batch);
  return submission;
}

std::string SlurmPool::Script(const std::vector<AllocationRequest>& batch) const {
  const AllocationRequest& first = batch.front();
  const std::string name =
      batch.size() > 1 ? fmt::format("{}$(({} + SLURM_ARRAY_TASK_ID))", ShellQuoted(BaseOf(first.name) + "-"),
                                     BlockOf(first.number) * kNumbersOfBlock)
                       : ShellQuoted(first.name);
  std::vector<std::string> srun = {"srun", "--overlap", "--kill-on-bad-exit=0", "--ntasks-per-node=1"};
  if (first.shape.cpus > 0)
    srun.push_back(fmt::format("--cpus-per-task={}", SlurmProcessors(first.shape.cpus)));
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
      name, ShellQuoted(files().folder().string()), scratch, fmt::join(srun, " "),
      ShellQuoted(PilotScript(worker, "$SLURM_PROCID")));
}

absl::StatusOr<std::vector<std::string>> SlurmPool::Submit(const std::vector<AllocationRequest>& batch) {
  for (const AllocationRequest& request : batch) {
    if (absl::Status status = files().Write(request); !status.ok()) return status;
  }
  const absl::StatusOr<std::string> id = calls_->Submit(SubmissionOf(batch));
  if (!id.ok()) return id.status();
  std::vector<std::string> ids;
  for (const AllocationRequest& request : batch)
    ids.push_back(
        batch.size() > 1
            ? fmt::format("{}_{}", *id, request.number - BlockOf(batch.front().number) * kNumbersOfBlock)
            : *id);
  return ids;
}

absl::StatusOr<std::vector<Allocation>> SlurmPool::List(const std::vector<AllocationKey>& allocations) {
  if (allocations.empty()) return std::vector<Allocation>();
  std::set<std::string> wanted, names;
  std::vector<std::string> ids;
  bool has_all_ids = true;
  for (const AllocationKey& key : allocations) {
    wanted.insert(key.name);
    for (const std::string& name : JobNames(key.name)) names.insert(name);
    ids.push_back(key.id);
    has_all_ids = has_all_ids && !key.id.empty();
  }
  if (!has_all_ids) ids.clear();
  const absl::StatusOr<std::vector<SlurmJob>> jobs = calls_->Jobs({names.begin(), names.end()}, ids);
  if (!jobs.ok()) return jobs.status();
  std::vector<Allocation> known;
  for (const SlurmJob& job : *jobs) {
    Allocation allocation = ReadSlurmJob(job);
    if (wanted.contains(allocation.name)) known.push_back(std::move(allocation));
  }
  return known;
}

absl::Status SlurmPool::Cancel(const std::vector<AllocationKey>& allocations) {
  // By their names: a slurmctld that was killed may have lost the newest jobs, and gives their ids to others.
  const absl::StatusOr<std::vector<Allocation>> found = List(allocations);
  if (!found.ok()) return found.status();
  std::vector<std::string> ids;
  for (const Allocation& allocation : *found) {
    if (allocation.state != Allocation::State::kEnded) ids.push_back(allocation.id);
  }
  return ids.empty() ? absl::OkStatus() : calls_->Cancel(ids);
}

std::string SlurmPool::Render(const std::vector<AllocationRequest>& batch) const {
  return calls_->Render(SubmissionOf(batch));
}

}  // namespace winnow

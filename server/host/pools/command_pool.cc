#include "server/host/pools/command_pool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_split.h"
#include "base/status_text.h"
#include "server/host/pools/fields.h"

namespace winnow {
namespace {

constexpr int kTryLater = 75;  // EX_TEMPFAIL: it is not known whether it was done
constexpr int kLimitReached = 76;

absl::Status CommandError(const ProgramResult& result) {
  const std::string words = result.Words();
  if (result.exit_code == kTryLater) return absl::UnavailableError(words);
  if (result.exit_code == kLimitReached) return absl::ResourceExhaustedError(words);
  return absl::InvalidArgumentError(words);
}

std::vector<std::string> KeysOf(const std::vector<AllocationKey>& allocations) {
  std::vector<std::string> keys;
  for (const AllocationKey& key : allocations) {
    keys.push_back(key.name);
    keys.push_back(key.id);
  }
  return keys;
}

std::vector<std::string> Lines(const std::string& text) { return absl::StrSplit(text, '\n'); }

std::string FirstWord(const std::string& line) { return line.substr(0, line.find_first_of("\t ")); }

// The state in a line of `list`.
absl::StatusOr<Allocation::State> StateIn(const std::vector<std::string>& parts) {
  const std::string state = parts.size() < 3 ? "" : parts[2];
  if (state == "QUEUED") return Allocation::State::kQueued;
  if (state == "RUNNING") return Allocation::State::kRunning;
  if (state == "ENDED") return Allocation::State::kEnded;
  return absl::InvalidArgumentError(
      fmt::format("\"{}\"; expected name, id and QUEUED, RUNNING or ENDED, with tabs between them",
                  fmt::join(parts, "<tab>")));
}

std::string LastLine(const std::string& text) {
  std::string last;
  for (const std::string& line : Lines(text)) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

std::unique_ptr<Pool> CommandPool::Make(const PoolSettings&, const PoolPlace& place,
                                        const nlohmann::json& own, PoolProblems& problems) {
  const size_t before = problems.size();
  Fields fields(own, "command", problems);
  std::unique_ptr<CommandPool> pool(
      new CommandPool(PilotFiles(fields.Text("shared_dir", place.folder.string()))));
  pool->submit_ = fields.Texts("submit");
  pool->list_ = fields.Texts("list");
  pool->cancel_ = fields.Texts("cancel");
  pool->scratch_ = fields.Text("scratch_dir", "/tmp");
  pool->patience_ = std::chrono::seconds(fields.Int("timeout_seconds", 45, 1, 600));
  for (const auto& [name, command] : {std::pair{"submit", &pool->submit_}, std::pair{"list", &pool->list_},
                                      std::pair{"cancel", &pool->cancel_}}) {
    if (command->empty()) fields.Problem(name, "is required; expected a program and its arguments");
  }
  if (!pool->files().folder().is_absolute())
    fields.Problem("shared_dir", "expected an absolute path that all nodes see");
  fields.Done();
  if (problems.size() != before) return nullptr;
  return pool;
}

std::vector<std::string> CommandPool::Variables(const AllocationRequest& request) const {
  return {"ALLOCATION_NAME=" + request.name,
          fmt::format("ALLOCATION_NODES={}", request.nodes),
          fmt::format("ALLOCATION_SLOTS={}", request.shape.slots),
          fmt::format("ALLOCATION_CPUS={}", std::ceil(request.shape.cpus)),
          fmt::format("ALLOCATION_MEMORY_MIB={}", std::ceil(request.shape.memory_gib * 1024)),
          fmt::format("ALLOCATION_GPUS={}", request.shape.gpus),
          fmt::format("ALLOCATION_SECONDS={}", request.time_limit.count()),
          "ALLOCATION_SCRIPT=" + (files().Of(request.name) / kNodeScript).string(),
          "ALLOCATION_OUTPUT=" + files().OutputOf(request.name).string()};
}

absl::StatusOr<std::vector<std::string>> CommandPool::Submit(const std::vector<AllocationRequest>& batch) {
  const AllocationRequest& request = batch.front();
  const auto script = files().WriteScript(request, scratch_);
  if (!script.ok()) return script.status();
  const absl::StatusOr<ProgramResult> result = RunProgram(submit_, "", patience_, Variables(request));
  if (!result.ok()) return result.status();
  if (result->exit_code != 0) return CommandError(*result);
  const std::string id = LastLine(result->output);
  if (id.empty()) return absl::UnavailableError(fmt::format("{} printed no id", submit_[0]));
  return std::vector<std::string>{id};
}

absl::StatusOr<std::vector<Allocation>> CommandPool::List(const std::vector<AllocationKey>& allocations) {
  if (allocations.empty()) return std::vector<Allocation>();
  std::vector<std::string> command = list_;
  const std::vector<std::string> keys = KeysOf(allocations);
  command.insert(command.end(), keys.begin(), keys.end());
  const absl::StatusOr<ProgramResult> result = RunProgram(command, "", patience_, {}, "", &stopping_);
  if (!result.ok()) return result.status();
  if (result->exit_code != 0) return absl::UnavailableError(result->Words());
  std::vector<Allocation> known;
  for (const std::string& line : Lines(result->output)) {
    const std::vector<std::string> parts = absl::StrSplit(line, '\t');
    const auto is_name = [&](const AllocationKey& key) { return key.name == FirstWord(line); };
    if (std::none_of(allocations.begin(), allocations.end(), is_name)) continue;
    const absl::StatusOr<Allocation::State> state = StateIn(parts);
    if (!state.ok())
      return absl::UnavailableError(fmt::format("{} printed {}", list_[0], MessageOf(state.status())));
    Allocation& allocation = known.emplace_back();
    allocation.name = parts[0];
    allocation.id = parts[1];
    allocation.state = *state;
    if (parts.size() > 3) allocation.reason = parts[3];
    if (parts.size() > 4 && !parts[4].empty()) allocation.hosts = absl::StrSplit(parts[4], ',');
  }
  return known;
}

absl::Status CommandPool::Cancel(const std::vector<AllocationKey>& allocations) {
  if (allocations.empty()) return absl::OkStatus();
  std::vector<std::string> command = cancel_;
  const std::vector<std::string> keys = KeysOf(allocations);
  command.insert(command.end(), keys.begin(), keys.end());
  const absl::StatusOr<ProgramResult> result = RunProgram(command, "", patience_);
  if (!result.ok()) return result.status();
  return result->exit_code == 0 ? absl::OkStatus() : CommandError(*result);
}

std::string CommandPool::Render(const std::vector<AllocationRequest>& batch) const {
  const AllocationRequest& request = batch.front();
  return fmt::format("# {}, with these variables:\n{}\n\n# ALLOCATION_SCRIPT:\n{}", fmt::join(submit_, " "),
                     fmt::join(Variables(request), "\n"), NodeScript(files(), request, scratch_));
}

}  // namespace winnow

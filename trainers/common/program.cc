#include "trainers/common/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/status_text.h"
#include "trainers/collective/group_error.h"
#include "trainers/collective/tcp_ranks.h"

namespace winnow {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;
// EX_TEMPFAIL of sysexits.h: another rank or the connection to it is lost, which is not this trainer's fault
// (docs/trainer-contract.md).
constexpr int kRanksGone = 75;

const char* program_name = "";
std::atomic<bool> told_to_stop{false};
// Until all ranks have come: the exit code for an immediate end on SIGTERM, because there is nothing to save.
// Afterwards kNotWaiting.
constexpr int kNotWaiting = -1;
std::atomic<int> code_while_waiting{kNotWaiting};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void EndIfWaiting() {
  const int code = code_while_waiting;
  if (code == kNotWaiting) return;
  for (const char* text : {program_name, ": told to stop before all ranks had come\n"}) {
    if (code != 0) (void)!write(STDERR_FILENO, text, std::strlen(text));
  }
  _exit(code);
}

void Stop(int /*signal*/) {
  told_to_stop = true;
  EndIfWaiting();
}

}  // namespace

TrainerMain::TrainerMain(const char* name) : name_(name) {
  program_name = name;
  std::signal(SIGTERM, Stop);
}

int TrainerMain::Fail(const absl::Status& status) const {
  std::string text = MessageOf(status);
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  fmt::print(stderr, "{}: {}\n", name_, text);
  return kFailure;
}

int TrainerMain::Usage(const std::string& problem) const {
  fmt::print(stderr, "{}: {}; see {} --help\n", name_, problem, name_);
  return kUsage;
}

int TrainerMain::TrainAsRank(bool has_checkpoints, const std::vector<std::string>& warnings,
                             const Training& train) const {
  code_while_waiting = has_checkpoints ? 0 : kFailure;
  if (told_to_stop) EndIfWaiting();
  absl::StatusOr<std::unique_ptr<Communicator>> ranks =
      RanksFromEnvironment([](const char* name) { return std::getenv(name); });
  code_while_waiting = kNotWaiting;
  if (!ranks.ok()) {
    const int code = Fail(ranks.status());
    return absl::IsUnavailable(ranks.status()) || absl::IsDeadlineExceeded(ranks.status()) ? kRanksGone
                                                                                           : code;
  }
  if ((*ranks)->rank() == 0) {
    for (const std::string& warning : warnings) fmt::print(stderr, "{}: {}\n", name_, warning);
  }
  const absl::Status status = train(ranks->get(), told_to_stop);
  if (!status.ok()) {
    const int code = Fail(status);
    const std::optional<int> blamed = RankToBlame(status);
    return blamed.has_value() && *blamed != (*ranks)->rank() ? kRanksGone : code;
  }
  const bool printed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  return printed ? 0 : Fail(absl::UnavailableError("standard output: cannot write"));
}

}  // namespace winnow

#include "worker/runs/failure_cause.h"

#include <google/protobuf/util/time_util.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/status_text.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "worker/runs/launcher_words.h"

namespace winnow {
namespace {

constexpr size_t kMaxCauseBytes = 500;

bool IsIndented(std::string_view line) { return line.starts_with(' ') || line.starts_with('\t'); }

std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\v\f\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Leaves out the escape sequences of terminals that begin with "ESC [", such as colours.
std::string WithoutColours(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const size_t at = std::min(text.find("\x1b["), text.size());
    plain += text.substr(0, at);
    text.remove_prefix(at);
    if (text.empty()) break;
    const size_t end = text.find_first_not_of("0123456789;:?<=>!\"#$%&'()*+,-./ ", 2);
    text.remove_prefix(std::min(end, text.size() - 1) + 1);
  }
  return plain;
}

// A carriage return starts the line anew, as in progress bars.
std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Whether the line has a letter of any script; box drawing (UTF-8 from E2 on) does not count.
bool HasWord(std::string_view line) {
  return std::any_of(line.begin(), line.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || (c >= 0xc3 && c != 0xe2); });
}

// Matches tqdm's "40%|####" and "12.3it/s]", and Keras's "3/10 [====>".
bool IsProgress(std::string_view line) {
  for (const char* sign : {"%|", "it/s", "s/it", "[==", "━━"}) {
    if (line.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

// Matches "train.py:3: UserWarning: …" and the source line below it.
bool IsWarning(std::string_view line) {
  const size_t at = line.find("Warning: ");
  return at != std::string_view::npos && line.substr(0, at).find(": ") != std::string_view::npos;
}

// Last lines that say less than those above: podman's where the runtime's own words are, env's advice where
// the line #! of a script has a carriage return, and "See 'podman run --help'" after an unknown option.
bool RefersToEarlier(std::string_view line) {
  const bool advises = line.starts_with("See '") || line.starts_with("Run '") || line.starts_with("Try '");
  return line.starts_with("Usage: ") || (advises && line.find(" --help'") != std::string_view::npos) ||
         line.find("(no logs from conmon)") != std::string_view::npos ||
         line.find("to pass options in shebang lines") != std::string_view::npos;
}

bool SaysSomething(const std::vector<std::string_view>& lines, size_t i) {
  const std::string_view line = WithoutBlanks(lines[i]);
  if (!HasWord(line) || IsProgress(line) || IsWarning(line) || RefersToEarlier(line) || IsMpiTrace(line) ||
      IsOfTorchrun(line) || line.starts_with("warnings.warn("))
    return false;
  return !(IsIndented(lines[i]) && i > 0 && IsWarning(lines[i - 1]));
}

bool IsFrame(std::string_view line) {
  return IsIndented(line) && WithoutBlanks(line).starts_with("File \"") &&
         line.find(", line ") != std::string_view::npos;
}

// Returns the exception of the newest traceback. torchrun's own traceback, above its list of processes, says
// less than the one before it.
std::string_view FindException(const std::vector<std::string_view>& lines) {
  std::string_view exception;
  bool in_frames = false;
  for (const std::string_view line : lines) {
    if (IsFrame(line)) {
      in_frames = true;
    } else if (in_frames && !IsIndented(line) && HasWord(line)) {
      in_frames = false;
      if (exception.empty() || line.find(kTorchrunException) == std::string_view::npos) exception = line;
    }
  }
  return exception;
}

// The values in Python's "unrecognized arguments: --lr 0.0149 --depth 7" differ from trial to trial, and say
// nothing of the error: they are left out, so that these failures count as one.
std::string WithoutUnknownValues(std::string_view cause) {
  constexpr std::string_view kMarker = "nrecognized arguments: ";
  const size_t marker = cause.find(kMarker);
  if (marker == std::string_view::npos) return std::string(cause);
  std::string flags(cause.substr(0, marker + kMarker.size() - 1));
  const size_t without_flags = flags.size();
  for (std::string_view rest = cause.substr(marker + kMarker.size()); !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    const bool is_flag = word.size() > 1 && word[0] == '-' && (word[1] == '-' || std::isalpha(word[1]) != 0);
    if (is_flag) flags.append(" ").append(word.substr(0, word.find('=')));
  }
  return flags.size() == without_flags ? std::string(cause) : flags;
}

// EX_TEMPFAIL of docs/trainer-contract.md: lost the connection to other ranks
constexpr int kTemporaryFailure = 75;
constexpr char kCausePayload[] = "winnow/cause";

std::string DescribeEnd(const ProcessEnd& end) {
  if (end.signal == 0) return fmt::format("exit code {}", end.exit_code);
  const char* name = sigabbrev_np(end.signal);
  return name == nullptr ? fmt::format("killed by signal {}", end.signal)
                         : fmt::format("killed by signal {} (SIG{})", end.signal, name);
}

}  // namespace

std::string FindCause(std::string_view words) {
  std::string plain = WithoutColours(words);
  std::erase(plain, '\0');  // as of UTF-16
  std::vector<std::string_view> lines = SplitLines(plain);
  std::string_view cause = FindException(lines), of_torchrun;
  if (cause.find(kTorchrunException) != std::string_view::npos) {
    // Its program has raised none, but may have said something.
    of_torchrun = TakeWordOfTorchrun(lines);
    if (!of_torchrun.empty()) cause = "";
  }
  const std::string of_mpirun = TakeMpirunMessages(lines);
  for (size_t i = lines.size(); cause.empty() && i-- > 0;) {
    if (SaysSomething(lines, i)) cause = WithoutMpiRank(lines[i]);
  }
  if (cause.empty()) cause = of_mpirun;
  if (cause.empty()) cause = of_torchrun;
  for (size_t i = lines.size(); cause.empty() && i-- > 0;) cause = WithoutBlanks(lines[i]);
  const std::string told = WithoutUnknownValues(WithoutBlanks(cause));
  if (told.size() <= kMaxCauseBytes) return told;
  return std::string(Utf8Prefix(told, kMaxCauseBytes - 3)) + "...";
}

bool DiskIsFull(std::string_view cause, std::initializer_list<std::filesystem::path> folders) {
  constexpr std::uintmax_t kLeastRoom = 16 << 20;
  const bool says_so = cause.find("No space left on device") != std::string_view::npos ||
                       cause.find("Disk quota exceeded") != std::string_view::npos;
  return says_so && std::any_of(folders.begin(), folders.end(), [](const std::filesystem::path& folder) {
           std::error_code unknown;
           const std::filesystem::space_info room = std::filesystem::space(folder, unknown);
           return !unknown && room.available < kLeastRoom;
         });
}

v1::Outcome FailedOutcome(std::string reason) {
  v1::Outcome outcome;
  outcome.set_kind(v1::Outcome::FAILED);
  outcome.set_exit_code(127);
  outcome.set_reason(std::move(reason));
  *outcome.mutable_start_time() = google::protobuf::util::TimeUtil::GetCurrentTime();
  *outcome.mutable_end_time() = outcome.start_time();
  return outcome;
}

absl::Status NotPreparedError(v1::Outcome::Cause cause, std::string_view reason) {
  absl::Status status = absl::FailedPreconditionError(std::string(reason));
  status.SetPayload(kCausePayload, absl::Cord(v1::Outcome::Cause_Name(cause)));
  return status;
}

v1::Outcome NotStartedOutcome(const absl::Status& status) {
  v1::Outcome outcome = FailedOutcome(MessageOf(status));
  if (const auto name = status.GetPayload(kCausePayload)) {
    v1::Outcome::Cause cause = v1::Outcome::NOT_STARTED;
    v1::Outcome::Cause_Parse(std::string(*name), &cause);
    outcome.set_cause(cause);
  } else if (absl::IsUnavailable(status)) {
    outcome.set_exit_code(kTemporaryFailure);
  } else {
    outcome.set_cause(v1::Outcome::NOT_STARTED);
  }
  return outcome;
}

v1::Outcome UnstartedOutcome(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) return NotStartedOutcome(status);
  if (!absl::IsAborted(status)) return FailedOutcome(MessageOf(status));
  v1::Outcome outcome;
  outcome.set_kind(v1::Outcome::HANDED_BACK);
  outcome.set_reason(MessageOf(status));
  return outcome;
}

std::string FailureReason(const ProcessEnd& end, const std::string& cause) {
  if (cause.empty()) return DescribeEnd(end);
  const bool by_itself = end.signal == 0 || end.signal == SIGABRT;
  return by_itself ? fmt::format("{} ({})", cause, DescribeEnd(end))
                   : fmt::format("{}: {}", DescribeEnd(end), cause);
}

}  // namespace winnow

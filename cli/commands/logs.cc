#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "cli/commands/actions.h"
#include "cli/output/json.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

// Cleans a log for a terminal: removes escape sequences and control characters other than line ends and tabs,
// so that a trainer's output cannot move the cursor, set a title or paste. A carriage return ends a line, as
// in progress bars; invalid UTF-8 becomes U+FFFD. Pieces may split characters and sequences anywhere.
class LogText {
 public:
  std::string Add(std::string_view piece);
  // Returns the rest that was held back as an incomplete sequence.
  std::string Finish();

 private:
  std::string Read(bool last);

  std::string rest_;         // not parsed yet
  bool line_ended_ = false;  // by a carriage return; a line feed may follow
};

constexpr char kEscape = '\x1b';
constexpr size_t kLongestSequence = 64;
constexpr size_t kCut = std::string_view::npos;

bool Within(char c, char first, char last) { return first <= c && c <= last; }

// Returns the bytes of the escape sequence at the front of `text` (ECMA-48): a whole control sequence; of
// others the escape and its introducer, and the rest stays as text. kCut: it may continue in the next piece.
size_t EscapeLength(std::string_view text) {
  if (text.size() < 2) return kCut;
  if (text[1] != '[') return Within(text[1], '@', '_') ? 2 : 1;
  size_t end = 2;
  while (end < text.size() && Within(text[end], ' ', '?')) ++end;
  if (end > kLongestSequence) return 2;
  if (end == text.size()) return kCut;
  return Within(text[end], '@', '~') ? end + 1 : end;
}

// Whether the bytes are a proper prefix of a character.
bool IsCutCharacter(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
  if (lead > 0xF4 || text.size() >= length) return false;
  for (const char c : text.substr(1)) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) return false;
  }
  return true;
}

std::string LogText::Add(std::string_view piece) {
  rest_ += piece;
  return Read(false);
}

std::string LogText::Finish() { return Read(true); }

std::string LogText::Read(bool last) {
  std::string text;
  std::string_view rest = rest_;
  while (!rest.empty()) {
    if (rest.front() == kEscape) {
      size_t skipped = EscapeLength(rest);
      if (skipped == kCut && !last) break;
      rest.remove_prefix(std::min(skipped, rest.size()));
      continue;
    }
    if (!last && IsCutCharacter(rest)) break;
    const auto [c, bytes] = FirstCharacter(rest);
    const bool after_return = std::exchange(line_ended_, c == '\r');
    if (c == '\n' || c == '\r') {
      if (c == '\r' || !after_return) text += '\n';
    } else if (c == '\t') {
      text += '\t';
    } else {
      text += Clean(rest.substr(0, bytes));
    }
    rest.remove_prefix(bytes);
  }
  rest_ = std::string(rest);
  return text;
}

// Returns the last lines of the text; what follows its last line end counts as one.
std::string_view LastLines(std::string_view text, int64_t count) {
  size_t begin = text.size();
  for (; count > 0 && begin > 0; --count) {
    const size_t end = begin < 2 ? kCut : text.rfind('\n', begin - 2);
    begin = end == kCut ? 0 : end + 1;
  }
  return text.substr(begin);
}

constexpr int64_t kChunkBytes = 1 << 20;
constexpr int64_t kWaitSeconds = 20;
constexpr absl::Duration kPatience = absl::Minutes(10);  // with an unreachable server
constexpr absl::Duration kPause = absl::Milliseconds(200);

// Programs that use Python's logging write everything to standard error.
void HintAtErrors(Session& session, v1::GetLogsRequest request, const LogsOptions& options) {
  request.set_stream(v1::GetLogsRequest::STDERR);
  request.set_offset(0);
  request.set_limit(1);
  request.clear_wait();
  const auto answer = session.client().Logs(request);
  if (!answer.ok() || answer->data().empty()) return;
  std::string command = fmt::format("logs {} {}", request.job_id(), request.trial());
  if (options.attempt > 0) command += fmt::format(" --attempt {}", options.attempt);
  if (options.rank > 0) command += fmt::format(" --rank {}", options.rank);
  session.err.Print("winnow: it wrote to standard error only. See that with: " +
                    session.Hint(command + " --stderr") + "\n");
}

}  // namespace

Exit ShowLogs(Session& session, const LogsOptions& options) {
  const auto id = session.client().JobId(options.job);
  if (!id.ok()) return id.status();
  v1::GetLogsRequest request;
  request.set_job_id(*id);
  request.set_trial(options.trial);
  request.set_attempt(options.attempt);
  request.set_rank(options.rank);
  request.set_stream(options.standard_error ? v1::GetLogsRequest::STDERR : v1::GetLogsRequest::STDOUT);
  request.set_limit(kChunkBytes);
  const bool cleans = session.output != Output::kJson && session.out.is_terminal() && !options.raw;
  LogText clean;
  std::optional<std::string> there;  // with `tail`, until all that there is was read
  if (options.tail) there.emplace();
  bool truncated = false;
  bool wrote = false;
  bool answered = false;
  bool waits_for_end = false;                   // nothing comes before the program has ended
  absl::Time lost_at = absl::InfiniteFuture();  // start of the server's absence
  while (true) {
    auto answer = session.client().Logs(request);
    if (!answer.ok()) {
      const absl::Time now = absl::Now();
      if (!options.follow || !answered || !IsLoss(answer.status()) || now - lost_at > kPatience) {
        return answer.status();
      }
      if (lost_at == absl::InfiniteFuture()) {
        lost_at = now;
        session.err.Print("winnow: The server at " + session.endpoint.address +
                          " is away. Waiting for it…\n");
      }
      absl::SleepFor(kPause);  // the server refuses while it starts or stops
      session.client().AwaitConnection(lost_at + kPatience);
      continue;
    }
    if (lost_at != absl::InfiniteFuture()) session.err.Print("winnow: the server is back\n");
    lost_at = absl::InfiniteFuture();
    answered = true;
    const bool last = answer->ended() || (answer->data().empty() && !options.follow);
    const bool more = !answer->data().empty();
    if (cleans) answer->set_data(clean.Add(answer->data()));
    if (there) {
      there->append(answer->data());
      const bool all = answer->ended() || !more;
      answer->set_data(std::string(all ? LastLines(*there, *options.tail) : ""));
      if (all) there.reset();
    }
    if (session.output != Output::kJson) {
      session.out.Print(answer->data());
    } else if (!answer->data().empty() || last) {
      session.out.Print(ToJson(*answer, true));
    }
    truncated = answer->truncated();
    wrote = wrote || more;
    if (last || session.out.write_error() != 0) break;
    if (answer->truncated() && !more && !std::exchange(waits_for_end, true))
      session.err.Print("winnow: the output is long: the rest comes when the program has ended\n");
    request.set_offset(answer->next_offset());
    request.set_attempt(answer->attempt());
    if (options.follow && !there) request.mutable_wait()->set_seconds(kWaitSeconds);
  }
  session.out.Print(clean.Finish());
  if (truncated) session.err.Print("winnow: the output was longer than the server keeps\n");
  if (!wrote && !options.standard_error) HintAtErrors(session, request, options);
  return kSuccess;
}

}  // namespace winnow::cli

#include "server/host/pools/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/spawn.h"
#include "base/utf8.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock;

constexpr size_t kMostBytes = 64 << 20;  // of an output
constexpr size_t kMostWords = 400;
constexpr int64_t kLookForStopMs = 200;
constexpr int kMostPauseMs = 50;  // between two looks whether it has ended

// A pipe whose ends close by themselves.
struct Pipe {
  int ends[2] = {-1, -1};
  bool Open() { return pipe2(ends, O_CLOEXEC) == 0; }
  void Close(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  ~Pipe() {
    Close(0);
    Close(1);
  }
};

// Other programs print what they like, but messages take UTF-8 alone.
std::string OneLine(const std::string& text) {
  std::string line;
  for (const char c : ValidUtf8(text)) {
    const bool blank = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!blank) line += c;
    if (blank && !line.empty() && line.back() != ' ') line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line.size() > kMostWords ? std::string(Utf8Prefix(line, kMostWords)) + "…" : line;
}

// This process's environment without the server's own settings, and with these variables.
std::vector<std::string> EnvironmentWith(const std::vector<std::string>& variables) {
  std::vector<std::string> environment = EnvironmentWithout([&](std::string_view entry) {
    const auto replaced = [entry](const std::string& variable) {
      return entry.starts_with(std::string_view(variable).substr(0, variable.find('=') + 1));
    };
    return entry.starts_with("WINNOW_") || std::any_of(variables.begin(), variables.end(), replaced);
  });
  environment.insert(environment.end(), variables.begin(), variables.end());
  return environment;
}

}  // namespace

std::string ProgramResult::Words() const {
  if (std::string words = OneLine(errors); !words.empty()) return words;
  if (std::string words = OneLine(output); !words.empty()) return words;
  return fmt::format("exit code {}", exit_code);
}

absl::StatusOr<ProgramResult> RunProgram(const std::vector<std::string>& command, const std::string& input,
                                         milliseconds patience, const std::vector<std::string>& variables,
                                         const std::string& enough, const std::atomic<bool>* stop) {
  Pipe in, out, err;
  if (!in.Open() || !out.Open() || !err.Open())
    return absl::UnavailableError(fmt::format("{}: pipe: {}", command[0], strerror(errno)));
  pid_t pid = 0;
  const StandardFiles files{in.ends[0], out.ends[1], err.ends[1]};
  if (const int error = Spawn(command, EnvironmentWith(variables), files, &pid); error != 0)
    return absl::NotFoundError(fmt::format("{} cannot be started: {}", command[0], strerror(error)));
  in.Close(0);
  out.Close(1);
  err.Close(1);
  fcntl(in.ends[1], F_SETFL, O_NONBLOCK);
  ProgramResult result;
  size_t sent = 0;
  if (input.empty()) in.Close(1);
  const auto end = SteadyTime::now() + patience;
  bool late = false, heard = false, stopped = false;
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    const auto left = std::chrono::ceil<milliseconds>(end - SteadyTime::now()).count();
    late = left <= 0;
    heard = !enough.empty() && result.errors.find(enough) != std::string::npos;
    stopped = stop != nullptr && *stop;
    if (late || heard || stopped) break;
    pollfd waits[] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}, {in.ends[1], POLLOUT, 0}};
    if (poll(waits, 3, static_cast<int>(std::min<int64_t>(left, stop == nullptr ? 60'000 : kLookForStopMs))) <
            0 &&
        errno != EINTR)
      break;
    if ((waits[2].revents & (POLLOUT | POLLERR)) != 0) {
      const ssize_t bytes = write(in.ends[1], input.data() + sent, input.size() - sent);
      if (bytes > 0) sent += static_cast<size_t>(bytes);
      if (sent == input.size() || (bytes < 0 && errno != EAGAIN && errno != EINTR)) in.Close(1);
    }
    char part[16384];
    for (const auto& [wait, pipe, text] :
         {std::tuple{0, &out, &result.output}, std::tuple{1, &err, &result.errors}}) {
      if (pipe->ends[0] < 0 || (waits[wait].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      const ssize_t bytes = read(pipe->ends[0], part, sizeof part);
      if (bytes > 0 && text->size() < kMostBytes) text->append(part, static_cast<size_t>(bytes));
      if (bytes == 0 || (bytes < 0 && errno != EINTR)) pipe->Close(0);
    }
  }
  int status = 0;
  bool ended = false;
  // One that has closed its outputs may go on.
  for (int pause_ms = 1; !late && !heard && !stopped; pause_ms = std::min(2 * pause_ms, kMostPauseMs)) {
    ended = waitpid(pid, &status, WNOHANG) == pid;
    if (ended) break;
    poll(nullptr, 0, pause_ms);
    late = SteadyTime::now() >= end;
    stopped = stop != nullptr && *stop;
  }
  if (!ended) {
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (stopped) return absl::UnavailableError(command[0] + " was ended with the server");
  if (late) {
    return absl::UnavailableError(fmt::format("{} did not end within {:.0f} s{}", command[0],
                                              std::chrono::duration<double>(patience).count(),
                                              result.errors.empty() ? "" : ": " + OneLine(result.errors)));
  }
  result.output = ValidUtf8(result.output);
  result.errors = ValidUtf8(result.errors);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

}  // namespace winnow

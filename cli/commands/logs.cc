#include "cli/commands/logs.h"

#include <fmt/core.h>

#include "absl/time/clock.h"
#include "cli/output/json.h"
#include "cli/output/log_text.h"

namespace winnow::cli {
namespace {

constexpr int64_t kChunkBytes = 1 << 20;
constexpr int64_t kWaitSeconds = 20;
constexpr absl::Duration kPatience = absl::Minutes(10);  // with an unreachable server
constexpr absl::Duration kPause = absl::Milliseconds(200);

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
  const bool cleans = session.out.is_terminal() && !options.raw;
  LogText clean;
  bool truncated = false;
  bool answered = false;
  absl::Time lost_at = absl::InfiniteFuture();  // start of the server's absence
  while (true) {
    const auto answer = session.client().Logs(request);
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
    if (session.output == Output::kJson) {
      if (!answer->data().empty() || last) session.out.Print(ToJson(*answer, true));
    } else {
      session.out.Print(cleans ? clean.Add(answer->data()) : answer->data());
    }
    truncated = truncated || answer->truncated();
    if (last || session.out.write_error() != 0) break;
    request.set_offset(answer->next_offset());
    request.set_attempt(answer->attempt());
    if (options.follow) request.mutable_wait()->set_seconds(kWaitSeconds);
  }
  session.out.Print(clean.Finish());
  if (truncated) session.err.Print("winnow: the output was longer than the server keeps\n");
  return kSuccess;
}

}  // namespace winnow::cli

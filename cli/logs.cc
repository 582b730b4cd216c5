#include "cli/logs.h"

#include <fmt/core.h>

#include "cli/json.h"

namespace winnow::cli {
namespace {

constexpr int64_t kChunkBytes = 1 << 20;
constexpr int64_t kWaitSeconds = 20;

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
  bool truncated = false;
  while (true) {
    const auto answer = session.client().Logs(request);
    if (!answer.ok()) return answer.status();
    const bool last = answer->ended() || (answer->data().empty() && !options.follow);
    if (session.output == Output::kJson) {
      if (!answer->data().empty() || last) session.out.Print(ToJson(*answer, true));
    } else {
      session.out.Print(answer->data());
    }
    truncated = truncated || answer->truncated();
    if (last || session.out.write_error() != 0) break;
    request.set_offset(answer->next_offset());
    request.set_attempt(answer->attempt());
    if (options.follow) request.mutable_wait()->set_seconds(kWaitSeconds);
  }
  if (truncated) session.err.Print("winnow: more was printed than the server keeps\n");
  return kSuccess;
}

}  // namespace winnow::cli

#include <fmt/core.h>

#include <utility>

#include "cli/commands/actions.h"
#include "cli/output/json.h"
#include "cli/output/text.h"

namespace winnow::cli {

Exit ChangeJob(Session& session, const ChangeOptions& options) {
  const auto id = session.client().JobId(options.job);
  if (!id.ok()) return id.status();
  v1::ChangeTuningJobRequest request = options.request;
  request.set_id(*id);
  const auto job = session.client().Change(request);
  if (!job.ok()) return job.status();
  if (PrintsJson(session, *job)) return kSuccess;
  const std::string text = job->changes().empty() ? "" : job->changes(job->changes_size() - 1).text();
  session.out.Print(fmt::format("{}: {}\n", *id, Clean(text)));
  return kSuccess;
}

Exit Enqueue(Session& session, ChangeOptions options) {
  auto& values = *options.request.mutable_enqueue()->mutable_hyperparameters();
  for (const std::string& text : options.values) {
    const size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0)
      return UsageError(fmt::format("\"{}\" is not NAME=VALUE", Clean(text)));
    if (!values.insert({text.substr(0, sign), text.substr(sign + 1)}).second)
      return UsageError(fmt::format("{} is given twice", Clean(text.substr(0, sign))));
  }
  return ChangeJob(session, options);
}

}  // namespace winnow::cli

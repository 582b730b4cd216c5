#include "server/sagemaker/monitoring/log_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "server/sagemaker/jobs/job_spec.h"
#include "server/sagemaker/wire/aws_call.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/aws_request.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr char kLogGroup[] = "/aws/sagemaker/TrainingJobs";
constexpr char kInstanceMark[] = "/algo-";
constexpr int64_t kMostEvents = 10'000;
constexpr size_t kMostEventBytes = 1 << 20;

absl::Status NoStream() {
  return AwsError("ResourceNotFoundException", "The specified log stream does not exist.");
}

absl::Status BadToken() {
  return AwsError("InvalidParameterException", "The specified nextToken is invalid.");
}

}  // namespace

struct LogEvents::Lines {
  int64_t time = 0;  // in milliseconds
  size_t most = 0;
  size_t bytes = 0;
  json events = json::array();

  bool full() const { return events.size() >= most || bytes >= kMostEventBytes; }
};

absl::StatusOr<json> LogEvents::Call(const std::string& operation, const json& request,
                                     const std::string& account, const CallerOf& caller) {
  if (operation != "DescribeLogStreams" && operation != "GetLogEvents") {
    return AwsError("UnknownOperationException",
                    "The operation " + operation + " of Logs is not offered by Winnow.");
  }
  if (TextIn(request, "logGroupName") != kLogGroup)
    return AwsError("ResourceNotFoundException", "The specified log group does not exist.");
  return operation == "DescribeLogStreams" ? Streams(request, account, caller)
                                           : Events(request, account, caller);
}

absl::StatusOr<json> LogEvents::Streams(const json& request, const std::string& account,
                                        const CallerOf& caller) {
  const std::string prefix = TextIn(request, "logStreamNamePrefix");
  json answer = {{"logStreams", json::array()}};
  const auto row = jobs_.Find(account, SagemakerJob::kTraining, prefix.substr(0, prefix.find('/')));
  if (!row.ok()) return row.status();
  if (!row->has_value() || (*row)->started_us == 0) return answer;
  const auto job = calls_.Describe(caller, (*row)->winnow_job);
  if (absl::IsNotFound(job.status())) return answer;  // deleted in Winnow, with its logs
  if (!job.ok()) return job.status();
  const int64_t time = (*row)->started_us / 1000;
  for (int instance = 1; instance <= std::max(1, job->spec().cluster().nodes()); ++instance) {
    const std::string name = fmt::format("{}{}{}", (*row)->name, kInstanceMark, instance);
    if (!name.starts_with(prefix)) continue;
    answer["logStreams"].push_back({{"logStreamName", name},
                                    {"creationTime", time},
                                    {"firstEventTimestamp", time},
                                    {"lastEventTimestamp", time}});
  }
  return answer;
}

absl::StatusOr<bool> LogEvents::Take(const CallerOf& caller, const LogRequest& wanted, int64_t& offset,
                                     Lines& lines) {
  LogRequest request = wanted;
  while (!lines.full()) {
    request.offset = offset;
    const auto logs = calls_.Logs(caller, request);
    if (absl::IsNotFound(logs.status())) return true;  // it wrote nothing
    if (!logs.ok()) return logs.status();
    std::string_view rest = logs->data();
    while (!rest.empty() && !lines.full()) {
      size_t end = rest.find('\n');
      // A line that is still being written comes whole with a later call.
      if (end == std::string_view::npos && !logs->ended() && rest.size() < kMostEventBytes) break;
      end = std::min(end, rest.size());
      lines.events.push_back({{"timestamp", lines.time},
                              {"ingestionTime", lines.time},
                              {"message", std::string(rest.substr(0, end))}});
      const size_t taken = std::min(end + 1, rest.size());
      lines.bytes += taken;
      offset += static_cast<int64_t>(taken);
      rest.remove_prefix(taken);
    }
    if (rest.empty() && logs->ended()) return true;
    if (offset == request.offset) return false;
  }
  return false;
}

absl::StatusOr<json> LogEvents::Events(const json& request, const std::string& account,
                                       const CallerOf& caller) {
  const std::string stream = TextIn(request, "logStreamName");
  const size_t cut = stream.find(kInstanceMark);
  int32_t instance = 0;
  if (cut == std::string::npos ||
      !absl::SimpleAtoi(stream.substr(cut + std::string(kInstanceMark).size()), &instance) || instance < 1)
    return NoStream();
  const auto row = jobs_.Find(account, SagemakerJob::kTraining, stream.substr(0, cut));
  if (!row.ok()) return row.status();
  if (!row->has_value() || (*row)->started_us == 0) return NoStream();
  const std::string token = TextIn(request, "nextToken");
  const bool backward = token.starts_with("b/");
  Place place;
  if (!token.empty()) {
    const std::vector<std::string> parts = SplitAt(token, '/');
    if (parts.size() != 4 || (parts[0] != "f" && parts[0] != "b") ||
        !absl::SimpleAtoi(parts[1], &place.attempt) || !absl::SimpleAtoi(parts[2], &place.out) ||
        !absl::SimpleAtoi(parts[3], &place.err) || place.attempt < 1 || place.out < 0 || place.err < 0)
      return BadToken();
  }
  Lines lines;
  lines.time = (*row)->started_us / 1000;
  const double most = NumberIn(request, "limit", static_cast<double>(kMostEvents));
  if (most < 1 || most > static_cast<double>(kMostEvents))
    return AwsError("InvalidParameterException",
                    fmt::format("The limit is {}; expected 1 to {}.", most, kMostEvents));
  lines.most = static_cast<size_t>(most);
  LogRequest wanted;
  wanted.job = (*row)->winnow_job;
  wanted.trial = std::max<int64_t>(1, (*row)->trial);
  wanted.rank = instance - 1;
  const auto newest = calls_.Attempts(caller, wanted.job, wanted.trial);
  if (!newest.ok()) return absl::IsNotFound(newest.status()) ? NoStream() : newest.status();
  // All lines have one time: they are all within what is asked for, or none is. Nothing is before the first.
  const bool within = static_cast<double>(lines.time) >= NumberIn(request, "startTime", 0) &&
                      static_cast<double>(lines.time) < NumberIn(request, "endTime", 1e18);
  while (within && !backward && place.attempt <= *newest && !lines.full()) {
    wanted.attempt = place.attempt;
    wanted.error = false;
    const absl::StatusOr<bool> out = Take(caller, wanted, place.out, lines);
    if (!out.ok()) return out.status();
    wanted.error = true;
    const absl::StatusOr<bool> err = Take(caller, wanted, place.err, lines);
    if (!err.ok()) return err.status();
    if (!*out || !*err || place.attempt == *newest) break;
    place = {place.attempt + 1, 0, 0};
  }
  const std::string at = fmt::format("{}/{}/{}", place.attempt, place.out, place.err);
  return json{
      {"events", std::move(lines.events)}, {"nextForwardToken", "f/" + at}, {"nextBackwardToken", "b/" + at}};
}

}  // namespace winnow

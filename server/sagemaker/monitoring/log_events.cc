#include "server/sagemaker/monitoring/log_events.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <deque>
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

int64_t MillisecondsOf(const v1::GetLogTimesResponse::Part& part, int64_t otherwise) {
  return part.has_receive_time()
             ? google::protobuf::util::TimeUtil::TimestampToMilliseconds(part.receive_time())
             : otherwise;
}

json EventOf(int64_t time_ms, std::string text) {
  return {{"timestamp", time_ms}, {"ingestionTime", time_ms}, {"message", std::move(text)}};
}

absl::Status BadToken() {
  return AwsError("InvalidParameterException", "The specified nextToken is invalid.");
}

}  // namespace

struct LogEvents::Lines {
  struct Line {
    int64_t time_ms = 0;
    std::string text;
    int64_t end = 0;  // the offset behind it
  };
  std::deque<Line> lines;
  bool all = false;  // the output has ended, and all of it is there
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
  const int64_t start_ms = (*row)->started_us / 1000;
  LogRequest wanted;
  wanted.job = (*row)->winnow_job;
  wanted.trial = std::max<int64_t>(1, (*row)->trial);
  for (int instance = 1; instance <= std::max(1, job->spec().cluster().nodes()); ++instance) {
    const std::string name = fmt::format("{}{}{}", (*row)->name, kInstanceMark, instance);
    if (!name.starts_with(prefix)) continue;
    wanted.rank = instance - 1;
    const auto times = TimesOf(caller, wanted, start_ms);
    if (!times.ok()) return times.status();
    answer["logStreams"].push_back({{"logStreamName", name},
                                    {"creationTime", start_ms},
                                    {"firstEventTimestamp", times->first},
                                    {"lastEventTimestamp", times->second}});
  }
  return answer;
}

absl::StatusOr<std::pair<int64_t, int64_t>> LogEvents::TimesOf(const CallerOf& caller, LogRequest wanted,
                                                               int64_t start_ms) {
  const absl::StatusOr<int64_t> newest = calls_.Attempts(caller, wanted.job, wanted.trial);
  if (!newest.ok()) return newest.status();
  std::pair<int64_t, int64_t> times(INT64_MAX, start_ms);
  for (const int64_t attempt : {int64_t{1}, *newest}) {
    for (const bool error : {false, true}) {
      wanted.attempt = attempt;
      wanted.error = error;
      const auto found = calls_.LogTimes(caller, wanted);
      if (absl::IsNotFound(found.status())) continue;  // it wrote nothing
      if (!found.ok()) return found.status();
      if (found->parts().empty()) continue;
      times.first = std::min(times.first, MillisecondsOf(*found->parts().begin(), start_ms));
      times.second = std::max(times.second, MillisecondsOf(*found->parts().rbegin(), start_ms));
    }
  }
  times.first = std::min(times.first, times.second);
  return times;
}

absl::StatusOr<LogEvents::Lines> LogEvents::ReadLines(const CallerOf& caller, const LogRequest& wanted,
                                                      int64_t start_ms) {
  Lines read;
  // All that is kept of a process's output fits into one response. The times are asked for afterwards, so
  // that there is one for each byte.
  const auto logs = calls_.Logs(caller, wanted);
  read.all = absl::IsNotFound(logs.status());  // it wrote nothing
  if (read.all) return read;
  if (!logs.ok()) return logs.status();
  const auto times = calls_.LogTimes(caller, wanted);
  if (!times.ok()) return times.status();
  std::string_view rest = logs->data();
  int64_t offset = wanted.offset;
  int64_t time_ms = start_ms;
  auto part = times->parts().begin();
  while (!rest.empty()) {
    size_t end = rest.find('\n');
    // A line that is still being written comes whole with a later call.
    if (end == std::string_view::npos && !logs->ended() && rest.size() < kMostEventBytes) break;
    end = std::min(end, rest.size());
    const size_t taken = std::min(end + 1, rest.size());
    offset += static_cast<int64_t>(taken);
    for (; part != times->parts().end() && part->offset() < offset; ++part)
      time_ms = MillisecondsOf(*part, start_ms);
    read.lines.push_back({time_ms, std::string(rest.substr(0, end)), offset});
    rest.remove_prefix(taken);
  }
  read.all = rest.empty() && logs->ended();
  return read;
}

std::string LogEvents::Place::Token() const { return fmt::format("{}/{}/{}", attempt, out, err); }

// The lines of an attempt in the order of their times.
struct LogEvents::Merged {
  struct Line {
    int64_t time_ms = 0;
    std::string text;
    Place before, after;
  };
  std::vector<Line> lines;
  bool all = false;
};

absl::StatusOr<LogEvents::Merged> LogEvents::ReadAttempt(const CallerOf& caller, const Page& page,
                                                         const Place& place) {
  LogRequest wanted = page.wanted;
  wanted.attempt = place.attempt;
  wanted.offset = place.out;
  absl::StatusOr<Lines> out = ReadLines(caller, wanted, page.start_ms);
  if (!out.ok()) return out.status();
  wanted.error = true;
  wanted.offset = place.err;
  absl::StatusOr<Lines> err = ReadLines(caller, wanted, page.start_ms);
  if (!err.ok()) return err.status();
  Merged merged;
  merged.all = out->all && err->all;
  Place at = place;
  while (!out->lines.empty() || !err->lines.empty()) {
    const bool error = !err->lines.empty() &&
                       (out->lines.empty() || err->lines.front().time_ms < out->lines.front().time_ms);
    std::deque<Lines::Line>& lines = error ? err->lines : out->lines;
    const Place before = at;
    (error ? at.err : at.out) = lines.front().end;
    merged.lines.push_back({lines.front().time_ms, std::move(lines.front().text), before, at});
    lines.pop_front();
  }
  return merged;
}

absl::StatusOr<json> LogEvents::EventsAfter(const CallerOf& caller, const Page& page, Place& place) {
  json events = json::array();
  size_t bytes = 0;
  while (place.attempt <= page.newest) {
    absl::StatusOr<Merged> merged = ReadAttempt(caller, page, place);
    if (!merged.ok()) return merged.status();
    for (Merged::Line& line : merged->lines) {
      if (static_cast<double>(line.time_ms) >= page.until_ms || events.size() >= page.most ||
          bytes >= kMostEventBytes)
        return events;
      place = line.after;
      if (static_cast<double>(line.time_ms) < page.from_ms) continue;
      bytes += line.text.size();
      events.push_back(EventOf(line.time_ms, std::move(line.text)));
    }
    if (!merged->all || place.attempt == page.newest) break;
    place = {place.attempt + 1, 0, 0};
  }
  return events;
}

absl::StatusOr<json> LogEvents::EventsBefore(const CallerOf& caller, const Page& page, Place& first,
                                             Place& last) {
  const Place end = last;
  first = last = {std::clamp<int64_t>(end.attempt, 1, std::max<int64_t>(1, page.newest)), 0, 0};
  std::vector<json> events;  // the newest first
  size_t bytes = 0;
  bool ended = false;  // whether `last` is known
  for (int64_t attempt = first.attempt; attempt >= 1; --attempt) {
    absl::StatusOr<Merged> merged = ReadAttempt(caller, page, {attempt, 0, 0});
    if (!merged.ok()) return merged.status();
    for (auto line = merged->lines.rbegin(); line != merged->lines.rend(); ++line) {
      const bool behind = attempt == end.attempt && (line->after.out > end.out || line->after.err > end.err);
      if (behind) continue;
      if (!ended) first = last = line->after;
      if (static_cast<double>(line->time_ms) >= page.until_ms) {
        first = last = line->before;
        ended = true;
        continue;
      }
      ended = true;
      if (static_cast<double>(line->time_ms) < page.from_ms || events.size() >= page.most ||
          bytes >= kMostEventBytes) {
        std::reverse(events.begin(), events.end());
        return events;
      }
      first = line->before;
      bytes += line->text.size();
      events.push_back(EventOf(line->time_ms, std::move(line->text)));
    }
  }
  std::reverse(events.begin(), events.end());
  return events;
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
  Place place;
  if (!token.empty()) {
    const std::vector<std::string> parts = SplitAt(token, '/');
    if (parts.size() != 4 || (parts[0] != "f" && parts[0] != "b") ||
        !absl::SimpleAtoi(parts[1], &place.attempt) || !absl::SimpleAtoi(parts[2], &place.out) ||
        !absl::SimpleAtoi(parts[3], &place.err) || place.attempt < 1 || place.out < 0 || place.err < 0)
      return BadToken();
  }
  const double most = NumberIn(request, "limit", static_cast<double>(kMostEvents));
  if (most < 1 || most > static_cast<double>(kMostEvents))
    return AwsError("InvalidParameterException",
                    fmt::format("The limit is {}; expected 1 to {}.", most, kMostEvents));
  Page page;
  page.wanted.job = (*row)->winnow_job;
  page.wanted.trial = std::max<int64_t>(1, (*row)->trial);
  page.wanted.rank = instance - 1;
  const auto newest = calls_.Attempts(caller, page.wanted.job, page.wanted.trial);
  if (!newest.ok()) return absl::IsNotFound(newest.status()) ? NoStream() : newest.status();
  page.newest = *newest;
  page.start_ms = (*row)->started_us / 1000;
  page.from_ms = NumberIn(request, "startTime", 0);
  page.until_ms = NumberIn(request, "endTime", 1e18);
  page.most = static_cast<size_t>(most);
  const auto from_head = request.find("startFromHead");
  const bool forward = token.empty() ? from_head != request.end() && *from_head == true : token[0] == 'f';
  if (token.empty() && !forward) place = {page.newest, INT64_MAX, INT64_MAX};
  Place first = place;
  const absl::StatusOr<json> events =
      forward ? EventsAfter(caller, page, place) : EventsBefore(caller, page, first, place);
  if (!events.ok()) return events.status();
  return json{{"events", *events},
              {"nextForwardToken", "f/" + place.Token()},
              {"nextBackwardToken", "b/" + first.Token()}};
}

}  // namespace winnow

#include "server/sagemaker/monitoring/metric_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/utf8.h"
#include "server/sagemaker/jobs/job_spec.h"
#include "server/sagemaker/wire/aws_call.h"
#include "server/sagemaker/wire/aws_error.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr char kMetricNamespace[] = "/aws/sagemaker/TrainingJobs";
constexpr char kJobDimension[] = "TrainingJobName";
constexpr double kMostStatistics = 1440;
constexpr size_t kMostQueries = 500;
constexpr double kMostPoints = 100'800;
constexpr double kLatestTime = 1e11;  // seconds

absl::Status InvalidValue(const std::string& message) { return AwsError("InvalidParameterValue", message); }

absl::Status Missing(const std::string& name) {
  return AwsError("MissingParameter", "The parameter " + name + " is required.");
}

const json& MembersOf(const json& request, const char* name) {
  static const json* const empty = new json(json::array());
  const auto found = request.find(name);
  return found == request.end() || !found->is_array() ? *empty : *found;
}

// The job that the dimensions name; "" for others.
std::string JobIn(const json& metric) {
  for (const json& dimension : MembersOf(metric, "Dimensions")) {
    if (dimension.is_object() && TextIn(dimension, "Name") == kJobDimension)
      return TextIn(dimension, "Value");
  }
  return "";
}

}  // namespace

absl::StatusOr<json> MetricStatistics::Call(const std::string& operation, const json& request,
                                            const std::string& account, const CallerOf& caller) {
  if (operation == "GetMetricStatistics") return Statistics(request, account, caller);
  if (operation == "GetMetricData") return Data(request, account, caller);
  if (operation == "ListMetrics") return Names(request, account, caller);
  return AwsError("InvalidAction", "The operation " + operation + " of CloudWatch is not offered by Winnow.");
}

absl::StatusOr<std::vector<v1::MetricPoint>> MetricStatistics::PointsOf(const std::string& job,
                                                                        const std::string& metric,
                                                                        const std::string& account,
                                                                        const CallerOf& caller) {
  const auto row = jobs_.Find(account, SagemakerJob::kTraining, job);
  if (!row.ok()) return row.status();
  if (!row->has_value()) return std::vector<v1::MetricPoint>();
  auto points = calls_.Metrics(caller, (*row)->winnow_job, std::max<int64_t>(1, (*row)->trial), metric);
  if (absl::IsNotFound(points.status())) return std::vector<v1::MetricPoint>();
  return points;
}

absl::StatusOr<MetricStatistics::Values> MetricStatistics::ValuesOf(const Wanted& wanted,
                                                                    const std::string& account,
                                                                    const CallerOf& caller) {
  Values values;
  if (!IsUtf8(wanted.metric)) return values;  // no metric has such a name
  const absl::StatusOr<std::vector<v1::MetricPoint>> points =
      PointsOf(wanted.job, wanted.metric, account, caller);
  if (!points.ok()) return points.status();
  for (const v1::MetricPoint& point : *points) {
    const int64_t seconds = point.time().seconds();
    if (std::isfinite(point.value()))
      values.push_back({seconds, static_cast<double>(seconds) + point.time().nanos() / 1e9, point.value()});
  }
  return values;
}

MetricStatistics::Series MetricStatistics::Sum(const Wanted& wanted, const Values& values) {
  // The start is rounded down to a minute, or to a shorter period.
  const double grain = static_cast<double>(std::min<int64_t>(wanted.period, 60));
  const double begin = std::floor(wanted.begin / grain) * grain;
  Series series;
  for (const Value& each : values) {
    if (each.time < begin || each.time >= wanted.end) continue;
    Summed& summed = series[each.seconds / wanted.period * wanted.period];
    summed.least = summed.count == 0 ? each.value : std::min(summed.least, each.value);
    summed.most = summed.count == 0 ? each.value : std::max(summed.most, each.value);
    summed.sum += each.value;
    ++summed.count;
  }
  return series;
}

absl::StatusOr<double> MetricStatistics::StatisticOf(const Summed& summed, const std::string& name) {
  if (name == "Average") return summed.sum / static_cast<double>(summed.count);
  if (name == "Sum") return summed.sum;
  if (name == "Minimum") return summed.least;
  if (name == "Maximum") return summed.most;
  if (name == "SampleCount") return static_cast<double>(summed.count);
  return InvalidValue("The statistic " + name +
                      " is not offered here; expected Average, Sum, Minimum, Maximum or SampleCount.");
}

absl::StatusOr<MetricStatistics::Wanted> MetricStatistics::ReadMetric(const json& metric, double period,
                                                                      const json& times) {
  Wanted wanted;
  wanted.job = JobIn(metric);
  wanted.metric = TextIn(metric, "MetricName");
  if (TextIn(metric, "Namespace").empty()) return Missing("Namespace");
  if (wanted.metric.empty()) return Missing("MetricName");
  // Nothing is recorded elsewhere.
  if (TextIn(metric, "Namespace") != kMetricNamespace) wanted.job.clear();
  wanted.begin = NumberIn(times, "StartTime", -1);
  wanted.end = NumberIn(times, "EndTime", -1);
  if (wanted.begin < 0 || wanted.begin > kLatestTime) return Missing("StartTime");
  if (wanted.end < 0 || wanted.end > kLatestTime) return Missing("EndTime");
  if (wanted.begin >= wanted.end)
    return InvalidValue("The parameter StartTime must be less than the parameter EndTime.");
  const bool minutes = std::fmod(period, 60) == 0;
  const bool short_one = period == 1 || period == 5 || period == 10 || period == 20 || period == 30;
  if (period < 1 || period > 86'400 * 365.0 || !(minutes || short_one))
    return InvalidValue("The parameter Period must be 1, 5, 10, 20, 30, or a multiple of 60.");
  wanted.period = static_cast<int64_t>(period);
  return wanted;
}

absl::StatusOr<json> MetricStatistics::Statistics(const json& request, const std::string& account,
                                                  const CallerOf& caller) {
  const absl::StatusOr<Wanted> wanted = ReadMetric(request, NumberIn(request, "Period", 0), request);
  if (!wanted.ok()) return wanted.status();
  const double most = std::ceil((wanted->end - wanted->begin) / static_cast<double>(wanted->period));
  if (most > kMostStatistics) {
    return AwsError(
        "InvalidParameterCombination",
        fmt::format("You have requested up to {} datapoints, which exceeds the limit of {}. You may "
                    "reduce the datapoints requested by increasing Period, or decreasing the time range.",
                    most, kMostStatistics));
  }
  std::set<std::string> names;
  for (const json& name : MembersOf(request, "Statistics")) {
    if (name.is_string()) names.insert(name.get<std::string>());
  }
  if (names.empty()) return Missing("Statistics");
  for (const std::string& name : names) {
    const absl::StatusOr<double> known = StatisticOf({0, 0, 0, 1}, name);
    if (!known.ok()) return known.status();
  }
  const absl::StatusOr<Values> values = ValuesOf(*wanted, account, caller);
  if (!values.ok()) return values.status();
  json answer = {{"Label", wanted->metric}, {"Datapoints", json::array()}};
  for (const auto& [time, summed] : Sum(*wanted, *values)) {
    json point = {{"Timestamp", time}, {"Unit", "None"}};
    for (const std::string& name : names) point[name] = *StatisticOf(summed, name);
    answer["Datapoints"].push_back(std::move(point));
  }
  return answer;
}

absl::StatusOr<json> MetricStatistics::Data(const json& request, const std::string& account,
                                            const CallerOf& caller) {
  const json& queries = MembersOf(request, "MetricDataQueries");
  if (queries.empty()) return Missing("MetricDataQueries");
  if (queries.size() > kMostQueries)
    return AwsError("ValidationError", fmt::format("MetricDataQueries has {} members; expected at most {}.",
                                                   queries.size(), kMostQueries));
  const auto most = static_cast<int64_t>(
      std::min(std::max(NumberIn(request, "MaxDatapoints", kMostPoints), 1.0), kMostPoints));
  const std::string token = TextIn(request, "NextToken");
  int64_t from = 0;
  if (!token.empty() && (!absl::SimpleAtoi(token, &from) || from < 0))
    return AwsError("InvalidNextToken", "The NextToken is not one that this operation has given out.");
  json answer = {{"MetricDataResults", json::array()}, {"Messages", json::array()}};
  int64_t at = 0;                                              // among the points of all queries
  std::map<std::pair<std::string, std::string>, Values> read;  // by job and metric
  std::set<std::string> ids;
  for (const json& query : queries) {
    if (!query.is_object() || !query.contains("MetricStat") || !query["MetricStat"].is_object())
      return AwsError("ValidationError",
                      "Each of MetricDataQueries needs MetricStat; expressions are not offered by Winnow.");
    const std::string id = TextIn(query, "Id");
    if (id.empty() || !ids.insert(id).second)
      return AwsError("ValidationError", "Each of MetricDataQueries needs an Id of its own.");
    const json& stat = query["MetricStat"];
    const json& metric = ObjectIn(stat, "Metric");
    const absl::StatusOr<Wanted> wanted = ReadMetric(metric, NumberIn(stat, "Period", 0), request);
    if (!wanted.ok()) return wanted.status();
    const absl::StatusOr<double> known = StatisticOf({0, 0, 0, 1}, TextIn(stat, "Stat"));
    if (!known.ok()) return known.status();
    // What is beyond this page is not read.
    const bool beyond = at > from + most;
    const auto [values, is_new] = read.try_emplace({wanted->job, wanted->metric});
    if (is_new && !beyond) {
      absl::StatusOr<Values> found = ValuesOf(*wanted, account, caller);
      if (!found.ok()) return found.status();
      values->second = *std::move(found);
    }
    const Series series = beyond ? Series() : Sum(*wanted, values->second);
    std::vector<std::pair<int64_t, Summed>> points(series.begin(), series.end());
    if (TextIn(request, "ScanBy", "TimestampDescending") == "TimestampDescending")
      std::reverse(points.begin(), points.end());
    json result = {{"Id", id},
                   {"Label", TextIn(query, "Label", wanted->metric)},
                   {"Timestamps", json::array()},
                   {"Values", json::array()},
                   {"StatusCode", beyond ? "PartialData" : "Complete"}};
    for (const auto& [time, summed] : points) {
      if (at >= from && at < from + most) {
        result["Timestamps"].push_back(time);
        result["Values"].push_back(*StatisticOf(summed, TextIn(stat, "Stat")));
      } else if (at >= from) {
        result["StatusCode"] = "PartialData";
      }
      ++at;
    }
    const auto hidden = query.find("ReturnData");
    const bool returned =
        hidden == query.end() || !(hidden->is_boolean() ? !hidden->get<bool>() : *hidden == "false");
    if (returned) answer["MetricDataResults"].push_back(std::move(result));
  }
  if (at > from + most) answer["NextToken"] = std::to_string(from + most);
  return answer;
}

absl::StatusOr<json> MetricStatistics::Names(const json& request, const std::string& account,
                                             const CallerOf& caller) {
  json answer = {{"Metrics", json::array()}};
  const std::string job = JobIn(request);
  if (job.empty() || TextIn(request, "Namespace", kMetricNamespace) != kMetricNamespace) return answer;
  const absl::StatusOr<std::vector<v1::MetricPoint>> points = PointsOf(job, "", account, caller);
  if (!points.ok()) return points.status();
  std::set<std::string> names;
  for (const v1::MetricPoint& point : *points) names.insert(point.metric());
  const std::string only = TextIn(request, "MetricName");
  for (const std::string& name : names) {
    if (!only.empty() && name != only) continue;
    answer["Metrics"].push_back({{"Namespace", kMetricNamespace},
                                 {"MetricName", name},
                                 {"Dimensions", json::array({{{"Name", kJobDimension}, {"Value", job}}})}});
  }
  return answer;
}

}  // namespace winnow

#include "server/sagemaker/jobs/job_service.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_text.h"
#include "server/sagemaker/jobs/job_answers.h"
#include "server/sagemaker/jobs/job_spec.h"
#include "server/sagemaker/jobs/request_shape.h"
#include "server/sagemaker/wire/aws_error.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr int64_t kPageDefault = 10;
constexpr size_t kMostTags = 50;

absl::Status Refused(const std::string& message) { return AwsError("ValidationException", message); }

int64_t CurrentUs() { return absl::ToUnixMicros(absl::Now()); }

std::map<std::string, std::string> TagsIn(const json& request) {
  std::map<std::string, std::string> tags;
  if (request.contains("Tags") && request["Tags"].is_array()) {
    for (const json& tag : request["Tags"]) tags[tag["Key"]] = tag["Value"];
  }
  return tags;
}

// A member that is null is absent.
json WithoutNulls(const json& value) {
  if (value.is_array()) {
    json kept = json::array();
    for (const json& each : value) {
      if (!each.is_null()) kept.push_back(WithoutNulls(each));
    }
    return kept;
  }
  if (!value.is_object()) return value;
  json kept = json::object();
  for (const auto& [name, member] : value.items()) {
    if (!member.is_null()) kept[name] = WithoutNulls(member);
  }
  return kept;
}

int64_t TimeIn(const json& request, const char* member, int64_t otherwise) {
  const auto found = request.find(member);
  if (found == request.end() || !found->is_number()) return otherwise;
  const double seconds = std::min(std::max(found->get<double>(), 0.0), 9e12);
  return static_cast<int64_t>(seconds * 1e6);
}

// A token is the place of a page's last job. Refused: it is not of this order.
absl::StatusOr<JobQuery::Place> PlaceOf(const std::string& token, JobQuery::Sort sort) {
  std::string text;
  const json place = absl::WebSafeBase64Unescape(token, &text) ? json::parse(text, nullptr, false)
                                                               : json(json::value_t::discarded);
  const bool is_number = sort == JobQuery::kCreated || sort == JobQuery::kObjective;
  if (!place.is_array() || place.size() != 2 || !place[1].is_string() ||
      !(is_number ? place[0].is_number() : place[0].is_string()))
    return Refused("The NextToken is not one that this operation has given out.");
  JobQuery::Place after{nullptr, place[1]};
  if (sort == JobQuery::kCreated) {
    after.value = place[0].get<int64_t>();
  } else if (sort == JobQuery::kObjective) {
    after.value = place[0].get<double>();
  } else {
    after.value = place[0].get<std::string>();
  }
  return after;
}

std::string TokenOf(const SagemakerJob& row, JobQuery::Sort sort) {
  const json value = sort == JobQuery::kCreated     ? json(row.created_us)
                     : sort == JobQuery::kObjective ? json(row.objective.value_or(0))
                     : sort == JobQuery::kStatus    ? json(row.status)
                                                    : json(row.name);
  return absl::WebSafeBase64Escape(json{value, row.name}.dump());
}

// REQUIRES: `query` has its order.
absl::Status ReadPage(const json& request, JobQuery& query) {
  query.most = request.contains("MaxResults") && request["MaxResults"].is_number()
                   ? request["MaxResults"].get<int64_t>()
                   : kPageDefault;
  query.descending = TextIn(request, "SortOrder", "Ascending") == "Descending";
  const std::string token = TextIn(request, "NextToken");
  if (token.empty()) return absl::OkStatus();
  absl::StatusOr<JobQuery::Place> after = PlaceOf(token, query.sort);
  if (!after.ok()) return after.status();
  query.after = *std::move(after);
  return absl::OkStatus();
}

JobQuery::Sort SortOf(const std::string& name) {
  if (name == "Name") return JobQuery::kName;
  if (name == "Status") return JobQuery::kStatus;
  return name == "FinalObjectiveMetricValue" ? JobQuery::kObjective : JobQuery::kCreated;
}

// Takes the row beyond the page off; returns the token of the next page, or "".
std::string NextToken(const JobQuery& query, std::vector<SagemakerJob>& rows) {
  if (static_cast<int64_t>(rows.size()) < query.most) return "";
  rows.pop_back();
  return rows.empty() ? "" : TokenOf(rows.back(), query.sort);
}

const char* NameMember(SagemakerJob::Kind kind) {
  return kind == SagemakerJob::kTuning ? "HyperParameterTuningJobName" : "TrainingJobName";
}

}  // namespace

absl::StatusOr<json> JobService::Call(const std::string& operation, const json& sent,
                                      const JobCaller& caller) {
  const json request = WithoutNulls(sent);
  if (!HasRequestShape(operation)) {
    return AwsError("ValidationException",
                    fmt::format("The operation {} is not offered by Winnow.", operation));
  }
  if (absl::Status status = CheckRequestShape(operation, request); !status.ok()) return status;
  if (operation == "CreateHyperParameterTuningJob") return CreateTuning(request, caller);
  if (operation == "CreateTrainingJob") return CreateTraining(request, caller);
  if (operation == "ListHyperParameterTuningJobs") return List(SagemakerJob::kTuning, request, caller);
  if (operation == "ListTrainingJobs") return List(SagemakerJob::kTraining, request, caller);
  if (operation == "ListTrainingJobsForHyperParameterTuningJob") return ListChildren(request, caller);
  if (absl::EndsWith(operation, "Tags")) return Tags(operation, request, caller);
  const bool tuning = operation.find("HyperParameterTuningJob") != std::string::npos;
  const SagemakerJob::Kind kind = tuning ? SagemakerJob::kTuning : SagemakerJob::kTraining;
  const std::string name = request[NameMember(kind)];
  if (operation.starts_with("Describe")) return Describe(kind, name, caller);
  if (operation.starts_with("Stop")) return Stop(kind, name, caller);
  return Delete(kind, name, caller);
}

absl::StatusOr<SagemakerJob> JobService::Find(SagemakerJob::Kind kind, const std::string& name,
                                              const JobCaller& caller) {
  absl::StatusOr<std::optional<SagemakerJob>> row = table_.Find(caller.account, kind, name);
  if (!row.ok()) return row.status();
  if (row->has_value()) return **std::move(row);
  if (kind == SagemakerJob::kTraining) return Refused("Requested resource not found.");
  return NoTuningJob(name);
}

JobService::Answer JobService::CreateTuning(const json& request, const JobCaller& caller) {
  SagemakerJob row;
  row.kind = SagemakerJob::kTuning;
  return Create(std::move(row), request, caller);
}

JobService::Answer JobService::CreateTraining(const json& request, const JobCaller& caller) {
  SagemakerJob row;
  row.kind = SagemakerJob::kTraining;
  row.secondary = "Starting";
  return Create(std::move(row), request, caller);
}

JobService::Answer JobService::Create(SagemakerJob row, const json& request, const JobCaller& caller) {
  row.account = caller.account;
  row.region = caller.region;
  row.key_id = caller.key_id;
  row.name = request[NameMember(row.kind)];
  row.request = request.dump();
  row.status = "InProgress";
  row.created_us = row.modified_us = CurrentUs();
  const std::string arn = ArnOf(row);
  const bool first = starter_.BeginCreation(row);
  const absl::Cleanup end = [&] {
    if (first) starter_.EndCreation(row);
  };
  // The name is taken before anything starts; what cannot be started gives it back.
  absl::Status status = first ? table_.Insert(row, TagsIn(request), arn) : absl::AlreadyExistsError(row.name);
  if (absl::IsAlreadyExists(status)) {
    return AwsError("ResourceInUse",
                    fmt::format("A {} with the name, {}, already exists. Choose a different name.",
                                row.kind == SagemakerJob::kTuning ? "tuning job" : "training job", row.name));
  }
  if (!status.ok()) return status;
  status = Start(row, caller.winnow);
  if (!status.ok()) return status;
  return json{
      {std::string(row.kind == SagemakerJob::kTuning ? "HyperParameterTuningJobArn" : "TrainingJobArn"),
       arn}};
}

absl::Status JobService::Start(SagemakerJob row, const CallerOf& caller) {
  absl::StatusOr<std::string> jobs = AwsError("InternalFailure", "The request failed within the server.");
  // After an exception too the name is free again.
  try {
    jobs = starter_.Start(row, caller);
  } catch (const std::exception& exception) {
    spdlog::error("SageMaker: {} could not be created: {}", row.name, exception.what());
  }
  // Winnow may have the job, or get it yet: nothing else may have its name. The follower finds out.
  if (OutcomeIsUnknown(jobs.status())) {
    spdlog::warn("SageMaker: whether {} was created is not known yet: {}", row.name,
                 MessageOf(jobs.status()));
    follower_.Wake();
    return absl::OkStatus();
  }
  if (!jobs.ok()) {
    const absl::Status status = table_.Delete(row, ArnOf(row));
    return status.ok() ? jobs.status() : status;
  }
  row.winnow_job = *std::move(jobs);
  if (absl::Status status = table_.Write({row}); !status.ok()) return status;
  follower_.Wake();
  return absl::OkStatus();
}

JobService::Answer JobService::DescribeTrainingJob(const SagemakerJob& row, const JobCaller& caller) {
  if (row.parent.empty()) return DescribeTraining(row, json::parse(row.request), nullptr);
  const auto parent = table_.Find(caller.account, SagemakerJob::kTuning, row.parent);
  if (!parent.ok()) return parent.status();
  SagemakerJob of = row;  // what a deleted tuning job has left
  of.kind = SagemakerJob::kTuning;
  of.name = row.parent.substr(0, row.parent.find('/'));
  if (parent->has_value()) of = **parent;
  json answer = DescribeTraining(row, json::parse(of.request), &of);
  // Few of a tuning job's models are asked for: who asks where one is gets it put there.
  if (row.status == "Completed" || row.status == "Stopped")
    follower_.OfferModel(caller.winnow, row, answer["ModelArtifacts"]["S3ModelArtifacts"]);
  return answer;
}

absl::StatusOr<std::optional<SagemakerJob>> JobService::BestOf(const SagemakerJob& tuning) {
  const std::string name = tuning.result.empty() ? "" : TextIn(json::parse(tuning.result), "best");
  if (name.empty()) return std::nullopt;
  auto best = table_.Find(tuning.account, SagemakerJob::kTraining, name);
  return best.ok() && best->has_value() && !(*best)->objective ? std::optional<SagemakerJob>() : best;
}

absl::Status JobService::AddOverallBest(const json& request, const JobCaller& caller, json& answer) {
  const json& warm = ObjectIn(request, "WarmStartConfig");
  if (TextIn(warm, "WarmStartType") != "IdenticalDataAndAlgorithm") return absl::OkStatus();
  json overall = ObjectIn(answer, "BestTrainingJob");
  const auto value = [](const json& summary) -> double {
    return summary["FinalHyperParameterTuningJobObjectiveMetric"]["Value"];
  };
  const bool maximized = TextIn(ObjectiveOf(request, 0), "Type") == "Maximize";
  for (const json& each : ListIn(warm, "ParentHyperParameterTuningJobs")) {
    const auto parent =
        table_.Find(caller.account, SagemakerJob::kTuning, TextIn(each, "HyperParameterTuningJobName"));
    if (!parent.ok()) return parent.status();
    if (!parent->has_value()) continue;  // deleted meanwhile
    const absl::StatusOr<std::optional<SagemakerJob>> best = BestOf(**parent);
    if (!best.ok()) return best.status();
    if (!best->has_value()) continue;
    const json summary = SummaryOfChild(**best, json::parse((*parent)->request));
    if (overall.empty() || (maximized ? value(summary) > value(overall) : value(summary) < value(overall)))
      overall = summary;
  }
  if (!overall.empty()) answer["OverallBestTrainingJob"] = std::move(overall);
  return absl::OkStatus();
}

JobService::Answer JobService::Describe(SagemakerJob::Kind kind, const std::string& name,
                                        const JobCaller& caller) {
  const absl::StatusOr<SagemakerJob> row = Find(kind, name, caller);
  if (!row.ok()) return row.status();
  if (kind == SagemakerJob::kTraining) return DescribeTrainingJob(*row, caller);
  auto children = table_.CountChildren(caller.account, {row->name});
  if (!children.ok()) return children.status();
  const absl::StatusOr<std::optional<SagemakerJob>> best = BestOf(*row);
  if (!best.ok()) return best.status();
  const json request = json::parse(row->request);
  json answer = DescribeTuning(*row, request, (*children)[row->name], *best);
  if (absl::Status status = AddOverallBest(request, caller, answer); !status.ok()) return status;
  return answer;
}

JobService::Answer JobService::List(SagemakerJob::Kind kind, const json& request, const JobCaller& caller) {
  JobQuery query;
  query.account = caller.account;
  query.kind = kind;
  query.name_contains = TextIn(request, "NameContains");
  query.status = TextIn(request, "StatusEquals");
  query.created_after_us = TimeIn(request, "CreationTimeAfter", 0);
  query.created_before_us = TimeIn(request, "CreationTimeBefore", INT64_MAX);
  query.modified_after_us = TimeIn(request, "LastModifiedTimeAfter", 0);
  query.modified_before_us = TimeIn(request, "LastModifiedTimeBefore", INT64_MAX);
  query.sort = SortOf(TextIn(request, "SortBy", kind == SagemakerJob::kTuning ? "Name" : "CreationTime"));
  if (absl::Status status = ReadPage(request, query); !status.ok()) return status;
  if (request.contains("WarmPoolStatusEquals")) query.status = "(no warm pools)";
  ++query.most;
  absl::StatusOr<std::vector<SagemakerJob>> rows = table_.List(query);
  if (!rows.ok()) return rows.status();
  const std::string next = NextToken(query, *rows);
  json summaries = json::array();
  if (kind == SagemakerJob::kTraining) {
    for (const SagemakerJob& row : *rows) summaries.push_back(SummaryOfTraining(row));
  } else {
    std::vector<std::string> names;
    for (const SagemakerJob& row : *rows) names.push_back(row.name);
    auto children = table_.CountChildren(caller.account, names);
    if (!children.ok()) return children.status();
    for (const SagemakerJob& row : *rows)
      summaries.push_back(SummaryOfTuning(row, json::parse(row.request), (*children)[row.name]));
  }
  json answer;
  answer[kind == SagemakerJob::kTuning ? "HyperParameterTuningJobSummaries" : "TrainingJobSummaries"] =
      std::move(summaries);
  if (!next.empty()) answer["NextToken"] = next;
  return answer;
}

JobService::Answer JobService::ListChildren(const json& request, const JobCaller& caller) {
  const absl::StatusOr<SagemakerJob> row =
      Find(SagemakerJob::kTuning, request["HyperParameterTuningJobName"], caller);
  if (!row.ok()) return row.status();
  JobQuery query;
  query.account = caller.account;
  query.parent = row->name;
  query.status = TextIn(request, "StatusEquals");
  query.sort = SortOf(TextIn(request, "SortBy", "Name"));
  if (absl::Status status = ReadPage(request, query); !status.ok()) return status;
  ++query.most;
  absl::StatusOr<std::vector<SagemakerJob>> rows = table_.List(query);
  if (!rows.ok()) return rows.status();
  const std::string next = NextToken(query, *rows);
  const json tuning = json::parse(row->request);
  json answer = {{"TrainingJobSummaries", json::array()}};
  for (const SagemakerJob& child : *rows)
    answer["TrainingJobSummaries"].push_back(SummaryOfChild(child, tuning));
  if (!next.empty()) answer["NextToken"] = next;
  return answer;
}

JobService::Answer JobService::Stop(SagemakerJob::Kind kind, const std::string& name,
                                    const JobCaller& caller) {
  const absl::StatusOr<SagemakerJob> row = Find(kind, name, caller);
  if (!row.ok()) return row.status();
  if (row->ended()) {
    if (kind == SagemakerJob::kTraining)
      return Refused(
          fmt::format("The request was rejected because the training job is in status {}.", row->status));
    return Refused(fmt::format("The tuning job {} is already in the terminal state {} and cannot be stopped.",
                               row->name, row->status));
  }
  if (!row->parent.empty())
    return Refused("A training job of a tuning job cannot be stopped alone here; stop the tuning job " +
                   row->parent + ".");
  if (row->winnow_job.empty())
    return AwsError("ThrottlingException", fmt::format("The job {} is being created; try again.", row->name));
  for (const std::string& job : row->winnow_jobs()) {
    const absl::Status status = calls_.Stop(caller.winnow, job);
    // One of several may have ended.
    if (!status.ok() && row->winnow_jobs().size() == 1) return OfWinnow(status);
  }
  if (absl::Status status = table_.MarkStopping(*row, CurrentUs()); !status.ok()) return status;
  follower_.Wake();
  return json();
}

JobService::Answer JobService::Delete(SagemakerJob::Kind kind, const std::string& name,
                                      const JobCaller& caller) {
  const absl::StatusOr<SagemakerJob> row = Find(kind, name, caller);
  if (!row.ok()) return row.status();
  if (!row->ended()) {
    if (kind == SagemakerJob::kTraining)
      return AwsError("ResourceInUse", fmt::format("The training job {} is {} and not in a terminal state.",
                                                   row->name, row->status));
    return Refused(
        fmt::format("The tuning job {} is {} and not in a terminal state.", row->name, row->status));
  }
  if (kind == SagemakerJob::kTraining && row->parent.empty() && !row->winnow_job.empty()) {
    const absl::Status status = calls_.Delete(caller.winnow, row->winnow_job);
    if (!status.ok() && !absl::IsNotFound(status)) return OfWinnow(status);
  }
  if (absl::Status status = table_.Delete(*row, ArnOf(*row)); !status.ok()) return status;
  return json();
}

JobService::Answer JobService::Tags(const std::string& operation, const json& request,
                                    const JobCaller& caller) {
  const std::string arn = absl::AsciiStrToLower(request["ResourceArn"].get<std::string>());
  const std::vector<std::string> parts = absl::StrSplit(arn, absl::MaxSplits(':', 5));
  const std::vector<std::string> path = absl::StrSplit(parts.back(), absl::MaxSplits('/', 1));
  const bool tuning = path[0] == "hyper-parameter-tuning-job";
  if (parts.size() != 6 || path.size() != 2 || (!tuning && path[0] != "training-job") ||
      parts[4] != caller.account)
    return Refused("Requested resource not found.");
  const auto row =
      table_.Find(caller.account, tuning ? SagemakerJob::kTuning : SagemakerJob::kTraining, path[1]);
  if (!row.ok()) return row.status();
  if (!row->has_value()) return Refused("Requested resource not found.");
  const std::string own = ArnOf(**row);
  absl::StatusOr<std::map<std::string, std::string>> tags = table_.Tags(caller.account, own);
  if (!tags.ok()) return tags.status();
  if (operation == "DeleteTags") {
    absl::Status status =
        table_.RemoveTags(caller.account, own, request["TagKeys"].get<std::vector<std::string>>());
    return status.ok() ? Answer(json::object()) : status;
  }
  if (operation == "AddTags") {
    for (const auto& [key, value] : TagsIn(request)) (*tags)[key] = value;
    if (tags->size() > kMostTags) return Refused("A resource has at most 50 tags.");
    if (absl::Status status = table_.SetTags(caller.account, own, *tags); !status.ok()) return status;
  }
  json answer = {{"Tags", json::array()}};
  for (const auto& [key, value] : *tags) answer["Tags"].push_back({{"Key", key}, {"Value", value}});
  return answer;
}

}  // namespace winnow

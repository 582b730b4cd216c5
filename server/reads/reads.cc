#include "server/reads/reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_join.h"
#include "server/engine/answers/job_view.h"
#include "server/engine/answers/messages.h"
#include "server/engine/answers/requester.h"
#include "server/engine/answers/violations.h"
#include "server/engine/jobs.h"
#include "server/reads/annotations.h"
#include "server/reads/paging.h"
#include "server/reads/wait_reasons.h"
#include "spec/annotation.h"
#include "spec/cluster.h"
#include "spec/search_spec.h"
#include "store/tables/projects.h"

namespace winnow {
namespace {

constexpr char kKept[] =
    ": if workers share no directory, only those of the best trial and of trials that may train on are kept";
constexpr int64_t kWatchBatch = 500;
// Total for the jobs of one page of a list; its last job may exceed it.
constexpr size_t kMostListBytes = 2 << 20;
// Bytes of the trials of one page; the last may exceed it.
constexpr size_t kMostTrialBytes = 8 << 20;
constexpr int64_t kMostReportEvents = 10'000;  // of a trial: the newest
// The largest message that the gRPC server sends.
constexpr size_t kMostResponseBytes = 16 << 20;
// Values of one job's spec in a list, if the spec is large.
constexpr int kMostListedValues = 20;
constexpr size_t kMostListedSpecBytes = 64 << 10;

template <typename Values>
void KeepFirst(Values* values) {
  if (values->size() > kMostListedValues)
    values->DeleteSubrange(kMostListedValues, values->size() - kMostListedValues);
}

// As documented at ListTuningJobsResponse.
void Abridge(v1::TuningJobSpec& spec) {
  spec.clear_initial_configurations();
  spec.clear_warm_start();
  spec.clear_constraints();
  spec.clear_static_hyperparameters();
  spec.clear_channels();
  v1::TrainerSpec& trainer = *spec.mutable_trainer();
  trainer.clear_environment();
  trainer.clear_secrets();
  trainer.clear_metrics();
  trainer.clear_resource_regex();
  if (trainer.command_size() > 1) trainer.mutable_command()->DeleteSubrange(1, trainer.command_size() - 1);
  for (v1::ParameterSpec& parameter : *spec.mutable_parameters()) {
    if (parameter.has_categorical()) KeepFirst(parameter.mutable_categorical()->mutable_values());
    if (parameter.has_discrete()) {
      auto* values = parameter.mutable_discrete()->mutable_values();
      if (values->size() > kMostListedValues) values->Truncate(kMostListedValues);
    }
    if (parameter.has_condition()) KeepFirst(parameter.mutable_condition()->mutable_values());
  }
  if (spec.ByteSizeLong() <= kMostListedSpecBytes) return;
  spec.clear_parameters();
  trainer.clear_command();
}

std::string StateName(int state) {
  std::string name = v1::Trial::State_Name(static_cast<v1::Trial::State>(state));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

constexpr size_t kLongestSearch = 256;

// INVALID_ARGUMENT names the field.
absl::StatusOr<JobFilter> ToFilter(const v1::ListTuningJobsRequest& request) {
  JobFilter filter;
  if (const std::vector<Violation> wrong = CheckTags(request.tags(), "tags"); !wrong.empty())
    return ViolationsError(wrong);
  filter.tags = SortedTags(request.tags());
  for (int state : request.states()) {
    if (state < v1::TuningJob::RUNNING || state > v1::TuningJob::FAILED) {
      return absl::InvalidArgumentError(fmt::format("states: {} is not a state of a job", state));
    }
    filter.states.push_back(absl::AsciiStrToLower(v1::TuningJob::State_Name(v1::TuningJob::State(state))));
  }
  if (request.search().size() > kLongestSearch) {
    return absl::InvalidArgumentError(
        fmt::format("search: has {} bytes; expected at most {}", request.search().size(), kLongestSearch));
  }
  if (request.search().find('\0') != std::string::npos)
    return absl::InvalidArgumentError("search: holds a NUL character; expected none");
  filter.search = request.search();
  return filter;
}

// Distinguishes filters; "" for none.
std::string FilterText(const JobFilter& filter) {
  std::string text;
  for (const std::string& tag : filter.tags) text += " #" + tag;
  for (const std::string& state : filter.states) text += " " + state;
  if (!filter.search.empty()) text += " ?" + filter.search;
  if (filter.projects) text += " @" + absl::StrJoin(*filter.projects, "@");
  return text;
}

absl::StatusOr<TrialQuery> ToQuery(const v1::ListTrialsRequest& request, const SearchSpec& spec) {
  TrialQuery query;
  for (int state : request.states()) {
    if (state < v1::Trial::PENDING || state > v1::Trial::CANCELLED) {
      return absl::InvalidArgumentError(fmt::format("states: {} is not a state of a trial", state));
    }
    query.states.push_back(StateName(state));
  }
  if (const std::vector<Violation> wrong = CheckTags(request.tags(), "tags"); !wrong.empty())
    return ViolationsError(wrong);
  query.tags = SortedTags(request.tags());
  std::string column = request.order_by();
  bool reverse = false;
  for (const char* suffix : {" desc", " asc"}) {
    if (column.size() < std::string_view(suffix).size() || !column.ends_with(suffix)) continue;
    reverse = std::string_view(suffix) == " desc";
    column.resize(column.size() - std::string_view(suffix).size());
    break;
  }
  query.descending = reverse;
  if (column.empty() || column == "number") return query;
  if (column == "objective") {
    query.order = TrialColumn::kObjective;
    query.descending = (spec.goal == Goal::kMaximize) != reverse;
    if (spec.objective_value != ObjectiveValue::kBest)
      query.completed = reverse ? TrialQuery::Completed::kLast : TrialQuery::Completed::kFirst;
    return query;
  }
  if (column == "resource" || column == "training_seconds") {
    query.order = column == "resource" ? TrialColumn::kResource : TrialColumn::kTrainingTime;
    return query;
  }
  std::string names = "number, objective, resource, training_seconds";
  for (size_t i = 0; i < spec.parameters.size(); ++i) {
    names += ", " + spec.parameters[i].name;
    if (spec.parameters[i].name != column) continue;
    query.order = TrialColumn::kHyperparameter;
    query.parameter = static_cast<int>(i);
  }
  if (query.order == TrialColumn::kHyperparameter) return query;
  return absl::InvalidArgumentError(
      fmt::format("order_by: \"{}\" is unknown; expected one of {}", request.order_by(), names));
}

// Adds rows until they have `most` bytes.
void AddTrials(const JobHead& job, const std::vector<TrialRow>& rows,
               google::protobuf::RepeatedPtrField<v1::Trial>& trials, size_t most) {
  size_t bytes = 0;
  for (const TrialRow& row : rows) {
    if (bytes >= most) return;
    *trials.Add() = ToProto(job.row.id, job.search, row);
    bytes += trials.rbegin()->ByteSizeLong();
  }
}

}  // namespace

absl::Status Reads::Message(const JobRow& row, v1::TuningJob& message) {
  WaitReasons reasons(store_, views_, clock_.wall_us());
  return Message(row, reasons, message);
}

absl::Status Reads::Message(const JobRow& row, WaitReasons& reasons, v1::TuningJob& message) {
  absl::StatusOr<std::optional<v1::TuningJob>> kept = KeptDescription(store_, row);
  if (!kept.ok()) return kept.status();
  if (*kept) {
    message = **std::move(kept);
    return AddAnnotation(store_, row.key, message);
  }
  const absl::StatusOr<const JobView*> view = views_.Get(row);
  if (!view.ok()) return view.status();
  const JobView& job = **view;
  message = ToProto(job, clock_.wall_us());
  if (absl::Status added = AddAnnotation(store_, row.key, message); !added.ok()) return added;
  const bool waits = message.state() == v1::TuningJob::RUNNING && job.state.totals().running == 0;
  if (!waits || message.paused()) return absl::OkStatus();
  const std::string words = pool_words_ == nullptr || job.spec.trainer().external()
                                ? ""
                                : pool_words_(ShapeOf(job.spec, job.row.project));
  absl::StatusOr<std::string> reason = reasons.Of(job);
  if (!reason.ok()) return reason.status();
  message.set_state_reason(*reason + (reason->empty() || words.empty() ? "" : " ") + words);
  return absl::OkStatus();
}

absl::Status Reads::Probe() {
  return store_.Read(
      [&]() -> absl::Status { return store_.jobs.List(std::numeric_limits<int64_t>::max(), 1).status(); });
}

absl::StatusOr<v1::TuningJob> Reads::DescribeTuningJob(const std::string& id) {
  v1::TuningJob job;
  absl::Status status = store_.Read([&]() -> absl::Status {
    absl::StatusOr<std::optional<JobRow>> row = store_.jobs.Find(id);
    if (!row.ok()) return row.status();
    if (!*row) return NoJob(id);
    return Message(**row, job);
  });
  if (!status.ok()) return status;
  return job;
}

absl::StatusOr<v1::ListTuningJobsResponse> Reads::ListTuningJobs(
    const v1::ListTuningJobsRequest& request, std::optional<std::vector<std::string>> visible) {
  absl::StatusOr<int64_t> size = PageSize(request.page_size(), 50, 1000);
  if (!size.ok()) return size.status();
  absl::StatusOr<JobFilter> filter = ToFilter(request);
  if (!filter.ok()) return filter.status();
  filter->projects = std::move(visible);
  const std::string project = ProjectNamed(request.project());
  if (!request.project().empty()) {
    if (filter->projects && std::count(filter->projects->begin(), filter->projects->end(), project) == 0)
      return NoProject(request.project());
    filter->projects = {project};
  }
  // A token is valid for its filter only.
  const std::string kind = "jobs" + FilterText(*filter);
  absl::StatusOr<std::vector<std::string>> token = ReadPageToken(request.page_token(), kind, 1);
  if (!token.ok()) return token.status();
  absl::StatusOr<int64_t> before = PageNumber(*token, 0, std::numeric_limits<int64_t>::max());
  if (!before.ok()) return before.status();
  v1::ListTuningJobsResponse response;
  absl::Status status = store_.Read([&]() -> absl::Status {
    absl::StatusOr<std::vector<JobRow>> rows = store_.jobs.List(*before, *size + 1, *filter);
    if (!rows.ok()) return rows.status();
    // An archive has jobs of projects that are not declared there.
    if (rows->empty() && !project.empty()) {
      const absl::StatusOr<std::optional<ProjectRow>> declared =
          ProjectTable(store_.database()).Find(project);
      if (!declared.ok()) return declared.status();
      if (!*declared) return NoProject(project);
    }
    WaitReasons reasons(store_, views_, clock_.wall_us());
    size_t bytes = 0;
    for (size_t i = 0; i < rows->size(); ++i) {
      if (static_cast<int64_t>(i) == *size || bytes > kMostListBytes) {
        response.set_next_page_token(MakePageToken(kind, {std::to_string((*rows)[i - 1].key)}));
        break;
      }
      v1::TuningJob& job = *response.add_jobs();
      if (absl::Status told = Message((*rows)[i], reasons, job); !told.ok()) return told;
      Abridge(*job.mutable_spec());
      job.clear_failures();
      job.clear_changes();
      bytes += job.ByteSizeLong();
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::ListTrialsResponse> Reads::ListTrials(const v1::ListTrialsRequest& request) {
  absl::StatusOr<int64_t> size = PageSize(request.page_size(), 100, 10'000);
  if (!size.ok()) return size.status();
  // A token is valid for its ordering and filter only.
  std::string kind = "trials " + request.job_id() + " " + request.order_by();
  for (int state : request.states()) kind += " " + std::to_string(state);
  for (const std::string& tag : request.tags()) kind += " #" + tag;
  absl::StatusOr<std::vector<std::string>> token = ReadPageToken(request.page_token(), kind, 1);
  if (!token.ok()) return token.status();
  absl::StatusOr<int64_t> offset = PageNumber(*token, 0, 0);
  if (!offset.ok()) return offset.status();
  v1::ListTrialsResponse response;
  absl::Status status = store_.Read([&]() -> absl::Status {
    const absl::StatusOr<JobHead> job = FindJob(store_, request.job_id());
    if (!job.ok()) return job.status();
    absl::StatusOr<TrialQuery> query = ToQuery(request, job->search);
    if (!query.ok()) return query.status();
    absl::StatusOr<int64_t> count = store_.trials.Count(job->row.key, *query);
    if (!count.ok()) return count.status();
    query->offset = *offset;
    query->limit = *size;
    absl::StatusOr<std::vector<TrialRow>> rows = store_.trials.List(job->row.key, *query);
    if (!rows.ok()) return rows.status();
    AddTrials(*job, *rows, *response.mutable_trials(), kMostTrialBytes);
    if (absl::Status added = AddAnnotations(store_, job->row.key, *response.mutable_trials()); !added.ok())
      return added;
    if (absl::Status added = AddKept(store_, job->row.key, *response.mutable_trials()); !added.ok())
      return added;
    response.set_total_size(*count);
    const int64_t next = *offset + response.trials_size();
    if (!rows->empty() && next < *count)
      response.set_next_page_token(MakePageToken(kind, {std::to_string(next)}));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::DescribeTrialResponse> Reads::DescribeTrial(const v1::DescribeTrialRequest& request) {
  v1::DescribeTrialResponse response;
  absl::Status status = store_.Read([&]() -> absl::Status {
    const absl::StatusOr<JobHead> job = FindJob(store_, request.job_id());
    if (!job.ok()) return job.status();
    const int64_t key = job->row.key;
    const SearchSpec& spec = job->search;
    absl::StatusOr<std::optional<TrialRow>> row = store_.trials.Find(key, request.trial());
    if (!row.ok()) return row.status();
    if (!*row) return NoTrial(request.job_id(), request.trial());
    *response.mutable_trial() = ToProto(request.job_id(), spec, **row);
    if (absl::Status added = AddAnnotation(store_, key, *response.mutable_trial()); !added.ok()) return added;
    absl::StatusOr<std::vector<Fact>> facts = store_.facts.LoadTrial(key, request.trial());
    if (!facts.ok()) return facts.status();
    response.mutable_trial()->set_choice_reason(ChoiceReason(*facts));
    response.mutable_trial()->set_kept(KeptText(*facts, request.trial()));
    absl::StatusOr<std::vector<AssignmentRow>> ranks = store_.assignments.OfTrial(key, request.trial());
    if (!ranks.ok()) return ranks.status();
    absl::StatusOr<std::vector<WorkerRow>> workers = store_.workers.OfTrial(key, request.trial());
    if (!workers.ok()) return workers.status();
    for (v1::Attempt& attempt : ToAttempts(*ranks, *facts, *workers)) {
      *response.add_attempts() = std::move(attempt);
    }
    const TrialPhase phase = PhaseOf((*row)->state).value_or(TrialPhase::kPruned);
    const std::vector<std::string> metrics = spec.RankingMetrics();
    const auto is_report = [](const Fact& fact) { return std::holds_alternative<Reported>(fact.body); };
    const int64_t left_out = std::count_if(facts->begin(), facts->end(), is_report) - kMostReportEvents;
    int64_t reports = 0;
    for (const Fact& fact : *facts) {
      if (is_report(fact) && ++reports <= left_out) continue;
      v1::TuningJobEvent& event = *response.add_events();
      event = ToProto(fact, metrics, phase);
      if (left_out > 0 && is_report(fact) && reports == left_out + 1) {
        event.mutable_text()->append(
            fmt::format(" {} earlier values are left out here: winnow metrics has all.", left_out));
      }
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::QueryMetricsResponse> Reads::QueryMetrics(const v1::QueryMetricsRequest& request) {
  absl::StatusOr<int64_t> size = PageSize(request.page_size(), 10'000, 100'000);
  if (!size.ok()) return size.status();
  absl::StatusOr<std::vector<std::string>> token =
      ReadPageToken(request.page_token(), "metrics " + request.job_id(), 3);
  if (!token.ok()) return token.status();
  ReportCursor cursor;
  if (!token->empty()) {
    absl::StatusOr<int64_t> trial = PageNumber(*token, 0, 0);
    absl::StatusOr<int64_t> resource = PageNumber(*token, 1, 0);
    if (!trial.ok()) return trial.status();
    if (!resource.ok()) return resource.status();
    cursor = {*trial, (*token)[2], *resource};
  }
  for (int i = 0; i < request.metrics_size(); ++i) {
    if (request.metrics(i).find('\0') != std::string::npos)
      return absl::InvalidArgumentError(
          fmt::format("metrics[{}]: holds a NUL character; expected the name of a metric, without one", i));
  }
  v1::QueryMetricsResponse response;
  absl::Status status = store_.Read([&]() -> absl::Status {
    const absl::StatusOr<JobHead> job = FindJob(store_, request.job_id());
    if (!job.ok()) return job.status();
    absl::StatusOr<std::vector<ReportRow>> rows =
        store_.facts.Query(job->row.key, {request.trials().begin(), request.trials().end()},
                           {request.metrics().begin(), request.metrics().end()}, cursor, *size + 1);
    if (!rows.ok()) return rows.status();
    if (static_cast<int64_t>(rows->size()) > *size) {
      rows->resize(*size);
      const ReportRow& last = rows->back();
      response.set_next_page_token(
          MakePageToken("metrics " + request.job_id(),
                        {std::to_string(last.trial), std::to_string(last.resource), last.metric}));
    }
    for (const ReportRow& row : *rows) {
      v1::MetricPoint* point = response.add_points();
      point->set_trial(row.trial);
      point->set_metric(row.metric);
      point->set_resource(row.resource);
      point->set_value(row.value);
      point->set_attempt(row.attempt);
      *point->mutable_time() = ToTimestamp(row.time_us);
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::GetAnalyticsResponse> Reads::GetAnalytics(const v1::GetAnalyticsRequest& request) {
  const bool pages = request.page_size() != 0 || !request.page_token().empty();
  const absl::StatusOr<int64_t> size = PageSize(request.page_size(), 10'000, 10'000);
  if (!size.ok()) return size.status();
  const std::string kind = "analytics " + request.job_id();
  const absl::StatusOr<std::vector<std::string>> token = ReadPageToken(request.page_token(), kind, 1);
  if (!token.ok()) return token.status();
  const absl::StatusOr<int64_t> after = PageNumber(*token, 0, 0);
  if (!after.ok()) return after.status();
  v1::GetAnalyticsResponse response;
  absl::Status status = store_.Read([&]() -> absl::Status {
    const absl::StatusOr<JobHead> job = FindJob(store_, request.job_id());
    if (!job.ok()) return job.status();
    if (token->empty()) {
      absl::Status told = Message(job->row, *response.mutable_job());
      if (!told.ok()) return told;
      response.mutable_job()->clear_failures();
    }
    TrialQuery query;
    query.after = *after;
    if (pages) query.limit = *size + 1;
    absl::StatusOr<std::vector<TrialRow>> rows = store_.trials.List(job->row.key, query);
    if (!rows.ok()) return rows.status();
    const size_t found = rows->size();
    if (pages && static_cast<int64_t>(found) > *size) rows->pop_back();
    AddTrials(*job, *rows, *response.mutable_trials(), pages ? kMostTrialBytes : SIZE_MAX);
    if (static_cast<size_t>(response.trials_size()) < found)
      response.set_next_page_token(
          MakePageToken(kind, {std::to_string(response.trials(response.trials_size() - 1).number())}));
    return AddAnnotations(store_, job->row.key, *response.mutable_trials());
  });
  if (!status.ok()) return status;
  if (!pages && response.ByteSizeLong() > kMostResponseBytes) {
    return absl::ResourceExhaustedError(fmt::format(
        "page_size is 0; expected 1 to 10000, because {} trials take more than the {} MiB of a response",
        response.trials_size(), kMostResponseBytes >> 20));
  }
  return response;
}

absl::Status Reads::Look(const std::string& id, const std::function<void(const JobView&)>& look) {
  return store_.Read([&]() -> absl::Status {
    absl::StatusOr<const JobView*> view = views_.Get(id);
    if (!view.ok()) return view.status();
    look(**view);
    return absl::OkStatus();
  });
}

absl::StatusOr<Record> Reads::GetRecord(const std::string& id) {
  Record record;
  absl::Status status = store_.Read([&]() -> absl::Status {
    absl::StatusOr<const JobView*> view = views_.Get(id);
    if (!view.ok()) return view.status();
    absl::StatusOr<std::vector<Fact>> facts = store_.facts.Load((*view)->row.key);
    if (!facts.ok()) return facts.status();
    record = {ToSearchSpec((*view)->spec), *std::move(facts)};  // as it was before its facts changed it
    if (!SelectsExpected((*view)->spec)) return absl::OkStatus();
    absl::StatusOr<std::optional<v1::TuningJob>> kept = KeptDescription(store_, (*view)->row);
    if (!kept.ok()) return kept.status();
    if (*kept && (*kept)->best().has_expected()) record.chosen = (*kept)->best();
    record.job = (*view)->spec;
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return record;
}

// A job that runs has a view, which Message needs as well; that of an ended one may be large, and is not
// made.
absl::StatusOr<std::vector<std::string>> Reads::RankingMetricsOf(const JobRow& row) {
  if (row.end_us == 0) {
    const absl::StatusOr<const JobView*> view = views_.Get(row);
    if (!view.ok()) return view.status();
    return (*view)->state.spec().RankingMetrics();
  }
  const absl::StatusOr<JobHead> job = FindJob(store_, row.id);
  if (!job.ok()) return job.status();
  return job->search.RankingMetrics();
}

absl::StatusOr<WatchBatch> Reads::Watch(const std::string& id, int64_t after) {
  WatchBatch batch;
  absl::Status status = store_.Read([&]() -> absl::Status {
    absl::StatusOr<std::optional<JobRow>> found = store_.jobs.Find(id);
    if (!found.ok()) return found.status();
    if (!*found) return NoJob(id);
    const JobRow& job = **found;
    if (after >= 0) {
      absl::StatusOr<std::vector<Fact>> facts = store_.facts.Load(job.key, after, kWatchBatch);
      if (!facts.ok()) return facts.status();
      const absl::StatusOr<std::vector<std::string>> metrics = RankingMetricsOf(job);
      if (!metrics.ok()) return metrics.status();
      for (const Fact& fact : *facts) {
        TrialPhase phase = TrialPhase::kPruned;
        if (const auto* end = std::get_if<TrialEnded>(&fact.body);
            end != nullptr && end->end == TrialEnd::kStopped) {
          absl::StatusOr<std::optional<TrialRow>> row = store_.trials.Find(job.key, end->trial);
          if (!row.ok()) return row.status();
          if (*row) phase = PhaseOf((*row)->state).value_or(phase);
        }
        batch.events.push_back(ToProto(fact, *metrics, phase));
      }
    }
    int64_t sent = batch.events.empty() ? std::max(after, after < 0 ? job.last_sequence : 0)
                                        : batch.events.back().sequence();
    batch.more = sent < job.last_sequence;
    batch.ended = !batch.more && job.end_us > 0;
    absl::Status told = Message(job, batch.job);
    batch.job.clear_failures();
    return told;
  });
  if (!status.ok()) return status;
  return batch;
}

absl::StatusOr<std::string> Reads::FindRequest(const std::string& request_id, const std::string& project) {
  if (request_id.empty()) return "";
  absl::StatusOr<std::optional<JobRow>> row = store_.jobs.FindRequest(StoredRequestId(request_id, project));
  if (!row.ok()) return row.status();
  return *row ? (*row)->id : "";
}

absl::StatusOr<v1::Artifact> Reads::GetArtifact(const v1::GetArtifactRequest& request) {
  if (request.kind() != v1::Artifact::CHECKPOINT && request.kind() != v1::Artifact::MODEL) {
    return absl::InvalidArgumentError("kind: expected CHECKPOINT, MODEL or SOURCE");
  }
  const auto kind = request.kind() == v1::Artifact::MODEL ? ArtifactKind::kModel : ArtifactKind::kCheckpoint;
  v1::Artifact artifact;
  absl::Status status = store_.Read([&]() -> absl::Status {
    const absl::StatusOr<JobHead> job = FindJob(store_, request.job_id());
    if (!job.ok()) return job.status();
    const absl::StatusOr<TrialNumber> named = request.trial() > 0
                                                  ? absl::StatusOr<TrialNumber>(request.trial())
                                                  : HandedOutTrial(store_, job->row, job->spec, job->search);
    if (!named.ok()) return named.status();
    const TrialNumber trial = *named;
    if (trial == 0) return NoBest(job->row, job->search);
    const absl::StatusOr<std::optional<TrialRow>> there = store_.trials.Find(job->row.key, trial);
    if (!there.ok()) return there.status();
    if (!*there) return NoTrial(request.job_id(), trial);
    auto row = store_.artifacts.Find(job->row.key, trial, kind);
    if (!row.ok()) return row.status();
    if (!*row) {
      const char* why = request.kind() == v1::Artifact::MODEL ? "" : kKept;
      absl::Status none = absl::NotFoundError(fmt::format("the server has no {} of trial {} of job \"{}\"{}",
                                                          TextOf(kind), trial, request.job_id(), why));
      if (request.kind() == v1::Artifact::MODEL) none.SetPayload(kModelNotKept, absl::Cord());
      return none;
    }
    artifact.set_job_id(request.job_id());
    artifact.set_trial(trial);
    artifact.set_kind(request.kind());
    artifact.set_attempt((*row)->attempt);
    artifact.set_resource((*row)->resource);
    if (artifact.mutable_manifest()->ParseFromString((*row)->manifest)) return absl::OkStatus();
    return absl::DataLossError(
        fmt::format("the manifest of the {} of trial {} cannot be read", TextOf(kind), trial));
  });
  if (!status.ok()) return status;
  return artifact;
}

absl::StatusOr<std::set<std::string>> Reads::ReadableBlobs(const std::vector<std::string>& digests,
                                                           const std::vector<std::string>& projects,
                                                           const Requester& by) {
  const std::optional<std::string> owner = by.worker ? std::nullopt : std::optional(by.name);
  std::set<std::string> readable;
  const absl::Status status = store_.Read([&]() -> absl::Status {
    absl::StatusOr<std::set<std::string>> found = store_.artifacts.Among(digests, projects, owner);
    if (!found.ok()) return found.status();
    readable = *std::move(found);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return readable;
}

absl::StatusOr<v1::Artifact> Reads::GetSource(const std::string& job_id, const Requester& by) {
  v1::Artifact artifact;
  absl::Status status = store_.Read([&]() -> absl::Status {
    const absl::StatusOr<std::optional<JobRow>> job = store_.jobs.Find(job_id);
    if (!job.ok()) return job.status();
    if (!*job) return NoJob(job_id);
    if (absl::Status may = by.MayReadSource(job_id, (*job)->owner); !may.ok()) return may;
    const auto row = store_.artifacts.Find((*job)->key, 0, ArtifactKind::kSource);
    if (!row.ok()) return row.status();
    if (!*row) {
      return absl::NotFoundError(
          (*job)->source.empty()
              ? fmt::format("job \"{}\" has no source: it was submitted without trainer.source", job_id)
              : fmt::format(
                    "the source of job \"{}\" is lost: a file of it in the server's artifact store was "
                    "damaged",
                    job_id));
    }
    artifact.set_job_id(job_id);
    artifact.set_kind(v1::Artifact::SOURCE);
    if (artifact.mutable_manifest()->ParseFromString((*row)->manifest)) return absl::OkStatus();
    return absl::DataLossError(
        fmt::format("the manifest of the source of job \"{}\" cannot be read", job_id));
  });
  if (!status.ok()) return status;
  return artifact;
}

}  // namespace winnow

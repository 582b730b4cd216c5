#include "server/engine/jobs.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/mutant.h"
#include "scheduler/decide.h"
#include "scheduler/plan.h"
#include "scheduler/suggest.h"
#include "server/engine/annotations.h"
#include "server/engine/answers/job_facts.h"
#include "server/engine/answers/messages.h"
#include "server/engine/hub.h"
#include "spec/checks/change.h"
#include "spec/cluster.h"
#include "spec/search_spec.h"
#include "winnow/v1/webhooks.pb.h"

namespace winnow {
namespace {

constexpr int64_t kPartsInMean = 8;
// Facts of a job that are kept for its search model, which reads others from the tables.
constexpr size_t kMostUnasked = 256;

// An event for webhooks, with the job as it is.
v1::Event EventOf(v1::Event::Kind kind, const OpenJob& job, const std::string& text) {
  v1::Event event;
  event.set_kind(kind);
  event.set_job_id(job.row.id);
  event.set_owner(job.row.owner);
  event.set_state(job.row.state);
  event.set_metric(job.state.spec().objective_metric);
  if (const std::optional<TrialNumber> best = job.state.best_trial()) {
    event.set_trial(*best);
    event.set_value(job.state.trial(*best).value);
  }
  event.set_text(text);
  return event;
}

}  // namespace

TrialNumber TrialOf(const FactBody& body) {
  return std::visit(
      [](const auto& fact) -> TrialNumber {
        if constexpr (requires { fact.trial; }) {
          return fact.trial;
        } else {
          return 0;
        }
      },
      body);
}

std::string StoredRequestId(const std::string& request_id, const std::string& project) {
  return request_id.empty() || project.empty() ? request_id : request_id + '\n' + project;
}

std::string SourceDigest(const std::string& source) {
  v1::Source message;
  if (!source.empty()) (void)google::protobuf::util::JsonStringToMessage(source, &message);
  return message.digest();
}

OpenJob::OpenJob(JobRow the_row, v1::TuningJobSpec the_spec)
    : row(std::move(the_row)),
      spec(std::move(the_spec)),
      submitted(ToSearchSpec(spec)),
      state(submitted),
      source_digest(SourceDigest(row.source)),
      shape(ShapeOf(spec, row.project)) {}

Claim OpenJob::claim() const {
  const v1::SchedulingSpec now = SchedulingNow(spec, state);
  return {row.key, now.priority(), now.weight(), state.totals().live_nodes * shape.slots, !reserved.empty()};
}

void OpenJob::Count(const TrialState& trial, int sign) {
  live_started_us += sign * trial.nodes * (trial.attempt_started_us - row.create_us);
}

void OpenJob::NotePart(int64_t us) {
  us = std::max<int64_t>(1, us);
  part_us = part_us == 0 ? us : part_us + (us - part_us) / kPartsInMean;
  if (us <= part_us) quick_us = quick_us == 0 ? us : quick_us + (us - quick_us) / kPartsInMean;
}

int64_t OpenJob::NodeTimeUs(int64_t now_us) const {
  const JobTotals& totals = state.totals();
  const int64_t live_us = totals.live_nodes * (now_us - row.create_us) - live_started_us;
  return totals.node_us + std::max<int64_t>(0, live_us);
}

double OpenJob::Cost(int64_t now_us) const {
  double cost = state.totals().cost;
  for (const auto& [trial, places] : state.priced_places()) {
    const int64_t took_us = std::max<int64_t>(0, now_us - state.trial(trial).attempt_started_us);
    cost += places.per_hour() * static_cast<double>(took_us) / kMicrosOfHour;
  }
  return cost;
}

absl::StatusOr<std::unique_ptr<OpenJob>> ReadJob(Store& store, JobRow row) {
  absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson(row.spec);
  if (!spec.ok()) return spec.status();
  auto job = std::make_unique<OpenJob>(std::move(row), *std::move(spec));
  absl::Status status = ApplyFacts(store.facts, job->row, job->state, [&](const Fact& fact) {
    if (std::holds_alternative<AttemptEnded>(fact.body)) job->newest_end = fact.sequence;
    if (const auto* end = std::get_if<BracketEnded>(&fact.body))
      job->bracket_ends[end->bracket] = end->reason;
    job->best.Note(job->state, fact.time_us);
  });
  if (!status.ok()) return status;
  for (const TrialState& trial : job->state.trials()) {
    if (trial.live) job->Count(trial, 1);
  }
  return job;
}

absl::Status Jobs::Load() {
  jobs_.clear();
  to_ask_.clear();
  absl::StatusOr<std::vector<JobRow>> rows = context_.store.jobs.Open();
  if (!rows.ok()) return rows.status();
  for (JobRow& row : *rows) {
    absl::StatusOr<std::unique_ptr<OpenJob>> job = ReadJob(context_.store, std::move(row));
    if (!job.ok()) return job.status();
    WatchWallTime(**job);
    WatchSpending(**job);
    Add(*std::move(job));
  }
  return absl::OkStatus();
}

OpenJob& Jobs::Add(std::unique_ptr<OpenJob> job) {
  const int64_t key = job->row.key;
  return *(jobs_[key] = std::move(job));
}

void Jobs::WatchWallTime(const OpenJob& job) {
  int64_t limit = job.state.spec().limits.max_wall_time_us;
  if (limit <= 0) context_.deadlines.Clear(Deadlines::Kind::kWallTime, job.row.id);
  if (limit <= 0 || job.state.time_limit()) return;
  int64_t left = job.row.create_us + limit - context_.wall_us();
  context_.deadlines.Set(Deadlines::Kind::kWallTime, job.row.id, context_.steady_us() + left);
}

void Jobs::WatchNodeTime(const OpenJob& job) {
  const int64_t limit = job.state.spec().limits.max_node_time_us;
  if (limit <= 0) return context_.deadlines.Clear(Deadlines::Kind::kNodeTime, job.row.id);
  const int64_t rate = job.state.totals().live_nodes;
  const int64_t left = limit - job.NodeTimeUs(context_.wall_us());
  if (job.state.closing() || job.state.ended() || (left > 0 && rate == 0)) {
    context_.deadlines.Clear(Deadlines::Kind::kNodeTime, job.row.id);
    return;
  }
  const int64_t wait = left > 0 ? (left + rate - 1) / rate : 0;
  context_.deadlines.Set(Deadlines::Kind::kNodeTime, job.row.id, context_.steady_us() + wait);
}

void Jobs::WatchCost(const OpenJob& job) {
  const double limit = job.state.spec().limits.max_cost;
  if (limit <= 0) return context_.deadlines.Clear(Deadlines::Kind::kCost, job.row.id);
  double per_hour = 0;
  for (const auto& [trial, places] : job.state.priced_places()) per_hour += places.per_hour();
  const double left = limit - job.Cost(context_.wall_us());
  if (job.state.closing() || job.state.ended() || (left > 0 && per_hour == 0)) {
    context_.deadlines.Clear(Deadlines::Kind::kCost, job.row.id);
    return;
  }
  constexpr double kLongestUs = 1e15;
  const double wait_us = left > 0 ? std::ceil(std::min(kLongestUs, left / per_hour * kMicrosOfHour)) : 0;
  context_.deadlines.Set(Deadlines::Kind::kCost, job.row.id,
                         context_.steady_us() + static_cast<int64_t>(wait_us));
}

void Jobs::WatchSpending(const OpenJob& job) {
  WatchNodeTime(job);
  WatchCost(job);
}

void Jobs::AskSearchModel(OpenJob& job) {
  if (job.awaits_suggestion) return;
  job.awaits_suggestion = true;
  to_ask_.push_back(job.row.key);
}

std::vector<Question> Jobs::TakeQuestions() {
  std::vector<Question> questions;
  for (const int64_t key : std::exchange(to_ask_, {})) {
    OpenJob* const job = FindKey(key);
    if (job == nullptr) continue;
    job->asked = true;
    questions.push_back({key, job->submitted, std::exchange(job->unasked, {})});
  }
  return questions;
}

bool Jobs::IsWanted(const OpenJob& job, const Suggested& answer) const {
  if (!WantsSuggestion(job.state)) return false;
  // That nothing is worth training was said without what has ended since.
  if (answer.trial == 0 && answer.based_on < job.newest_end) return false;
  // It was for a new trial, which limits that were changed forbid now.
  if (!answer.configuration.empty() && !job.state.may_create()) return false;
  return job.state.Contradiction({job.state.last_sequence() + 1, 0, answer}).empty();
}

absl::StatusOr<std::string> Jobs::Create(const v1::TuningJobSpec& spec, const std::string& request_id,
                                         const WarmStart& start, const std::string& owner,
                                         const std::function<absl::Status()>& fits, const std::string& source,
                                         const std::function<void(int64_t)>& add_source,
                                         const std::string& project) {
  if (!request_id.empty()) {
    absl::StatusOr<std::optional<JobRow>> known =
        context_.store.jobs.FindRequest(StoredRequestId(request_id, project));
    if (!known.ok()) return known.status();
    if (*known) return (*known)->id;
  }
  if (absl::Status status = fits(); !status.ok()) return status;
  JobRow row;
  row.request_id = StoredRequestId(request_id, project);
  row.spec = ToStoredJson(spec);
  row.state = "running";
  row.create_us = context_.wall_us();
  row.warm_start = start.text;
  row.owner = owner;
  row.source = source;
  row.project = project;
  absl::StatusOr<JobRow> inserted = context_.store.jobs.Insert(spec.name(), std::move(row));
  if (!inserted.ok()) {
    context_.Note(inserted.status());
    return inserted.status();
  }
  KeepAnnotation(context_, inserted->key, spec);
  if (add_source) add_source(inserted->key);
  auto job = std::make_unique<OpenJob>(*std::move(inserted), spec);
  WatchWallTime(*job);
  OpenJob& created = Add(std::move(job));
  // There are no trials yet that could end.
  for (const EarlierResult& earlier : start.earlier) (void)Record(created, earlier);
  return created.row.id;
}

absl::StatusOr<JobRow> Jobs::FindDeletable(const std::string& id, const Requester& by) {
  absl::StatusOr<JobRow> row = FindChangeable(context_.store.jobs, id, by);
  if (row.ok() && FindKey(row->key) != nullptr)
    return absl::FailedPreconditionError(fmt::format("job \"{}\" is {}; stop it first", id, row->state));
  return row;
}

// What changes with the fact beside the job's state.
void Jobs::NoteFact(OpenJob& job, const Fact& fact) {
  job.changed = true;
  job.unasked.push_back(fact);
  TrialNumber trial = TrialOf(fact.body);
  // A model may have named a trial that is yet to be created.
  if (trial > 0 && trial <= static_cast<int64_t>(job.state.trials().size())) job.touched.insert(trial);
  NoteInRow(fact, job.row);
  if (const auto* end = std::get_if<BracketEnded>(&fact.body)) job.bracket_ends[end->bracket] = end->reason;
  if (std::holds_alternative<JobEnded>(fact.body)) {
    context_.deadlines.Clear(Deadlines::Kind::kWallTime, job.row.id);
    context_.deadlines.Clear(Deadlines::Kind::kNodeTime, job.row.id);
    context_.deadlines.Clear(Deadlines::Kind::kCost, job.row.id);
  }
  if (std::holds_alternative<LimitsChanged>(fact.body)) {
    WatchWallTime(job);
    WatchSpending(job);
  }
  if (std::holds_alternative<AttemptStarted>(fact.body)) {
    job.Count(job.state.trial(trial), 1);
    WatchSpending(job);
  }
  if (std::holds_alternative<AttemptEnded>(fact.body)) {
    job.Count(job.state.trial(trial), -1);
    job.newest_end = fact.sequence;
    WatchSpending(job);
  }
}

std::vector<TrialNumber> Jobs::Record(OpenJob& job, FactBody body, int64_t time_us) {
  std::vector<TrialNumber> ended;
  std::vector<v1::Event> told;
  for (const Fact& fact : Advance(job.state, time_us, std::move(body))) {
    // A report has its row already.
    if (!std::holds_alternative<Reported>(fact.body)) {
      context_.Note(context_.store.facts.AppendEvent(job.row.key, fact));
    }
    NoteFact(job, fact);
    if (const auto* end = std::get_if<TrialEnded>(&fact.body)) ended.push_back(end->trial);
    const auto* met = std::get_if<CompletionMet>(&fact.body);
    if (met != nullptr && !met->nothing_left && job.state.failures().awaited() > 0)
      told.push_back(EventOf(v1::Event::JOB_FAILING_EARLY, job, met->reason));
    if (const auto* end = std::get_if<JobEnded>(&fact.body))
      told.push_back(EventOf(v1::Event::JOB_ENDED, job, end->reason));
  }
  if (const std::optional<BestStep> step = job.best.Note(job.state, time_us)) {
    job.steps.push_back(*step);
    if (job.best.improved()) {
      context_.Tell(EventOf(v1::Event::BEST_IMPROVED, job,
                            fmt::format("Trial {} has {} {}.", step->trial, job.state.spec().objective_metric,
                                        step->objective)));
    }
  }
  for (const v1::Event& event : told) context_.Tell(event);
  const IdenticalCurves& curves = job.state.identical_curves();
  // A built-in trainer reads its hyperparameters. One that shows only later, such as the step of boosted
  // trees in the AUC after a round, is no fault.
  const bool may_not_read = job.spec.trainer().builtin().empty();
  if (may_not_read && curves.seen() && !job.state.noticed(NoticeKind::kIdenticalCurves)) {
    const Noticed notice{
        curves.trials().back(), NoticeKind::kIdenticalCurves,
        fmt::format("All {} trials reported the same values of {}: does the program read its arguments?",
                    curves.trials().size(), job.state.spec().objective_metric)};
    for (const TrialNumber trial : Record(job, notice)) ended.push_back(trial);
  }
  return ended;
}

bool Jobs::StoreMetric(OpenJob& job, const ReportRow& report) {
  return context_.Note(context_.store.facts.AppendReport(job.row.key, report));
}

std::optional<std::vector<TrialNumber>> Jobs::RecordReport(OpenJob& job, const ReportRow& report) {
  ReportRow row = report;
  row.ranking = job.state.spec().RankingIndex(report.metric);
  row.sequence = job.state.last_sequence() + 1;
  // One NaN is as good as another; the stored one is the quiet NaN.
  if (std::isnan(row.value)) row.value = std::numeric_limits<double>::quiet_NaN();
  row.value += 0.0;  // and 0.0, of -0.0
  if (!StoreMetric(job, row) && !WINNOW_MUTANT("reports that are known count again")) return std::nullopt;
  return Record(job, Reported{row.trial, row.attempt, row.resource, row.value, row.ranking}, row.time_us);
}

std::vector<JobUse> Jobs::Uses() const {
  std::vector<JobUse> uses;
  for (const auto& [key, job] : jobs_) {
    if (!job->external()) uses.push_back(UseOf(job->row.project, job->row.owner, job->shape, job->state));
  }
  return uses;
}

OpenJob* Jobs::Find(const std::string& id) {
  for (const auto& [key, job] : jobs_) {
    if (job->row.id == id) return job.get();
  }
  return nullptr;
}

const OpenJob* Jobs::FindKey(int64_t key) const {
  auto found = jobs_.find(key);
  return found == jobs_.end() ? nullptr : found->second.get();
}

OpenJob* Jobs::FindKey(int64_t key) { return const_cast<OpenJob*>(std::as_const(*this).FindKey(key)); }

std::string Description(const OpenJob& job) {
  v1::TuningJob message = ToProto(
      {job.row, job.state, job.bracket_ends, MakePlan(job.state.spec()), StrategyText(job.state.spec())},
      job.row.end_us);
  return message.SerializeAsString();
}

absl::Status DescribeEnded(Store& store) {
  const absl::StatusOr<std::vector<std::string>> ids = store.summaries.Undescribed();
  if (!ids.ok()) return ids.status();
  for (const std::string& id : *ids) {
    absl::StatusOr<std::optional<JobRow>> row = store.jobs.Find(id);
    if (!row.ok()) return row.status();
    const absl::StatusOr<std::unique_ptr<OpenJob>> job = ReadJob(store, **std::move(row));
    if (!job.ok()) continue;
    absl::Status status =
        store.Write([&] { return store.summaries.PutDescription((*job)->row.key, Description(**job)); });
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void Jobs::Flush() {
  for (const auto& [key, job] : jobs_) {
    if (!job->changed) continue;
    for (TrialNumber trial : job->touched) {
      context_.Note(context_.store.trials.Put(key, MakeTrialRow(job->state.trial(trial))));
    }
    job->touched.clear();
    job->row.last_sequence = job->state.last_sequence();
    context_.Note(context_.store.jobs.Update(job->row));
    for (const BestStep& step : job->steps) context_.Note(context_.store.summaries.AddStep(key, step));
    job->steps.clear();
    if (job->state.ended()) context_.Note(context_.store.summaries.PutDescription(key, Description(*job)));
    job->changed = false;
    context_.Publish(JobTopic(job->row.id));
  }
}

void Jobs::Committed() {
  for (const auto& [key, job] : jobs_) {
    if (!job->asked || job->unasked.size() > kMostUnasked) job->unasked.clear();
  }
}

std::vector<int64_t> Jobs::ForgetEnded() {
  std::vector<int64_t> keys;
  std::erase_if(jobs_, [&keys](const auto& entry) {
    const bool ended = entry.second->state.ended().has_value();
    if (ended) keys.push_back(entry.first);
    return ended;
  });
  return keys;
}

}  // namespace winnow

#include "server/engine/answers/messages.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "scheduler/state/repeat_effects.h"
#include "server/engine/answers/fact_text.h"
#include "server/engine/answers/job_view.h"
#include "spec/search_spec.h"
#include "spec/values.h"
#include "store/fact_codec.h"

namespace winnow {
namespace {

double Seconds(int64_t us) { return static_cast<double>(us) / 1e6; }

v1::Trial::State TrialStateOf(const std::string& name) {
  const auto phase = PhaseOf(name);
  return phase ? StateOf(*phase) : v1::Trial::STATE_UNSPECIFIED;
}

const char* OutcomeName(AttemptOutcome outcome) {
  switch (outcome) {
    case AttemptOutcome::kFinished:
      return "finished";
    case AttemptOutcome::kFailed:
      return "failed";
    case AttemptOutcome::kLost:
      return "lost";
    case AttemptOutcome::kHandedBack:
      return "handed back";
    case AttemptOutcome::kStopped:
      return "stopped";
  }
  return "";
}

// What it counts at the level; absent: nothing, or no number.
std::optional<double> ValueAt(const JobState& state, const TrialState& trial, int64_t resource) {
  const auto value = trial.counted_at(resource, state.spec().objective_value);
  return value && !std::isnan(*value) ? value : std::nullopt;
}

void FillRung(const JobState& state, int64_t bracket, size_t index, v1::RungState& message) {
  const BracketState& opened = state.brackets()[bracket];
  const RungState& rung = opened.rungs[index];
  message.set_resource(opened.plan.rungs[index].resource);
  message.set_width(opened.plan.rungs[index].trials);
  message.set_entered(static_cast<int64_t>(rung.entered.size()));
  message.set_arrived(rung.arrived);
  if (rung.cutoff) message.set_cutoff(*rung.cutoff);
  bool maximize = state.spec().goal == Goal::kMaximize;
  for (TrialNumber number : rung.entered) {
    const TrialState& trial = state.trial(number);
    if (trial.live && !trial.ended() && trial.rung == static_cast<int64_t>(index)) {
      message.set_running(message.running() + 1);
    }
    std::optional<double> value = ValueAt(state, trial, message.resource());
    if (!value) continue;
    if (!message.has_best() || (maximize ? *value > message.best() : *value < message.best())) {
      message.set_best(*value);
    }
  }
}

void FillSpend(const JobRow& row, const JobState& state, int64_t now_us, v1::JobSpend& spend) {
  spend.set_resource(state.totals().resource);
  int64_t training_us = 0;
  int64_t full = 0, saved = 0;
  // A population saves nothing: another trial trains in the place of each that is pruned.
  const bool population = TraitsOf(state.spec().pruner.kind).population;
  for (const TrialState& trial : state.trials()) {
    training_us += trial.training_us;
    int64_t end = UnstoppedResource(state.spec(), trial.configuration);
    full += end > 0 ? end : trial.curve.empty() ? 0 : trial.curve.back().first;
    if (trial.phase == TrialPhase::kPruned && !population)
      saved += std::max<int64_t>(0, end - trial.trained_resource);
  }
  spend.set_saved_resource(saved);
  spend.set_full_resource(full);
  spend.set_training_seconds(Seconds(training_us));
  spend.set_billable_node_seconds(Seconds(state.totals().node_us));
  spend.set_cost(state.totals().cost);
  for (const auto& [pool, spending] : state.pool_spending()) {
    v1::PoolSpend& part = *spend.add_pools();
    part.set_pool(pool);
    part.set_node_seconds(Seconds(spending.node_us));
    part.set_cost(spending.cost);
  }
  spend.set_startup_seconds(std::min(state.startup().total_seconds(), Seconds(training_us)));
  spend.set_new_process_parts(row.new_process_parts);
  spend.set_forked_parts(row.forked_parts);
  spend.set_continued_parts(row.continued_parts);
  spend.set_elapsed_seconds(Seconds((row.end_us > 0 ? row.end_us : now_us) - row.create_us));
}

// Failed trials by reason.
void AddFailures(const JobState& state, v1::TuningJob& job) {
  constexpr size_t kMostGroups = 20;
  std::vector<const std::pair<const std::string, FailureCount>*> groups;
  for (const auto& group : state.failures().by_reason()) groups.push_back(&group);
  const size_t shown = std::min(groups.size(), kMostGroups);
  std::partial_sort(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(shown), groups.end(),
                    [](const auto* a, const auto* b) {
                      if (a->second.trials != b->second.trials) return a->second.trials > b->second.trials;
                      return a->second.first < b->second.first;
                    });
  for (size_t i = 0; i < shown; ++i) {
    v1::FailureGroup& group = *job.add_failures();
    group.set_reason(groups[i]->first);
    group.set_trials(groups[i]->second.trials);
    group.set_first_trial(groups[i]->second.first);
  }
}

// What people have changed.
void AddChanges(const JobState& state, v1::TuningJob& job) {
  constexpr size_t kMostChanges = 100;
  job.set_paused(state.paused() && !state.closing());
  job.set_queued_configurations(static_cast<int64_t>(state.queue().size()));
  const auto& changes = state.changes();
  for (size_t i = changes.size() - std::min(changes.size(), kMostChanges); i < changes.size(); ++i) {
    const auto& [time_us, body] = changes[i];
    v1::JobChange& change = *job.add_changes();
    *change.mutable_time() = ToTimestamp(time_us);
    change.set_text(FactText({0, time_us, body}, state.metrics(), TrialPhase::kPending));
  }
  if (const auto& scheduling = state.scheduling()) {
    job.mutable_scheduling()->set_priority(static_cast<int32_t>(scheduling->priority));
    job.mutable_scheduling()->set_weight(scheduling->weight);
  }
  if (state.ranges_changed()) {
    for (const Parameter& parameter : state.spec().parameters) {
      v1::ParameterSpec& now = *job.add_parameters();
      now.set_name(parameter.name);
      WriteRange(parameter.range, now);
    }
  }
  if (!state.limits_changed()) return;
  const Limits& limits = state.spec().limits;
  v1::ChangedLimits& now = *job.mutable_limits();
  now.set_max_trials(limits.max_trials);
  now.set_max_parallel_trials(limits.max_parallel_trials);
  now.set_max_total_resource(limits.max_total_resource);
  now.set_max_wall_seconds(Seconds(limits.max_wall_time_us));
  now.set_max_node_seconds(Seconds(limits.max_node_time_us));
  now.set_max_cost(limits.max_cost);
}

v1::PartStart ToMessage(PartStart start) {
  if (start == PartStart::kNewProcess) return v1::NEW_PROCESS;
  if (start == PartStart::kForked) return v1::FORKED;
  return start == PartStart::kContinued ? v1::CONTINUED : v1::PART_START_UNSPECIFIED;
}

}  // namespace

v1::Trial::State StateOf(TrialPhase phase) {
  return static_cast<v1::Trial::State>(v1::Trial::PENDING + static_cast<int>(phase));
}

v1::TuningJob::State JobStateOf(const std::string& name) {
  if (name == "running") return v1::TuningJob::RUNNING;
  if (name == "stopping") return v1::TuningJob::STOPPING;
  if (name == "completed") return v1::TuningJob::COMPLETED;
  if (name == "stopped") return v1::TuningJob::STOPPED;
  if (name == "failed") return v1::TuningJob::FAILED;
  return v1::TuningJob::STATE_UNSPECIFIED;
}

std::string ChoiceReason(const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) {
    if (const auto* created = std::get_if<TrialCreated>(&fact.body)) return created->why;
  }
  return "";
}

std::string KeptText(const std::vector<Fact>& facts, TrialNumber trial) {
  std::string text;
  for (const Fact& fact : facts) {
    const auto* kept = std::get_if<TrialKept>(&fact.body);
    if (kept != nullptr && kept->trial == trial)
      text = kept->released ? "" : "Kept" + ByAndWhy(kept->by, kept->why);
  }
  return text;
}

void AddHyperparameters(const SearchSpec& spec, const Configuration& configuration,
                        google::protobuf::RepeatedPtrField<v1::HyperparameterValue>& values) {
  for (size_t i = 0; i < configuration.size() && i < spec.parameters.size(); ++i) {
    if (std::holds_alternative<Inactive>(configuration[i])) continue;
    *values.Add() = ToProto(spec.parameters[i].name, configuration[i]);
  }
}

google::protobuf::Timestamp ToTimestamp(int64_t us) {
  return google::protobuf::util::TimeUtil::MicrosecondsToTimestamp(us);
}

int64_t UnstoppedResource(const SearchSpec& spec, const Configuration& configuration) {
  int64_t end = spec.FullResource(configuration);
  if (!HasRungs(spec.pruner.kind)) return end;
  return end > 0 ? std::min(end, spec.pruner.rungs.max_resource) : spec.pruner.rungs.max_resource;
}

std::string ToStoredJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(message, &json, options);
  return json;
}

v1::TuningJob ToProto(const JobView& view, int64_t now_us) {
  v1::TuningJob job =
      ToProto(JobParts{view.row, view.state, view.bracket_ends, view.plan, view.strategy_text}, now_us);
  *job.mutable_spec() = view.spec;
  return job;
}

v1::TuningJob ToProto(const JobParts& view, int64_t now_us) {
  const JobRow& row = view.row;
  const JobState& state = view.state;
  v1::TuningJob job;
  job.set_id(row.id);
  job.set_state(JobStateOf(row.state));
  job.set_state_reason(row.reason);
  *job.mutable_create_time() = ToTimestamp(row.create_us);
  if (row.end_us > 0) *job.mutable_end_time() = ToTimestamp(row.end_us);
  const JobTotals& totals = state.totals();
  v1::TrialCounts* counts = job.mutable_trial_counts();
  counts->set_pending(totals.pending);
  counts->set_running(totals.running);
  counts->set_paused(totals.paused);
  counts->set_completed(totals.completed);
  counts->set_pruned(totals.pruned);
  counts->set_failed(totals.failed);
  counts->set_cancelled(totals.cancelled);
  if (std::optional<TrialNumber> best = state.best_trial()) {
    *job.mutable_best() = BestMessage(state, *best);
  }
  FillSpend(row, state, now_us, *job.mutable_spend());
  for (size_t i = 0; i < state.brackets().size(); ++i) {
    v1::BracketState* bracket = job.add_brackets();
    bracket->set_index(static_cast<int64_t>(i));
    bracket->set_s(state.brackets()[i].plan.s);
    const auto end = view.bracket_ends.find(static_cast<int64_t>(i));
    if (end != view.bracket_ends.end()) bracket->set_end_reason(end->second);
    for (size_t r = 0; r < state.brackets()[i].rungs.size(); ++r) {
      FillRung(state, static_cast<int64_t>(i), r, *bracket->add_rungs());
    }
  }
  for (const auto& [noticed, time_us] : state.notices()) {
    v1::JobNotice* notice = job.add_notices();
    notice->set_kind(static_cast<v1::JobNotice::Kind>(noticed.kind));
    notice->set_trial(noticed.trial);
    notice->set_text(noticed.text);
    *notice->mutable_time() = ToTimestamp(time_us);
  }
  AddChanges(state, job);
  job.set_front_trials(static_cast<int64_t>(state.front().size()));
  job.set_planned_trials(view.plan.trials);
  job.set_planned_resource(view.plan.resource);
  job.set_last_sequence(state.last_sequence());
  job.set_strategy_text(view.strategy_text);
  job.set_warm_start_text(row.warm_start);
  job.set_owner(row.owner);
  job.set_project(row.project);
  if (!row.source.empty())
    (void)google::protobuf::util::JsonStringToMessage(row.source, job.mutable_source());
  AddFailures(state, job);
  return job;
}

v1::Trial ToProto(const std::string& job_id, const SearchSpec& spec, const TrialRow& row) {
  v1::Trial trial;
  trial.set_job_id(job_id);
  trial.set_number(row.number);
  trial.set_state(TrialStateOf(row.state));
  trial.set_state_reason(row.reason);
  AddHyperparameters(spec, row.configuration, *trial.mutable_hyperparameters());
  if (row.objective) trial.set_objective(*row.objective);
  trial.set_resource(row.resource);
  if (row.best_objective) trial.set_best_objective(*row.best_objective);
  trial.set_best_resource(row.best_resource);
  if (row.value) trial.set_value(*row.value);
  trial.set_value_resource(row.value_resource);
  if (!row.metrics.empty()) {
    const std::vector<std::string> names = spec.RankingMetrics();
    for (size_t i = 0; i < std::min(names.size(), row.metrics.size()); ++i) {
      if (!row.metrics[i]) continue;
      v1::MetricReading& reading = *trial.add_metrics();
      reading.set_metric(names[i]);
      reading.set_value(*row.metrics[i]);
    }
  }
  // Where the objective alone ranks and bounds a trial, its row has no further metrics.
  if (row.metrics.empty() && !spec.metric_constraints.empty() && row.objective) {
    v1::MetricReading& reading = *trial.add_metrics();
    reading.set_metric(spec.objective_metric);
    reading.set_value(*row.objective);
  }
  trial.set_violation(row.violation);
  trial.set_bracket(row.bracket);
  trial.set_rung(row.rung);
  trial.set_attempts(row.attempts);
  *trial.mutable_create_time() = ToTimestamp(row.create_us);
  if (row.start_us > 0) *trial.mutable_start_time() = ToTimestamp(row.start_us);
  if (row.end_us > 0) *trial.mutable_end_time() = ToTimestamp(row.end_us);
  trial.set_training_seconds(Seconds(row.training_us));
  trial.set_nodes(spec.Nodes(row.configuration));
  trial.set_billable_node_seconds(Seconds(row.training_us * trial.nodes()));
  trial.set_trained_resource(row.trained_resource);
  return trial;
}

v1::TuningJobEvent ToProto(const Fact& fact, const std::vector<std::string>& metrics, TrialPhase state) {
  v1::TuningJobEvent event;
  event.set_sequence(fact.sequence);
  *event.mutable_time() = ToTimestamp(fact.time_us);
  event.set_kind(std::string(FactKind(fact)));
  event.set_trial(EncodeFact(fact).trial);
  event.set_text(FactText(fact, metrics, state));
  return event;
}

std::vector<v1::Attempt> ToAttempts(const std::vector<AssignmentRow>& ranks, const std::vector<Fact>& facts,
                                    const std::vector<WorkerRow>& workers) {
  std::map<std::string, const WorkerRow*> by_id;
  for (const WorkerRow& worker : workers) by_id[worker.id] = &worker;
  std::vector<v1::Attempt> attempts;
  for (const Fact& fact : facts) {
    const auto* started = std::get_if<AttemptStarted>(&fact.body);
    if (started == nullptr) continue;
    v1::Attempt& attempt = attempts.emplace_back();
    attempt.set_number(started->attempt);
    attempt.set_resource_from(started->from);
    attempt.set_resource_to(started->to);
    *attempt.mutable_start_time() = ToTimestamp(fact.time_us);
  }
  for (const AssignmentRow& row : ranks) {
    if (row.attempt < 1 || row.attempt > static_cast<int64_t>(attempts.size())) continue;
    v1::Attempt& attempt = attempts[row.attempt - 1];
    if (attempt.ranks_size() == 0 && row.start_us > 0)
      *attempt.mutable_start_time() = ToTimestamp(row.start_us);
    if (row.rank == 0) attempt.set_part_start(ToMessage(row.part_start));
    v1::Rank* rank = attempt.add_ranks();
    rank->set_rank(row.rank);
    rank->set_assignment_id(row.id);
    auto worker = by_id.find(row.worker);
    rank->set_worker(worker == by_id.end() ? row.worker : worker->second->name);
    if (worker != by_id.end()) rank->set_host(worker->second->host);
    rank->mutable_gpus()->Assign(row.gpus.begin(), row.gpus.end());
  }
  for (const Fact& fact : facts) {
    const auto* ended = std::get_if<AttemptEnded>(&fact.body);
    if (ended == nullptr || ended->attempt < 1 || ended->attempt > static_cast<int64_t>(attempts.size()))
      continue;
    v1::Attempt& attempt = attempts[ended->attempt - 1];
    *attempt.mutable_end_time() = ToTimestamp(ended->ended_us > 0 ? ended->ended_us : fact.time_us);
    attempt.set_outcome(OutcomeName(ended->outcome));
    attempt.set_reason(ended->reason);
  }
  return attempts;
}

}  // namespace winnow

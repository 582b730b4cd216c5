#include "server/engine/client_attempts.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "scheduler/space/random.h"
#include "scheduler/validate.h"
#include "server/engine/answers/job_facts.h"
#include "server/engine/answers/messages.h"
#include "server/engine/answers/requester.h"
#include "spec/search_spec.h"
#include "spec/values.h"

namespace winnow {
namespace {

constexpr int64_t kDefaultLeaseUs = 60'000'000;
constexpr size_t kMostReasonLength = 4096;  // of the client's own words: it is shown as a sentence

std::string Subject(int64_t job, TrialNumber trial) { return fmt::format("{}/{}", job, trial); }

// The inverse.
std::pair<int64_t, TrialNumber> ReadSubject(const std::string& subject) {
  std::pair<int64_t, TrialNumber> ids;
  const char* end = subject.data() + subject.size();
  const auto [slash, error] = std::from_chars(subject.data(), end, ids.first);
  std::from_chars(slash + 1, end, ids.second);
  return ids;
}

// The end of a text that is too long, from a character's first byte on: that is where a stack trace says what
// happened.
std::string Shortened(const std::string& text) {
  if (text.size() <= kMostReasonLength) return text;
  size_t begin = text.size() - kMostReasonLength;
  while (begin < text.size() && (text[begin] & 0xC0) == 0x80) ++begin;
  return text.substr(begin);
}

std::string NameOf(TrialNumber trial, int64_t attempt) {
  return fmt::format("attempt {} of trial {}", attempt, trial);
}

// By the server, not by its client.
bool EndedEarly(const TrialRow& trial) {
  const auto phase = PhaseOf(trial.state);
  return phase == TrialPhase::kPruned || phase == TrialPhase::kCancelled;
}

}  // namespace

int64_t ClientLeaseUs(const v1::TuningJobSpec& spec) {
  const int64_t us = google::protobuf::util::TimeUtil::DurationToMicroseconds(spec.trainer().lease());
  return us > 0 ? us : kDefaultLeaseUs;
}

void ClientAttempts::Load() {
  clients_.clear();
  RenewLeases();
}

void ClientAttempts::RenewLeases() {
  for (const auto& [key, job] : jobs_.all()) {
    if (!job->external()) continue;
    for (const TrialState& trial : job->state.trials()) {
      if (trial.live) Renew(*job, trial.number, "");
    }
  }
}

void ClientAttempts::Renew(const OpenJob& job, TrialNumber trial, const std::string& client) {
  const std::string subject = Subject(job.row.key, trial);
  Client& known = clients_[subject];
  if (!client.empty()) known.name = client;
  known.heard_us = context_.wall_us();
  context_.deadlines.Set(Deadlines::Kind::kClientLease, subject,
                         context_.steady_us() + ClientLeaseUs(job.spec));
}

absl::StatusOr<v1::SuggestedTrial> ClientAttempts::Start(OpenJob& job, const Admission& admission,
                                                         const std::string& client) {
  if (admission.decision) recorder_.Record(job, ToBody(*admission.decision));
  const TrialNumber number = admission.trial;
  const int64_t attempt = job.state.trial(number).attempts + 1;
  recorder_.Record(job, AttemptStarted{number, attempt, admission.from, admission.to});
  Renew(job, number, client);
  const SearchSpec& spec = job.state.spec();
  v1::SuggestedTrial message;
  message.set_trial(number);
  message.set_attempt(attempt);
  AddHyperparameters(spec, job.state.trial(number).configuration, *message.mutable_hyperparameters());
  message.set_resource_from(admission.from);
  message.set_resource_to(admission.to);
  message.set_seed(TrainingSeed(spec, number, admission.to));
  const auto* created = admission.decision ? std::get_if<TrialCreated>(&*admission.decision) : nullptr;
  if (created != nullptr) {
    message.set_choice_reason(created->why);
    return message;
  }
  absl::StatusOr<std::vector<Fact>> facts = context_.store.facts.LoadTrial(job.row.key, number);
  if (!facts.ok()) return facts.status();
  message.set_choice_reason(ChoiceReason(*facts));
  return message;
}

void ClientAttempts::End(OpenJob& job, TrialNumber number, AttemptOutcome outcome, const std::string& reason,
                         int64_t ended_us) {
  const std::string subject = Subject(job.row.key, number);
  context_.deadlines.Clear(Deadlines::Kind::kClientLease, subject);
  clients_.erase(subject);
  const TrialState& trial = job.state.trial(number);
  AttemptEnded ended{number, trial.attempts, trial.ended() ? AttemptOutcome::kStopped : outcome, reason, 0,
                     0};
  if (ended_us > 0) {
    ended.started_us = trial.attempt_started_us;
    ended.ended_us = std::max(ended_us, trial.attempt_started_us);
  }
  recorder_.Record(job, std::move(ended));
}

void ClientAttempts::HandBack(OpenJob& job, TrialNumber number, int64_t attempt) {
  const TrialState& trial = job.state.trial(number);
  if (!trial.live || trial.attempts != attempt) return;
  End(job, number, AttemptOutcome::kHandedBack, "its client did not wait for it", 0);
}

void ClientAttempts::LeaseExpired(const std::string& subject) {
  const auto [key, number] = ReadSubject(subject);
  OpenJob* job = jobs_.FindKey(key);
  if (job == nullptr || !job->state.trial(number).live) return;
  const Client client = clients_[subject];
  const std::string who = client.name.empty() ? "its client" : "client " + client.name;
  End(*job, number, AttemptOutcome::kLost,
      fmt::format("{} was not heard of for {:.1f} s", who,
                  static_cast<double>(ClientLeaseUs(job->spec)) / 1e6),
      client.heard_us);
}

absl::StatusOr<ClientAttempts::Found> ClientAttempts::Find(const std::string& job_id, const Requester& by,
                                                           int64_t trial, int64_t attempt) {
  const auto no_trial = [&] { return NoTrial(job_id, trial); };
  Found found;
  if ((found.job = jobs_.Find(job_id)) != nullptr) {
    if (absl::Status mine = by.MayChange(job_id, found.job->row.owner); !mine.ok()) return mine;
    const std::vector<TrialState>& trials = found.job->state.trials();
    found.key = found.job->row.key;
    found.spec = found.job->spec;
    if (trial < 1 || trial > static_cast<int64_t>(trials.size())) return no_trial();
    found.trial = MakeTrialRow(trials[trial - 1]);
    found.live = trials[trial - 1].live && attempt == found.trial.attempts;
  } else {
    const absl::StatusOr<JobRow> row = FindChangeable(context_.store.jobs, job_id, by);
    if (!row.ok()) return row.status();
    found.key = row->key;
    absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson(row->spec);
    if (!spec.ok()) return spec.status();
    found.spec = *std::move(spec);
    absl::StatusOr<std::optional<TrialRow>> known = context_.store.trials.Find(found.key, trial);
    if (!known.ok()) return known.status();
    if (!*known) return no_trial();
    found.trial = **std::move(known);
  }
  if (!found.spec.trainer().external()) {
    return absl::FailedPreconditionError(
        fmt::format("job \"{}\" has a trainer of its own; expected one with trainer.external", job_id));
  }
  if (attempt >= 1 && attempt <= found.trial.attempts) return found;
  return absl::FailedPreconditionError(
      fmt::format("trial {} has no attempt {}; its newest is {}", trial, attempt, found.trial.attempts));
}

absl::Status ClientAttempts::Check(const OpenJob& job, TrialNumber trial, const Points& points) const {
  const int64_t end = job.state.trial(trial).to;
  const int64_t to = end > 0 ? end : kMostResource;
  for (int i = 0; i < points.size(); ++i) {
    const v1::ReportedPoint& point = points[i];
    if (point.resource() < 1 || point.resource() > to) {
      return absl::InvalidArgumentError(
          fmt::format("points[{}].resource: {} is out of range; expected 1 to {}", i, point.resource(), to));
    }
    if (point.metric().empty()) {
      return absl::InvalidArgumentError(fmt::format("points[{}].metric: is missing; expected its name, as {}",
                                                    i, job.state.spec().objective_metric));
    }
    if (point.metric().size() > kMostMetricBytes) {
      return absl::InvalidArgumentError(fmt::format("points[{}].metric: has {} bytes; expected at most {}", i,
                                                    point.metric().size(), kMostMetricBytes));
    }
  }
  return absl::OkStatus();
}

// What ranks trials last: it may end the trial, and then nothing more is recorded. Of several metrics that
// do, those of one level come together, the first objective last.
void ClientAttempts::Record(OpenJob& job, TrialNumber trial, const Points& points) {
  const SearchSpec& spec = job.state.spec();
  const int64_t attempt = job.state.trial(trial).attempts;
  std::vector<std::pair<int64_t, const v1::ReportedPoint*>> ranking;  // with their indices
  for (const v1::ReportedPoint& point : points) {
    if (const int64_t index = spec.RankingIndex(point.metric()); index >= 0) {
      ranking.emplace_back(index, &point);
    } else {
      jobs_.StoreMetric(
          job, {trial, attempt, point.resource(), point.metric(), point.value(), context_.wall_us()});
    }
  }
  if (spec.ranks_by_standing()) {
    std::stable_sort(ranking.begin(), ranking.end(), [](const auto& a, const auto& b) {
      return std::make_pair(a.second->resource(), -a.first) < std::make_pair(b.second->resource(), -b.first);
    });
  }
  for (const auto& [index, point] : ranking) {
    if (job.state.trial(trial).ended()) return;
    const bool fresh = recorder_.RecordReport(
        job, {trial, attempt, point->resource(), point->metric(), point->value(), context_.wall_us()});
    const std::optional<double> first = job.state.trial(trial).curve_of(index).at(point->resource());
    if (fresh || !first || *first == point->value() ||
        !(std::isfinite(*first) && std::isfinite(point->value())))
      continue;
    recorder_.RecordNotice(
        job,
        {trial, NoticeKind::kReportedTwice,
         fmt::format("Trial {} was told {} twice at level {}: {:.6g}, then {:.6g}. Only the first value of a "
                     "level counts.",
                     trial, point->metric(), point->resource(), *first, point->value())});
  }
}

absl::StatusOr<v1::ReportMetricsResponse> ClientAttempts::Report(const v1::ReportMetricsRequest& request,
                                                                 const Requester& by) {
  absl::StatusOr<Found> found = Find(request.job_id(), by, request.trial(), request.attempt());
  if (!found.ok()) return found.status();
  v1::ReportMetricsResponse response;
  if (!found->live) {
    // Its answer may have been lost.
    if (EndedEarly(found->trial) && request.attempt() == found->trial.attempts) {
      response.set_stop(true);
      response.set_reason(found->trial.reason);
      return response;
    }
    return absl::FailedPreconditionError(fmt::format(
        "{} is not live: {}", NameOf(request.trial(), request.attempt()),
        found->trial.end_us > 0 ? "the trial has ended" : "it was completed, or its lease ran out"));
  }
  OpenJob& job = *found->job;
  const TrialNumber number = request.trial();
  absl::Status status = Check(job, number, request.points());
  if (!status.ok()) return status;
  Renew(job, number, "");
  Record(job, number, request.points());
  const TrialState& trial = job.state.trial(number);
  if (!trial.ended()) return response;
  response.set_stop(true);
  response.set_reason(trial.reason);
  End(job, number, AttemptOutcome::kStopped, "", context_.wall_us());
  return response;
}

absl::StatusOr<bool> ClientAttempts::IsRepeated(const Found& found, const v1::CompleteTrialRequest& request) {
  absl::StatusOr<std::vector<Fact>> facts = context_.store.facts.LoadTrial(found.key, request.trial());
  if (!facts.ok()) return facts.status();
  const AttemptOutcome said = request.failed() ? AttemptOutcome::kFailed : AttemptOutcome::kFinished;
  const bool ended_so = std::any_of(facts->begin(), facts->end(), [&](const Fact& fact) {
    const auto* ended = std::get_if<AttemptEnded>(&fact.body);
    return ended != nullptr && ended->attempt == request.attempt() &&
           (ended->outcome == said || ended->outcome == AttemptOutcome::kStopped);
  });
  if (!ended_so) return false;
  for (const v1::ReportedPoint& point : request.points()) {
    absl::StatusOr<std::optional<ReportRow>> known = context_.store.facts.FindReport(
        found.key, request.trial(), request.attempt(), point.resource(), point.metric());
    if (!known.ok()) return known.status();
    // A trial that was ended early takes no further values.
    if (!*known && EndedEarly(found.trial)) continue;
    if (!*known) return false;
    const double value = (*known)->value;
    if (value != point.value() && !(std::isnan(value) && std::isnan(point.value()))) return false;
  }
  return true;
}

absl::StatusOr<v1::CompleteTrialResponse> ClientAttempts::Complete(const v1::CompleteTrialRequest& request,
                                                                   const Requester& by) {
  absl::StatusOr<Found> found = Find(request.job_id(), by, request.trial(), request.attempt());
  if (!found.ok()) return found.status();
  v1::CompleteTrialResponse response;
  if (!found->live) {
    absl::StatusOr<bool> repeated = IsRepeated(*found, request);
    if (!repeated.ok()) return repeated.status();
    if (!*repeated) {
      return absl::FailedPreconditionError(
          fmt::format("{} is not live: it was completed otherwise, or its lease ran out",
                      NameOf(request.trial(), request.attempt())));
    }
    *response.mutable_trial() = ToProto(request.job_id(), ToSearchSpec(found->spec), found->trial);
    return response;
  }
  OpenJob& job = *found->job;
  const TrialNumber number = request.trial();
  absl::Status status = Check(job, number, request.points());
  if (!status.ok()) return status;
  Record(job, number, request.points());
  End(job, number, request.failed() ? AttemptOutcome::kFailed : AttemptOutcome::kFinished,
      request.failed() ? Shortened(request.reason()) : "", context_.wall_us());
  *response.mutable_trial() = ToProto(job.row.id, job.state.spec(), MakeTrialRow(job.state.trial(number)));
  return response;
}

}  // namespace winnow

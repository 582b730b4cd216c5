#include "server/engine/suggest_calls.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <set>
#include <vector>

#include "scheduler/suggest.h"
#include "server/engine/answers/job_facts.h"
#include "server/engine/answers/messages.h"

namespace winnow {
namespace {

using google::protobuf::util::TimeUtil;

constexpr size_t kMaxClientLength = 128;
constexpr int32_t kMaxCount = 1000;
constexpr int64_t kMostAskWaitUs = 60'000'000;
// How long a batch gives trials to calls, while all else waits: in some spaces a configuration takes long to
// find. A call that has got some by then is answered with these.
constexpr int64_t kLongestServeUs = 200'000;

absl::Status CheckRequest(const v1::SuggestTrialsRequest& request) {
  if (request.client().size() > kMaxClientLength) {
    return absl::InvalidArgumentError(fmt::format("client: has {} characters; expected at most {}",
                                                  request.client().size(), kMaxClientLength));
  }
  if (request.count() < 0 || request.count() > kMaxCount) {
    return absl::InvalidArgumentError(
        fmt::format("count: {} is out of range; expected 1 to {}, or 0 for 1", request.count(), kMaxCount));
  }
  const int64_t wait = TimeUtil::DurationToMicroseconds(request.wait());
  if (wait < 0 || wait > kMostAskWaitUs) {
    return absl::InvalidArgumentError(
        fmt::format("wait: {} s is out of range; expected 0 to 60 s", static_cast<double>(wait) / 1e6));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SuggestCalls::Check(const v1::SuggestTrialsRequest& request, const Requester& by, Call& call) {
  absl::Status status = CheckRequest(request);
  if (!status.ok()) return status;
  v1::TuningJobSpec spec;
  if (OpenJob* job = jobs_.Find(request.job_id())) {
    if (status = by.MayChange(job->row.id, job->row.owner); !status.ok()) return status;
    call.job = job->row.key;
    spec = job->spec;
  } else {
    const absl::StatusOr<JobRow> row = FindChangeable(context_.store.jobs, request.job_id(), by);
    if (!row.ok()) return row.status();
    absl::StatusOr<v1::TuningJobSpec> stored = SpecFromJson(row->spec);
    if (!stored.ok()) return stored.status();
    spec = *std::move(stored);
    call.response.set_job_state(JobStateOf(row->state));
    call.due = true;
  }
  if (!spec.trainer().external()) {
    return absl::FailedPreconditionError(fmt::format(
        "job \"{}\" has a trainer of its own; expected one with trainer.external", request.job_id()));
  }
  *call.response.mutable_lease() = TimeUtil::MicrosecondsToDuration(ClientLeaseUs(spec));
  return absl::OkStatus();
}

void SuggestCalls::Take(int64_t ticket, const v1::SuggestTrialsRequest& request, const Requester& by,
                        SuggestDone done) {
  Call& call = calls_[ticket];
  call.client = request.client();
  call.count = std::max(1, request.count());
  call.done = std::move(done);
  call.status = Check(request, by, call);
  const int64_t wait = TimeUtil::DurationToMicroseconds(request.wait());
  if (!call.status.ok() || wait <= 0 || !holding_) call.due = true;
  if (call.due) return;
  context_.deadlines.Set(Deadlines::Kind::kSuggestCall, std::to_string(ticket), context_.steady_us() + wait);
}

void SuggestCalls::Cancel(int64_t ticket) {
  auto found = calls_.find(ticket);
  if (found == calls_.end()) return;
  Call& call = found->second;
  if (OpenJob* job = jobs_.FindKey(call.job)) {
    for (const v1::SuggestedTrial& trial : call.response.trials()) {
      attempts_.HandBack(*job, trial.trial(), trial.attempt());
    }
  }
  call.job = 0;
  call.response.clear_trials();
  call.status = absl::CancelledError("cancelled by the client");
  call.due = true;
}

void SuggestCalls::WaitOver(int64_t ticket) {
  auto found = calls_.find(ticket);
  if (found != calls_.end()) found->second.due = true;
}

bool SuggestCalls::Fill(OpenJob& job, Call& call, int64_t until_us) {
  while (call.response.trials_size() < call.count) {
    if (call.response.trials_size() > 0 && context_.steady_us() >= until_us) return true;
    const std::optional<Admission> admission = Admit(job.state);
    if (!admission) {
      if (WantsSuggestion(job.state)) jobs_.AskSearchModel(job);
      return false;
    }
    if (admission->trial == 0) {
      attempts_.Follow(job, *admission->decision);
      continue;
    }
    absl::StatusOr<v1::SuggestedTrial> started = attempts_.Start(job, *admission, call.client);
    context_.Note(started.status());
    if (!started.ok()) return false;
    *call.response.add_trials() = *std::move(started);
  }
  return true;
}

void SuggestCalls::Serve() {
  std::set<int64_t> dry;
  const int64_t until_us = context_.steady_us() + kLongestServeUs;
  for (auto& [ticket, call] : calls_) {
    OpenJob* job = call.status.ok() ? jobs_.FindKey(call.job) : nullptr;
    if (job != nullptr && dry.count(call.job) == 0 && !Fill(*job, call, until_us)) dry.insert(call.job);
  }
  for (auto& [ticket, call] : calls_) {
    const OpenJob* job = jobs_.FindKey(call.job);
    if (job == nullptr) continue;
    call.response.set_job_state(JobStateOf(job->row.state));
    const int given = call.response.trials_size();
    // One that was given something waits for more only while a model is about to say it. One that waits while
    // the job ends by a rule of its own learns that it has ended, not that there is nothing yet: it would ask
    // again at once.
    const bool is_told = job->state.ended() || call.response.job_state() == v1::TuningJob::STOPPING;
    if (given == call.count || (given > 0 && !job->awaits_suggestion) || is_told) call.due = true;
  }
}

void SuggestCalls::Answer() {
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (!call->second.due) {
      ++call;
      continue;
    }
    context_.deadlines.Clear(Deadlines::Kind::kSuggestCall, std::to_string(call->first));
    Call answered = std::move(call->second);
    call = calls_.erase(call);
    answered.status.ok() ? answered.done(std::move(answered.response)) : answered.done(answered.status);
  }
}

void SuggestCalls::RefuseAll(const absl::Status& status) {
  for (auto& [ticket, call] : calls_) {
    context_.deadlines.Clear(Deadlines::Kind::kSuggestCall, std::to_string(ticket));
    call.done(status);
  }
  calls_.clear();
}

void SuggestCalls::StopHolding() {
  holding_ = false;
  for (auto& [ticket, call] : calls_) {
    Cancel(ticket);
    call.status = absl::UnavailableError("the server is stopping");
  }
}

}  // namespace winnow

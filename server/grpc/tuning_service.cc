#include "server/grpc/tuning_service.h"

#include <fmt/format.h>
#include <grpcpp/support/server_callback.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <memory>

#include "server/engine/answers/violations.h"
#include "server/engine/attempts.h"
#include "server/engine/worker_marks.h"
#include "server/grpc/audit.h"
#include "server/grpc/blob_access.h"
#include "server/grpc/errors.h"
#include "server/grpc/pending_call.h"
#include "server/grpc/projects.h"
#include "server/grpc/watch.h"
#include "server/reads/warm_start_reading.h"
#include "spec/checks/size.h"
#include "spec/new_job.h"

namespace winnow {
namespace {

// One call of SuggestTrials, which the coordinator may hold and forgets when the client disconnects.
class AskCall final : public grpc::ServerUnaryReactor, public std::enable_shared_from_this<AskCall> {
 public:
  static AskCall* Start(Coordinator& coordinator, const v1::SuggestTrialsRequest& request,
                        const Requester& by, v1::SuggestTrialsResponse* response);

  void OnCancel() override { coordinator_.CancelSuggestTrials(ticket_); }
  void OnDone() override;

 private:
  AskCall(Coordinator& coordinator, v1::SuggestTrialsResponse* response)
      : coordinator_(coordinator), response_(response) {}

  Coordinator& coordinator_;
  v1::SuggestTrialsResponse* const response_;
  int64_t ticket_ = 0;
  std::shared_ptr<AskCall> self_;  // until gRPC is done with this call
};

AskCall* AskCall::Start(Coordinator& coordinator, const v1::SuggestTrialsRequest& request,
                        const Requester& by, v1::SuggestTrialsResponse* response) {
  std::shared_ptr<AskCall> call(new AskCall(coordinator, response));
  call->self_ = call;
  AskCall* raw = call.get();
  raw->ticket_ = coordinator.SuggestTrials(
      request,
      [call](absl::StatusOr<v1::SuggestTrialsResponse> answer) {
        if (answer.ok()) *call->response_ = *std::move(answer);
        call->Finish(ToGrpc(answer.status()));
      },
      by);
  return raw;
}

void AskCall::OnDone() { std::shared_ptr<AskCall> last = std::move(self_); }

using CallContext = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;

// For all files of a warm start together.
constexpr std::chrono::seconds kReadingPatience{10};
constexpr int kCreateThreads = 3;
constexpr int kPreviewThreads = 2;
// Limit of calls that wait for such a thread; more are refused.
constexpr size_t kMostWaiting = 64;
constexpr std::chrono::seconds kLongestCreate{60};
constexpr std::chrono::seconds kLongestPreview{20};
// With the replays that it waits for.
constexpr std::chrono::hours kLongestReplay{24};

absl::Status TooManyWait(const char* method) {
  return absl::ResourceExhaustedError(fmt::format(
      "{}: {} calls of this method are already waiting, the maximum; try again later", method, kMostWaiting));
}

// While no trial has reported, says what the first running one waits for, such as a download.
void AddPreparing(Reads& reads, const Preparations& preparations, v1::TuningJob& job) {
  if (job.state() != v1::TuningJob::RUNNING || !job.state_reason().empty() || job.spend().resource() > 0)
    return;
  v1::ListTrialsRequest running;
  running.set_job_id(job.id());
  running.set_page_size(1);
  running.add_states(v1::Trial::RUNNING);
  const absl::StatusOr<v1::ListTrialsResponse> listed = reads.ListTrials(running);
  if (!listed.ok() || listed->trials().empty()) return;
  v1::DescribeTrialRequest first;
  first.set_job_id(job.id());
  first.set_trial(listed->trials(0).number());
  absl::StatusOr<v1::DescribeTrialResponse> trial = reads.DescribeTrial(first);
  if (!trial.ok()) return;
  for (v1::Attempt& attempt : *trial->mutable_attempts()) {
    preparations.AddTo(attempt);
    for (const v1::Rank& rank : attempt.ranks()) {
      if (rank.preparing().empty()) continue;
      job.set_state_reason(fmt::format("Trial {} {}.", first.trial(), rank.preparing()));
      return;
    }
  }
}

// Returns the job's state as visible to `by`, if `known` is OK.
void Describe(Reader& reader, const absl::StatusOr<std::string>& known, const Requester& by,
              std::function<void(absl::StatusOr<v1::TuningJob>)> done) {
  if (!known.ok()) return done(known.status());
  reader.Post([id = *known, by, done = std::move(done)](Reads& reads) {
    absl::StatusOr<v1::TuningJob> described = reads.DescribeTuningJob(id);
    if (described.ok()) by.Redact(*described);
    done(std::move(described));
  });
}

// OK while `call` is pending and `patience` is not over.
GoOn WhileWaits(std::shared_ptr<PendingCall<v1::TuningJob>> call, std::chrono::milliseconds patience) {
  return [call = std::move(call), in_time = GoOnFor(patience)] {
    const absl::Status waits = call->GoOn();
    return waits.ok() ? in_time() : waits;
  };
}

// Whoever sees a job sees those with whose results it began: they are of its project or of the default one.
absl::Status CheckParents(const v1::TuningJobSpec& spec, const std::string& project) {
  for (int i = 0; i < spec.warm_start().jobs_size(); ++i) {
    const std::string_view parents = ProjectOfJob(spec.warm_start().jobs(i));
    if (parents.empty() || parents == project) continue;
    return ViolationsError(
        {{fmt::format("warm_start.jobs[{}]", i),
          fmt::format("is \"{}\", a job of project {}; expected one of {}the default project",
                      spec.warm_start().jobs(i), parents,
                      project.empty() ? "" : "project " + project + " or ")}});
  }
  return absl::OkStatus();
}

// Leaves out what tells of jobs that `by` does not see.
void LeaveOutHidden(const Requester& by, v1::Worker& worker) {
  std::vector<std::string> seen;
  for (const std::string& id : worker.assignment_ids()) {
    if (by.May(Deed::kSee, {JobOfAssignment(id), ""})) seen.push_back(id);
  }
  worker.mutable_assignment_ids()->Assign(seen.begin(), seen.end());
  // What went wrong last may name a job's files.
  const size_t last = worker.scheduling_reason().find(kLastTrouble);
  if (worker.scheduling() == v1::Worker::QUARANTINED && last != std::string::npos)
    worker.set_scheduling_reason(worker.scheduling_reason().substr(0, last));
}

// Finishes a call with the result of the coordinator or the replays.
template <typename Response>
std::function<void(absl::StatusOr<Response>)> FinishBy(Unary* reactor, Response* response) {
  return [reactor, response](absl::StatusOr<Response> answer) {
    if (answer.ok()) *response = *std::move(answer);
    reactor->Finish(ToGrpc(answer.status()));
  };
}

// Answers a request with the result of `read` on the reader's thread.
template <typename Response, typename Read>
Unary* Answer(CallContext* context, Reader& reader, Response* response, Read read) {
  Unary* reactor = context->DefaultReactor();
  reader.Post([reactor, response, read = std::move(read)](Reads& reads) {
    absl::StatusOr<Response> answer = read(reads);
    if (answer.ok()) *response = *std::move(answer);
    reactor->Finish(ToGrpc(answer.status()));
  });
  return reactor;
}

}  // namespace

absl::StatusOr<SlowReaders> SlowReaders::Start(const std::string& file, const Clock& clock) {
  absl::StatusOr<std::unique_ptr<Reader>> creates = Reader::Start(file, clock, kCreateThreads);
  if (!creates.ok()) return creates.status();
  absl::StatusOr<std::unique_ptr<Reader>> previews = Reader::Start(file, clock, kPreviewThreads);
  if (!previews.ok()) return previews.status();
  absl::StatusOr<std::unique_ptr<ExpectationReader>> expectations = ExpectationReader::Start(file, clock);
  if (!expectations.ok()) return expectations.status();
  return SlowReaders{*std::move(creates), *std::move(previews), *std::move(expectations)};
}

Unary* TuningService::CreateTuningJob(CallContext* context, const v1::CreateTuningJobRequest* request,
                                      v1::TuningJob* job) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  const auto call = PendingCall<v1::TuningJob>::Start(hub_, job, kLongestCreate);
  AuditNote note{"CreateTuningJob"};
  note.subject = request->spec().name();
  // A request that is refused before the coordinator hears of it.
  const auto refuse = [call, &coordinator = *coordinator_, by, note](const absl::Status& status) {
    RecordAudited(coordinator, by, note, status, [call, status] { call->Answer(status); });
  };
  if (const std::vector<Violation> large = CheckSize(request->spec()); !large.empty()) {
    refuse(ViolationsError(large));
    return call.get();
  }
  const auto kept = std::make_shared<const v1::CreateTuningJobRequest>(*request);
  const auto answer = [call](absl::StatusOr<v1::TuningJob> described) { call->Answer(std::move(described)); };
  const auto create = [call, kept, answer, refuse, note, &coordinator = *coordinator_, &reader = reader_,
                       training = training_, &files = files_, &authority = guard_.authority(),
                       by](Reads& reads) {
    if (!call->GoOn().ok()) return;
    if (kept->request_id().find('\n') != std::string::npos)
      return refuse(absl::InvalidArgumentError("request_id: has a line break; expected none"));
    // A repeated request gets the same answer, even if the files have changed since.
    const std::string project = ProjectNamed(kept->project());
    const absl::StatusOr<std::string> known = reads.FindRequest(kept->request_id(), project);
    if (!known.ok() || !known->empty()) return Describe(reader, known, by, answer);
    absl::Status status = CheckParents(kept->spec(), project);
    if (status.ok()) status = CheckCreate(*kept, training, files);
    if (status.ok()) status = CheckBlobs(reads, authority, by, kept->source().manifest());
    if (!status.ok()) return refuse(status);
    absl::StatusOr<WarmStart> start =
        ReadWarmStart(kept->spec(), reads, files, WhileWaits(call, kReadingPatience));
    if (!start.ok()) return refuse(start.status());
    if (!call->GoOn().ok()) return;
    CallAudited<absl::StatusOr<std::string>>(
        coordinator, by, note,
        [kept, spec = NewJobSpec(kept->spec()), start = *std::move(start), by, project, &authority](
            Engine& engine, AuditNote& entry) -> absl::StatusOr<std::string> {
          // Reading files takes time, in which they may have been removed from the project.
          if (!authority.RequesterOf(by.token_id).Sees(project)) return NoProject(project);
          if (absl::Status there = CheckProject(engine, project); !there.ok()) return there;
          absl::StatusOr<std::string> id =
              engine.CreateJob(spec, kept->request_id(), start, by.name,
                               kept->has_source() ? &kept->source() : nullptr, project);
          if (id.ok()) entry.job = *id;
          return id;
        },
        [answer, &reader, by](const absl::StatusOr<std::string>& id) {
          if (id.ok()) spdlog::info("{} created job {}", by.ForLog(), *id);
          Describe(reader, id, by, answer);
        });
  };
  if (!slow_.creates->PostWithin(kMostWaiting, create)) call->Answer(TooManyWait(__func__));
  return call.get();
}

Unary* TuningService::DescribeTuningJob(CallContext* context, const v1::DescribeTuningJobRequest* request,
                                        v1::TuningJob* job) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  reader_.Post([this, reactor, request, by, job, &expectations = *slow_.expectations](Reads& reads) {
    absl::StatusOr<v1::TuningJob> described = reads.DescribeTuningJob(request->id());
    if (!described.ok()) return reactor->Finish(ToGrpc(described.status()));
    *job = *std::move(described);
    if (preparations_ != nullptr) AddPreparing(reads, *preparations_, *job);
    by.Redact(*job);
    const bool posted =
        job->has_best() && expectations.PostWithin(kMostWaiting, [reactor, job](Expectations& desk) {
          reactor->Finish(ToGrpc(desk.Complete(*job)));
        });
    if (!posted) reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

Unary* TuningService::ListTuningJobs(CallContext* context, const v1::ListTuningJobsRequest* request,
                                     v1::ListTuningJobsResponse* response) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  const auto visible = guard_.authority().VisibleTo(by);
  return Answer(context, reader_, response, [request, by, visible](Reads& reads) {
    absl::StatusOr<v1::ListTuningJobsResponse> listed = reads.ListTuningJobs(*request, visible);
    if (!listed.ok()) return listed;
    for (v1::TuningJob& job : *listed->mutable_jobs()) by.Redact(job);
    return listed;
  });
}

Unary* TuningService::StopTuningJob(CallContext* context, const v1::StopTuningJobRequest* request,
                                    v1::TuningJob* job) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  CallAudited<absl::Status>(
      *coordinator_, by, {"StopTuningJob", request->id()},
      [request, by](Engine& engine, AuditNote&) { return engine.StopJob(request->id(), by); },
      [this, reactor, request, by, job](const absl::Status& status) {
        if (status.ok()) spdlog::info("{} stopped job {}", by.ForLog(), request->id());
        const absl::StatusOr<std::string> id =
            status.ok() ? absl::StatusOr<std::string>(request->id()) : status;
        Describe(reader_, id, by, FinishBy(reactor, job));
      });
  return reactor;
}

Unary* TuningService::ChangeTuningJob(CallContext* context, const v1::ChangeTuningJobRequest* request,
                                      v1::TuningJob* job) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  // At most one of them is set.
  const int64_t trial = request->stop_trial() + request->keep_trial() + request->release_trial();
  AuditNote note{"ChangeTuningJob", request->id(), trial};
  const auto* change = v1::ChangeTuningJobRequest::descriptor()->FindFieldByNumber(request->change_case());
  if (change != nullptr) note.detail = change->name();
  CallAudited<absl::Status>(
      *coordinator_, by, std::move(note),
      [request, by](Engine& engine, AuditNote&) { return engine.ChangeJob(*request, by); },
      [this, reactor, request, by, job](const absl::Status& status) {
        if (status.ok()) spdlog::info("{} changed job {}", by.ForLog(), request->id());
        const absl::StatusOr<std::string> id =
            status.ok() ? absl::StatusOr<std::string>(request->id()) : status;
        Describe(reader_, id, by, FinishBy(reactor, job));
      });
  return reactor;
}

Unary* TuningService::DeleteTuningJob(CallContext* context, const v1::DeleteTuningJobRequest* request,
                                      v1::DeleteTuningJobResponse*) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  CallAudited<absl::Status>(
      *coordinator_, by, {"DeleteTuningJob", request->id()},
      [request, by](Engine& engine, AuditNote&) { return engine.DeleteJob(request->id(), by); },
      [reactor, request, by](const absl::Status& status) {
        if (status.ok()) spdlog::info("{} deleted job {}", by.ForLog(), request->id());
        reactor->Finish(ToGrpc(status));
      });
  return reactor;
}

Unary* TuningService::Annotate(CallContext* context, const v1::AnnotateRequest* request,
                               v1::AnnotateResponse* response) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  CallAudited<absl::StatusOr<v1::Annotation>>(
      *coordinator_, by, {"Annotate", request->job_id(), request->trial()},
      [request, by](Engine& engine, AuditNote&) { return engine.Annotate(*request, by); },
      [reactor, response](absl::StatusOr<v1::Annotation> written) {
        if (written.ok()) *response->mutable_annotation() = *std::move(written);
        reactor->Finish(ToGrpc(written.status()));
      });
  return reactor;
}

Unary* TuningService::ListTrials(CallContext* context, const v1::ListTrialsRequest* request,
                                 v1::ListTrialsResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Answer(context, reader_, response, [request](Reads& reads) { return reads.ListTrials(*request); });
}

Unary* TuningService::DescribeTrial(CallContext* context, const v1::DescribeTrialRequest* request,
                                    v1::DescribeTrialResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Answer(context, reader_, response, [this, request](Reads& reads) {
    absl::StatusOr<v1::DescribeTrialResponse> answer = reads.DescribeTrial(*request);
    if (answer.ok() && preparations_ != nullptr) {
      for (v1::Attempt& attempt : *answer->mutable_attempts()) preparations_->AddTo(attempt);
    }
    return answer;
  });
}

Unary* TuningService::QueryMetrics(CallContext* context, const v1::QueryMetricsRequest* request,
                                   v1::QueryMetricsResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Answer(context, reader_, response, [request](Reads& reads) { return reads.QueryMetrics(*request); });
}

Unary* TuningService::GetSchedule(CallContext* context, const v1::GetScheduleRequest* request,
                                  v1::Schedule* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Answer(context, reader_, response, [request](Reads& reads) { return reads.GetSchedule(*request); });
}

Unary* TuningService::GetParetoFront(CallContext* context, const v1::GetParetoFrontRequest* request,
                                     v1::ParetoFront* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Answer(context, reader_, response,
                [request](Reads& reads) { return reads.GetParetoFront(*request); });
}

Unary* TuningService::GetAnalytics(CallContext* context, const v1::GetAnalyticsRequest* request,
                                   v1::GetAnalyticsResponse* response) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  return Answer(context, reader_, response, [request, by](Reads& reads) {
    absl::StatusOr<v1::GetAnalyticsResponse> analytics = reads.GetAnalytics(*request);
    if (analytics.ok() && analytics->has_job()) by.Redact(*analytics->mutable_job());
    return analytics;
  });
}

Unary* TuningService::PreviewTuningJob(CallContext* context, const v1::PreviewTuningJobRequest* request,
                                       v1::TuningPlan* plan) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  const auto call = PendingCall<v1::TuningPlan>::Start(hub_, plan, kLongestPreview);
  if (const std::vector<Violation> large = CheckSize(request->spec()); !large.empty()) {
    call->Answer(ViolationsError(large));
    return call.get();
  }
  const auto preview = [call, kept = std::make_shared<const v1::PreviewTuningJobRequest>(*request)](Reads&) {
    call->Answer(Preview(*kept, [call] { return call->GoOn(); }));
  };
  if (!slow_.previews->PostWithin(kMostWaiting, preview)) call->Answer(TooManyWait(__func__));
  return call.get();
}

Unary* TuningService::ListWorkers(CallContext* context, const v1::ListWorkersRequest* request,
                                  v1::ListWorkersResponse* response) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  const bool sees_all = !guard_.authority().VisibleTo(by);
  coordinator_->ListWorkers(request->include_gone(), [reactor, response, by, sees_all](
                                                         absl::StatusOr<std::vector<v1::Worker>> workers) {
    if (workers.ok()) response->mutable_workers()->Assign(workers->begin(), workers->end());
    for (v1::Worker& worker : *response->mutable_workers()) {
      if (!sees_all) LeaveOutHidden(by, worker);
    }
    reactor->Finish(ToGrpc(workers.status()));
  });
  return reactor;
}

grpc::ServerWriteReactor<v1::TuningJobEvent>* TuningService::WatchTuningJob(
    CallContext* context, const v1::WatchTuningJobRequest* request) {
  Requester by;
  if (auto* refused =
          guard_.Refuse<grpc::ServerWriteReactor<v1::TuningJobEvent>>(context, request, __func__, &by)) {
    return refused;
  }
  return JobWatch::Start(*context, reader_, hub_, *request, {guard_.authority(), by});
}

Unary* TuningService::GetLogs(CallContext* context, const v1::GetLogsRequest* request,
                              v1::GetLogsResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return LogPoll::Start(reader_, hub_, *request, response);
}

Unary* TuningService::ReplayTuningJob(CallContext* context, const v1::ReplayTuningJobRequest* request,
                                      v1::ReplayTuningJobResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  const auto call = PendingCall<v1::ReplayTuningJobResponse>::Start(hub_, response, kLongestReplay);
  replays_.Replay(
      request->id(), [call] { return !call->GoOn().ok(); },
      [call](absl::StatusOr<v1::ReplayTuningJobResponse> answer) { call->Answer(std::move(answer)); });
  return call.get();
}

Unary* TuningService::SuggestTrials(CallContext* context, const v1::SuggestTrialsRequest* request,
                                    v1::SuggestTrialsResponse* response) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  return AskCall::Start(*coordinator_, *request, by, response);
}

Unary* TuningService::ReportMetrics(CallContext* context, const v1::ReportMetricsRequest* request,
                                    v1::ReportMetricsResponse* response) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  coordinator_->ReportMetrics(*request, FinishBy(reactor, response), std::move(by));
  return reactor;
}

Unary* TuningService::CompleteTrial(CallContext* context, const v1::CompleteTrialRequest* request,
                                    v1::CompleteTrialResponse* response) {
  Requester by;
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__, &by)) return refused;
  Unary* reactor = context->DefaultReactor();
  coordinator_->CompleteTrial(*request, FinishBy(reactor, response), std::move(by));
  return reactor;
}

}  // namespace winnow

#pragma once

#include "server/engine/coordinator.h"
#include "server/engine/hub.h"
#include "server/engine/preparations.h"
#include "server/grpc/forwarding.h"
#include "server/grpc/guard.h"
#include "server/reads/create.h"
#include "server/reads/expectations.h"
#include "server/reads/reads.h"
#include "server/reads/replays.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {

// Threads for calls that may take long or wait for foreign files. They are few, and separate from those of
// all other reads, so that viewers' requests do not delay submitters.
struct SlowReaders {
  static absl::StatusOr<SlowReaders> Start(const std::string& file, const Clock& clock);

  std::unique_ptr<Reader> creates;
  std::unique_ptr<Reader> previews;
  std::unique_ptr<ExpectationReader> expectations;
};

// The gRPC side of TuningService: converts, passes requests to reader or coordinator, maps the status.
// Finishes every call exactly once. A null coordinator: a standby's, which forwards what needs one. REQUIRES:
// coordinator, reader, hub and authority outlive the gRPC server.
class TuningService final : public v1::TuningService::CallbackService {
 public:
  TuningService(Coordinator* coordinator, Reader& reader, SlowReaders slow, Hub& hub, Authority& authority,
                Training training = Training::kHere, ReadableFolders files = ReadableFolders::Everything(),
                const Preparations* preparations = nullptr)
      : training_(training),
        preparations_(preparations),
        files_(std::move(files)),
        coordinator_(coordinator),
        reader_(reader),
        hub_(hub),
        guard_(authority, v1::TuningService::service_full_name()),
        replays_(reader),
        slow_(std::move(slow)) {
    if (coordinator != nullptr) return;
    for (const int method : ForwardedMethods(v1::TuningService::service_full_name()))
      MarkMethodGeneric(method);
  }

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* CreateTuningJob(Context*, const v1::CreateTuningJobRequest*, v1::TuningJob*) override;
  Unary* DescribeTuningJob(Context*, const v1::DescribeTuningJobRequest*, v1::TuningJob*) override;
  Unary* ListTuningJobs(Context*, const v1::ListTuningJobsRequest*, v1::ListTuningJobsResponse*) override;
  Unary* StopTuningJob(Context*, const v1::StopTuningJobRequest*, v1::TuningJob*) override;
  Unary* ChangeTuningJob(Context*, const v1::ChangeTuningJobRequest*, v1::TuningJob*) override;
  Unary* DeleteTuningJob(Context*, const v1::DeleteTuningJobRequest*, v1::DeleteTuningJobResponse*) override;
  Unary* Annotate(Context*, const v1::AnnotateRequest*, v1::AnnotateResponse*) override;
  Unary* ListTrials(Context*, const v1::ListTrialsRequest*, v1::ListTrialsResponse*) override;
  Unary* DescribeTrial(Context*, const v1::DescribeTrialRequest*, v1::DescribeTrialResponse*) override;
  Unary* QueryMetrics(Context*, const v1::QueryMetricsRequest*, v1::QueryMetricsResponse*) override;
  Unary* GetParetoFront(Context*, const v1::GetParetoFrontRequest*, v1::ParetoFront*) override;
  Unary* GetSchedule(Context*, const v1::GetScheduleRequest*, v1::Schedule*) override;
  Unary* GetAnalytics(Context*, const v1::GetAnalyticsRequest*, v1::GetAnalyticsResponse*) override;
  Unary* PreviewTuningJob(Context*, const v1::PreviewTuningJobRequest*, v1::TuningPlan*) override;
  grpc::ServerWriteReactor<v1::TuningJobEvent>* WatchTuningJob(Context*,
                                                               const v1::WatchTuningJobRequest*) override;
  Unary* ListWorkers(Context*, const v1::ListWorkersRequest*, v1::ListWorkersResponse*) override;
  Unary* GetLogs(Context*, const v1::GetLogsRequest*, v1::GetLogsResponse*) override;
  Unary* ReplayTuningJob(Context*, const v1::ReplayTuningJobRequest*, v1::ReplayTuningJobResponse*) override;
  Unary* SuggestTrials(Context*, const v1::SuggestTrialsRequest*, v1::SuggestTrialsResponse*) override;
  Unary* ReportMetrics(Context*, const v1::ReportMetricsRequest*, v1::ReportMetricsResponse*) override;
  Unary* CompleteTrial(Context*, const v1::CompleteTrialRequest*, v1::CompleteTrialResponse*) override;

  // No more replays begin, because the server is about to stop.
  void StopReplays() { replays_.Stop(); }

 private:
  const Training training_;
  const Preparations* const preparations_;  // outlives it; null: trials are described without them
  const ReadableFolders files_;
  Coordinator* const coordinator_;
  Reader& reader_;
  Hub& hub_;
  Guard guard_;
  Replays replays_;
  SlowReaders slow_;  // uses all of the above: destroyed first
};

}  // namespace winnow

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/engine/hub.h"
#include "server/grpc/guard.h"
#include "server/insights/forests.h"
#include "server/insights/insights.h"
#include "server/insights/learning_curves.h"
#include "server/reads/reads.h"
#include "winnow/v1/insight.grpc.pb.h"
#include "winnow/v1/usage.grpc.pb.h"

namespace winnow {

// The threads that compute insights: one for the tables of trials, one for curves, one for forests, so that
// none waits for a slower one, and nothing else waits for them.
struct InsightThreads {
  static absl::StatusOr<std::unique_ptr<InsightThreads>> Start(const std::string& file, const Clock& clock) {
    absl::StatusOr<std::unique_ptr<CurveReader>> curves = CurveReader::Start(file, clock);
    if (!curves.ok()) return curves.status();
    absl::StatusOr<std::unique_ptr<InsightReader>> tables = InsightReader::Start(file, clock);
    if (!tables.ok()) return tables.status();
    auto threads = std::make_unique<InsightThreads>();
    threads->curves = *std::move(curves);
    threads->tables = *std::move(tables);
    return threads;
  }

  Forests forests;
  std::unique_ptr<CurveReader> curves;
  // Uses the others: destroyed first. The thread of the curves uses it too, through a weak pointer.
  std::shared_ptr<InsightReader> tables;
};

// The gRPC side of Insights. Skips calls whose client has gone, and refuses those that wait too long.
// REQUIRES: threads, hub and authority outlive the gRPC server.
class InsightService final : public v1::InsightService::CallbackService {
 public:
  InsightService(InsightThreads& threads, Hub& hub, Authority& authority)
      : threads_(threads), hub_(hub), guard_(authority, v1::InsightService::service_full_name()) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* GetProgress(Context*, const v1::GetProgressRequest*, v1::GetProgressResponse*) override;
  Unary* GetSieve(Context*, const v1::GetSieveRequest*, v1::Sieve*) override;
  Unary* GetParallelCoordinates(Context*, const v1::GetParallelCoordinatesRequest*,
                                v1::ParallelCoordinates*) override;
  Unary* GetLearningCurves(Context*, const v1::GetLearningCurvesRequest*, v1::LearningCurves*) override;
  Unary* GetImportance(Context*, const v1::GetImportanceRequest*, v1::Importance*) override;
  Unary* GetSlice(Context*, const v1::GetSliceRequest*, v1::Slice*) override;
  Unary* GetContour(Context*, const v1::GetContourRequest*, v1::Contour*) override;
  Unary* GetScatter(Context*, const v1::GetScatterRequest*, v1::Scatter*) override;
  Unary* GetNeighbours(Context*, const v1::GetNeighboursRequest*, v1::Neighbours*) override;
  Unary* Compare(Context*, const v1::CompareRequest*, v1::Comparison*) override;
  Unary* GetObjectives(Context*, const v1::GetObjectivesRequest*, v1::ObjectivePoints*) override;
  Unary* QueryTrials(Context*, const v1::QueryTrialsRequest*, v1::QueryTrialsResponse*) override;

 private:
  InsightThreads& threads_;
  Hub& hub_;
  Guard guard_;
};

// The gRPC side of workers' usage. REQUIRES: reader and authority outlive the gRPC server.
class UsageService final : public v1::UsageService::CallbackService {
 public:
  UsageService(Reader& reader, Authority& authority)
      : reader_(reader), guard_(authority, v1::UsageService::service_full_name()) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* GetWorkerUsage(Context*, const v1::GetWorkerUsageRequest*, v1::GetWorkerUsageResponse*) override;
  Unary* GetTrialUsage(Context*, const v1::GetTrialUsageRequest*, v1::GetTrialUsageResponse*) override;

 private:
  Reader& reader_;
  Guard guard_;
};

}  // namespace winnow

#pragma once

#include "server/engine/hub.h"
#include "server/grpc/guard.h"
#include "server/insights/insight_threads.h"
#include "winnow/v1/insight.grpc.pb.h"

namespace winnow {

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
  Unary* GetNeighbours(Context*, const v1::GetNeighboursRequest*, v1::Neighbours*) override;
  Unary* Compare(Context*, const v1::CompareRequest*, v1::Comparison*) override;
  Unary* QueryTrials(Context*, const v1::QueryTrialsRequest*, v1::QueryTrialsResponse*) override;

 private:
  InsightThreads& threads_;
  Hub& hub_;
  Guard guard_;
};

}  // namespace winnow

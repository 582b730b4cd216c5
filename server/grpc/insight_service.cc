#include "server/grpc/insight_service.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "server/grpc/errors.h"
#include "server/grpc/pending_call.h"
#include "server/insights/insight_messages.h"

namespace winnow {
namespace {

using CallContext = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;

constexpr std::chrono::seconds kLongestInsight{60};
// Limit of calls that wait for the thread of the tables; more are refused.
constexpr size_t kMostInsightsWaiting = 256;

template <typename Response>
using Call = std::shared_ptr<PendingCall<Response>>;

// Runs `ask` on the thread of the tables, unless the call is over; then has the curves read of the jobs whose
// tables it opened.
template <typename Request, typename Response, typename Ask>
Unary* Post(Hub& hub, InsightThreads& threads, const Request* request, Response* response, Ask ask) {
  const Call<Response> call = PendingCall<Response>::Start(hub, response, kLongestInsight);
  const auto kept = std::make_shared<const Request>(*request);
  const bool posted = threads.tables->PostWithin(
      kMostInsightsWaiting, [call, kept, &threads, ask = std::move(ask)](Insights& insights) {
        if (!call->GoOn().ok()) return;
        ask(call, kept, insights);
        for (const auto& opened : insights.TakeOpened()) {
          threads.curves->Post(
              [opened](LearningCurves& curves) { curves.Warm(opened.first, opened.second); });
        }
      });
  if (!posted) {
    call->Answer(absl::ResourceExhaustedError(fmt::format(
        "{} calls of this kind are already waiting, the maximum; try again later", kMostInsightsWaiting)));
  }
  return call.get();
}

// Answers a request with the result of `method`.
template <typename Request, typename Response>
Unary* Answer(Hub& hub, InsightThreads& threads, const Request* request, Response* response,
              absl::StatusOr<Response> (Insights::*method)(const Request&)) {
  return Post(hub, threads, request, response,
              [method](const Call<Response>& call, const std::shared_ptr<const Request>& asked,
                       Insights& insights) { call->Answer((insights.*method)(*asked)); });
}

// Runs `ask` on the thread of the tables, after the thread of the curves has compared the request's trials at
// its level.
template <typename Request, typename Response, typename Ask>
Unary* PostCompared(Hub& hub, InsightThreads& threads, const Request* request, Response* response, Ask ask) {
  return Post(
      hub, threads, request, response,
      [&threads, ask = std::move(ask)](const Call<Response>& call,
                                       const std::shared_ptr<const Request>& asked, Insights& insights) {
        absl::StatusOr<LevelQuestion> question = insights.AskLevel(
            asked->job_id(), {asked->filters().begin(), asked->filters().end()}, asked->resource());
        if (!question.ok()) return call->Answer(question.status());
        const std::weak_ptr<InsightReader> back = threads.tables;
        threads.curves->Post(
            [call, asked, back, ask, question = *std::move(question)](LearningCurves& curves) {
              if (!call->GoOn().ok()) return;
              absl::StatusOr<LevelScores> compared = curves.Compare(question);
              const std::shared_ptr<InsightReader> tables = back.lock();
              if (compared.ok() && tables == nullptr)
                compared = absl::CancelledError("the server is stopping");
              if (!compared.ok()) return call->Answer(compared.status());
              tables->Post([call, asked, ask, compared = *std::move(compared)](Insights& again) {
                if (call->GoOn().ok()) ask(call, *asked, again, compared);
              });
            });
      });
}

// Has a forest fitted, and answers the call with the result of `make`.
template <typename Response, typename Make>
void AskForest(InsightThreads& threads, const Call<Response>& call, ForestQuestion question, Make make) {
  threads.forests.Ask(
      std::move(question), [call] { return !call->GoOn().ok(); },
      [call, make = std::move(make)](const std::shared_ptr<const SolvedForest>& solved) {
        call->Answer(solved != nullptr
                         ? absl::StatusOr<Response>(make(*solved))
                         : absl::CancelledError("the server is stopping, or the caller is gone"));
      });
}

template <typename Message>
void Finish(Unary* reactor, absl::StatusOr<Message> answer, Message* response) {
  if (answer.ok()) *response = *std::move(answer);
  reactor->Finish(ToGrpc(answer.status()));
}

}  // namespace

Unary* InsightService::GetProgress(CallContext* context, const v1::GetProgressRequest* request,
                                   v1::GetProgressResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Answer(hub_, threads_, request, response, &Insights::GetProgress);
}

Unary* InsightService::GetSieve(CallContext* context, const v1::GetSieveRequest* request,
                                v1::Sieve* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Answer(hub_, threads_, request, response, &Insights::GetSieve);
}

Unary* InsightService::GetParallelCoordinates(CallContext* context,
                                              const v1::GetParallelCoordinatesRequest* request,
                                              v1::ParallelCoordinates* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Answer(hub_, threads_, request, response, &Insights::GetParallelCoordinates);
}

Unary* InsightService::GetObjectives(CallContext* context, const v1::GetObjectivesRequest* request,
                                     v1::ObjectivePoints* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Answer(hub_, threads_, request, response, &Insights::GetObjectives);
}

Unary* InsightService::QueryTrials(CallContext* context, const v1::QueryTrialsRequest* request,
                                   v1::QueryTrialsResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Answer(hub_, threads_, request, response, &Insights::QueryTrials);
}

Unary* InsightService::GetNeighbours(CallContext* context, const v1::GetNeighboursRequest* request,
                                     v1::Neighbours* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Answer(hub_, threads_, request, response, &Insights::GetNeighbours);
}

Unary* InsightService::Compare(CallContext* context, const v1::CompareRequest* request,
                               v1::Comparison* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Answer(hub_, threads_, request, response, &Insights::Compare);
}

Unary* InsightService::GetLearningCurves(CallContext* context, const v1::GetLearningCurvesRequest* request,
                                         v1::LearningCurves* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Post(hub_, threads_, request, response,
              [&threads = threads_](const Call<v1::LearningCurves>& call,
                                    const std::shared_ptr<const v1::GetLearningCurvesRequest>& asked,
                                    Insights& insights) {
                absl::StatusOr<CurvesQuestion> question = insights.AskCurves(*asked);
                if (!question.ok()) return call->Answer(question.status());
                threads.curves->Post([call, question = *std::move(question)](LearningCurves& curves) {
                  if (call->GoOn().ok()) call->Answer(curves.Answer(question));
                });
              });
}

Unary* InsightService::GetImportance(CallContext* context, const v1::GetImportanceRequest* request,
                                     v1::Importance* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return PostCompared(
      hub_, threads_, request, response,
      [&threads = threads_](const Call<v1::Importance>& call, const v1::GetImportanceRequest& asked,
                            Insights& insights, const LevelScores& compared) {
        absl::StatusOr<ForestQuestion> question = insights.AskForest(asked, compared);
        if (!question.ok()) return call->Answer(question.status());
        AskForest(threads, call, *std::move(question),
                  [](const SolvedForest& forest) { return ToProto(forest); });
      });
}

Unary* InsightService::GetSlice(CallContext* context, const v1::GetSliceRequest* request,
                                v1::Slice* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return PostCompared(hub_, threads_, request, response,
                      [&threads = threads_](const Call<v1::Slice>& call, const v1::GetSliceRequest& asked,
                                            Insights& insights, const LevelScores& compared) {
                        absl::StatusOr<SliceAnswer> answer = insights.GetSlice(asked, compared);
                        if (!answer.ok()) return call->Answer(answer.status());
                        AskForest(threads, call, std::move(answer->question),
                                  [slice = std::move(answer->slice),
                                   dimension = answer->dimension](const SolvedForest& forest) {
                                    v1::Slice whole = slice;
                                    FillMarginal(forest, dimension, whole);
                                    return whole;
                                  });
                      });
}

Unary* InsightService::GetContour(CallContext* context, const v1::GetContourRequest* request,
                                  v1::Contour* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return PostCompared(hub_, threads_, request, response,
                      [&threads = threads_](const Call<v1::Contour>& call, const v1::GetContourRequest& asked,
                                            Insights& insights, const LevelScores& compared) {
                        absl::StatusOr<ContourAnswer> answer = insights.GetContour(asked, compared);
                        if (!answer.ok()) return call->Answer(answer.status());
                        AskForest(threads, call, answer->question,
                                  [answer = *answer](const SolvedForest& forest) {
                                    v1::Contour whole = answer.contour;
                                    FillSurface(forest, answer.x, answer.y, answer.cells, whole);
                                    return whole;
                                  });
                      });
}

Unary* InsightService::GetScatter(CallContext* context, const v1::GetScatterRequest* request,
                                  v1::Scatter* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  return Post(
      hub_, threads_, request, response,
      [&threads = threads_](const Call<v1::Scatter>& call,
                            const std::shared_ptr<const v1::GetScatterRequest>& asked, Insights& insights) {
        absl::StatusOr<ScatterQuestion> question = insights.AskScatter(*asked);
        if (!question.ok()) return call->Answer(question.status());
        if (question->metrics.empty()) return call->Answer(ToProto(*question));
        threads.curves->Post([call, question = *std::move(question)](LearningCurves& curves) mutable {
          if (!call->GoOn().ok()) return;
          const absl::Status filled = curves.FillScatter(question);
          call->Answer(filled.ok() ? absl::StatusOr<v1::Scatter>(ToProto(question)) : filled);
        });
      });
}

Unary* UsageService::GetWorkerUsage(Context* context, const v1::GetWorkerUsageRequest* request,
                                    v1::GetWorkerUsageResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  Unary* reactor = context->DefaultReactor();
  reader_.Post([=](Reads& reads) { Finish(reactor, reads.GetWorkerUsage(*request), response); });
  return reactor;
}

Unary* UsageService::GetTrialUsage(Context* context, const v1::GetTrialUsageRequest* request,
                                   v1::GetTrialUsageResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, request, __func__)) return refused;
  Unary* reactor = context->DefaultReactor();
  reader_.Post([=](Reads& reads) { Finish(reactor, reads.GetTrialUsage(*request), response); });
  return reactor;
}

}  // namespace winnow

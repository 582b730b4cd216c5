#include "server/insight_service.h"

#include "server/errors.h"
#include "server/insight_messages.h"

namespace winnow {
namespace {

using CallContext = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;

// Runs `ask` on the thread of the tables, unless nobody waits for it any more; then has the curves read of
// the jobs whose tables it opened.
template <typename Ask>
Unary* Post(CallContext* context, InsightThreads& threads, Ask ask) {
  Unary* reactor = context->DefaultReactor();
  threads.tables->Post([context, reactor, &threads, ask = std::move(ask)](Insights& insights) {
    if (context->IsCancelled()) {
      reactor->Finish(grpc::Status::CANCELLED);
      return;
    }
    ask(reactor, insights);
    for (const auto& opened : insights.TakeOpened()) {
      threads.curves->Post([opened](LearningCurves& curves) { curves.Warm(opened.first, opened.second); });
    }
  });
  return reactor;
}

// Answers a request by what `method` makes of it.
template <typename Request, typename Response>
Unary* Answer(CallContext* context, InsightThreads& threads, const Request* request, Response* response,
              absl::StatusOr<Response> (Insights::*method)(const Request&)) {
  return Post(context, threads, [=](Unary* reactor, Insights& insights) {
    absl::StatusOr<Response> answer = (insights.*method)(*request);
    if (answer.ok()) *response = *std::move(answer);
    reactor->Finish(ToGrpc(answer.status()));
  });
}

// Runs `ask` on the thread of the tables once the trials that the request means are compared at the level
// that it means, which the thread of the curves finds out.
template <typename Request, typename Ask>
Unary* PostCompared(CallContext* context, InsightThreads& threads, const Request* request, Ask ask) {
  return Post(context, threads, [=, &threads](Unary* reactor, Insights& insights) {
    absl::StatusOr<LevelQuestion> question = insights.AskLevel(
        request->job_id(), {request->filters().begin(), request->filters().end()}, request->resource());
    if (!question.ok()) {
      reactor->Finish(ToGrpc(question.status()));
      return;
    }
    const std::weak_ptr<InsightReader> back = threads.tables;
    threads.curves->Post([=, question = *std::move(question)](LearningCurves& curves) {
      absl::StatusOr<LevelScores> compared =
          context->IsCancelled() ? absl::CancelledError() : curves.Compare(question);
      const std::shared_ptr<InsightReader> tables = back.lock();
      if (compared.ok() && tables == nullptr) compared = absl::CancelledError("the server stops");
      if (!compared.ok()) {
        reactor->Finish(ToGrpc(compared.status()));
        return;
      }
      tables->Post([=, compared = *std::move(compared)](Insights& asked) {
        if (context->IsCancelled()) {
          reactor->Finish(grpc::Status::CANCELLED);
          return;
        }
        ask(reactor, asked, compared);
      });
    });
  });
}

// Has a forest fitted, and finishes the call once `take` has taken from it what it wants.
void AskForest(CallContext* context, InsightThreads& threads, Unary* reactor, ForestQuestion question,
               std::function<void(const SolvedForest&)> take) {
  threads.forests.Ask(
      std::move(question), [context] { return context->IsCancelled(); },
      [reactor, take = std::move(take)](const std::shared_ptr<const SolvedForest>& solved) {
        if (solved != nullptr) take(*solved);
        reactor->Finish(solved != nullptr ? grpc::Status::OK : grpc::Status::CANCELLED);
      });
}

}  // namespace

Unary* InsightService::GetProgress(CallContext* context, const v1::GetProgressRequest* request,
                                   v1::GetProgressResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, __func__)) return refused;
  return Answer(context, threads_, request, response, &Insights::GetProgress);
}

Unary* InsightService::GetSieve(CallContext* context, const v1::GetSieveRequest* request,
                                v1::Sieve* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, __func__)) return refused;
  return Answer(context, threads_, request, response, &Insights::GetSieve);
}

Unary* InsightService::GetParallelCoordinates(CallContext* context,
                                              const v1::GetParallelCoordinatesRequest* request,
                                              v1::ParallelCoordinates* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, __func__)) return refused;
  return Answer(context, threads_, request, response, &Insights::GetParallelCoordinates);
}

Unary* InsightService::QueryTrials(CallContext* context, const v1::QueryTrialsRequest* request,
                                   v1::QueryTrialsResponse* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, __func__)) return refused;
  return Answer(context, threads_, request, response, &Insights::QueryTrials);
}

Unary* InsightService::GetNeighbours(CallContext* context, const v1::GetNeighboursRequest* request,
                                     v1::Neighbours* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, __func__)) return refused;
  return Answer(context, threads_, request, response, &Insights::GetNeighbours);
}

Unary* InsightService::Compare(CallContext* context, const v1::CompareRequest* request,
                               v1::Comparison* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, __func__)) return refused;
  return Answer(context, threads_, request, response, &Insights::Compare);
}

Unary* InsightService::GetLearningCurves(CallContext* context, const v1::GetLearningCurvesRequest* request,
                                         v1::LearningCurves* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, __func__)) return refused;
  return Post(context, threads_, [this, context, request, response](Unary* reactor, Insights& insights) {
    absl::StatusOr<CurvesQuestion> question = insights.AskCurves(*request);
    if (!question.ok()) {
      reactor->Finish(ToGrpc(question.status()));
      return;
    }
    threads_.curves->Post([=, question = *std::move(question)](LearningCurves& curves) {
      if (context->IsCancelled()) {
        reactor->Finish(grpc::Status::CANCELLED);
        return;
      }
      absl::StatusOr<v1::LearningCurves> answer = curves.Answer(question);
      if (answer.ok()) *response = *std::move(answer);
      reactor->Finish(ToGrpc(answer.status()));
    });
  });
}

Unary* InsightService::GetImportance(CallContext* context, const v1::GetImportanceRequest* request,
                                     v1::Importance* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, __func__)) return refused;
  return PostCompared(
      context, threads_, request,
      [this, context, request, response](Unary* reactor, Insights& insights, const LevelScores& compared) {
        absl::StatusOr<ForestQuestion> question = insights.AskForest(*request, compared);
        if (!question.ok()) {
          reactor->Finish(ToGrpc(question.status()));
          return;
        }
        AskForest(context, threads_, reactor, *std::move(question),
                  [response](const SolvedForest& forest) { *response = ToProto(forest); });
      });
}

Unary* InsightService::GetSlice(CallContext* context, const v1::GetSliceRequest* request,
                                v1::Slice* response) {
  if (Unary* refused = guard_.Refuse<Unary>(context, __func__)) return refused;
  return PostCompared(
      context, threads_, request,
      [this, context, request, response](Unary* reactor, Insights& insights, const LevelScores& compared) {
        absl::StatusOr<SliceAnswer> answer = insights.GetSlice(*request, compared);
        if (!answer.ok()) {
          reactor->Finish(ToGrpc(answer.status()));
          return;
        }
        *response = std::move(answer->slice);
        AskForest(context, threads_, reactor, std::move(answer->question),
                  [response, dimension = answer->dimension](const SolvedForest& forest) {
                    FillMarginal(forest, dimension, *response);
                  });
      });
}

}  // namespace winnow

#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/insights/forests.h"
#include "server/insights/learning_curves.h"
#include "server/insights/trial_tables.h"
#include "server/reads/reading_thread.h"
#include "winnow/v1/insight.pb.h"

namespace winnow {

// A slice without the forest's part.
struct SliceAnswer {
  v1::Slice slice;
  ForestQuestion question;
  size_t dimension = 0;
};

// A contour without the forest's part.
struct ContourAnswer {
  v1::Contour contour;
  ForestQuestion question;
  size_t x = 0, y = 0;  // dimensions
  size_t cells = 0;
};

// Results of a search, from its table of trials. Each method reads one state of the file. Errors: NOT_FOUND
// names the job or trial, INVALID_ARGUMENT the field. Owner: its thread.
class Insights {
 public:
  Insights(Store& store, Clock clock) : store_(store), clock_(std::move(clock)), tables_(store) {}

  absl::StatusOr<v1::GetProgressResponse> GetProgress(const v1::GetProgressRequest& request);
  absl::StatusOr<v1::Sieve> GetSieve(const v1::GetSieveRequest& request);
  absl::StatusOr<v1::ParallelCoordinates> GetParallelCoordinates(
      const v1::GetParallelCoordinatesRequest& request);
  absl::StatusOr<v1::ObjectivePoints> GetObjectives(const v1::GetObjectivesRequest& request);
  absl::StatusOr<ScatterQuestion> AskScatter(const v1::GetScatterRequest& request);
  absl::StatusOr<v1::QueryTrialsResponse> QueryTrials(const v1::QueryTrialsRequest& request);
  absl::StatusOr<v1::Neighbours> GetNeighbours(const v1::GetNeighboursRequest& request);
  absl::StatusOr<v1::Comparison> Compare(const v1::CompareRequest& request);
  // Questions for the other threads.
  absl::StatusOr<CurvesQuestion> AskCurves(const v1::GetLearningCurvesRequest& request);
  absl::StatusOr<LevelQuestion> AskLevel(const std::string& job, const std::vector<std::string>& filters,
                                         int64_t resource);
  // `compared`: the answer to AskLevel for the request's job, filters and resource.
  absl::StatusOr<ForestQuestion> AskForest(const v1::GetImportanceRequest& request,
                                           const LevelScores& compared);
  absl::StatusOr<SliceAnswer> GetSlice(const v1::GetSliceRequest& request, const LevelScores& compared);
  absl::StatusOr<ContourAnswer> GetContour(const v1::GetContourRequest& request, const LevelScores& compared);

  // Jobs whose tables were read from their beginning since the last call: their curves will be requested.
  std::vector<std::pair<int64_t, std::string>> TakeOpened() { return tables_.TakeOpened(); }

  const TrialTables& tables() const { return tables_; }

 private:
  // Shows the job's table and the marks of the trials that pass the filters.
  using Look = std::function<absl::Status(const JobTrials&, const std::vector<uint8_t>&)>;
  absl::Status With(const std::string& id, const std::vector<std::string>& filters, const Look& look);
  template <typename Request>
  absl::Status With(const Request& request, const Look& look) {
    return With(request.job_id(), {request.filters().begin(), request.filters().end()}, look);
  }
  absl::Status AddJob(const std::string& id, v1::Comparison& comparison);
  absl::Status AddFronts(const std::vector<std::string>& ids, v1::Comparison& comparison);
  absl::Status AddGroups(const std::string& id, const std::string& by, v1::Comparison& comparison);
  absl::StatusOr<v1::Progress> ProgressOf(const std::string& id, size_t most);
  absl::Status AddTrial(const JobTrials& job, size_t row, v1::Trial& message);

  Store& store_;
  Clock clock_;
  TrialTables tables_;
};

using InsightReader = ReadingThread<Insights>;

// The dimension of a hyperparameter. INVALID_ARGUMENT names the field and the hyperparameters that there are.
absl::StatusOr<size_t> ParameterAt(const char* field, const std::string& name, const JobTrials& job);

// The marked rows that have a score and a value in all of `needed`, best first.
std::vector<uint32_t> RowsByScore(const TrialColumns& columns, const std::vector<uint8_t>& marked,
                                  const std::vector<double>& scores,
                                  const std::vector<const std::vector<double>*>& needed);

// The forest of all trials at the level: filters do not change a hyperparameter's effect.
ForestQuestion WholeForest(const JobTrials& job, const LevelScores& compared);

// The objective's metrics first, then those that the best, the first and the last trial have reported.
absl::StatusOr<std::vector<std::string>> MetricsOf(Store& store, const JobTrials& job);

// Returns `asked`, or `otherwise` for 0. INVALID_ARGUMENT names the field if it is not in [`least`, `most`].
absl::StatusOr<size_t> Bounded(const char* field, int64_t asked, int64_t otherwise, int64_t least,
                               int64_t most);

}  // namespace winnow

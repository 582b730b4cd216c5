#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "insight/curves.h"
#include "insight/levels.h"
#include "scheduler/state/job_state.h"
#include "server/reads/reading_thread.h"
#include "winnow/v1/insight.pb.h"

namespace winnow {

// A request for a job's curves, with the data from its table of trials.
struct CurvesQuestion {
  int64_t job = 0;  // its key
  std::string metric;
  // Trials that may report the metric without a fact: running ones, for a metric other than the objective.
  std::vector<TrialNumber> unsettled;
  size_t most_points = 0;
  std::vector<TrialPhase> phases;  // of all trials
  std::vector<uint8_t> marked;     // of all trials: included in the envelope
  std::vector<uint32_t> singles;   // rows of the curves to draw
  std::vector<uint32_t> stopped;   // rows that the pruner stopped
  v1::LearningCurves answer;       // the parts already known
};

// A scatter whose columns of metrics are to be filled in.
struct ScatterQuestion {
  int64_t job = 0;                     // its key
  std::vector<TrialNumber> unsettled;  // as in CurvesQuestion
  v1::Scatter scatter;
  // The metrics, each with the column to fill: 0, 1, 2: x, y, color.
  std::vector<std::pair<int, std::string>> metrics;
};

// The scatter without the trials that have no x or no y.
v1::Scatter ToProto(const ScatterQuestion& question);

// The level at which to compare a job's trials, as requested, with the data from its table of trials.
struct LevelQuestion {
  int64_t job = 0;  // its key
  std::string metric;
  bool mean = false;             // over the levels up to it (ObjectiveSpec.Value)
  std::vector<uint8_t> marked;   // of all trials: not failed, and passing the filters
  std::vector<uint8_t> settled;  // of all trials: neither running nor pending
  int64_t asked = 0;

  bool operator==(const LevelQuestion&) const = default;
};

// The reports of jobs as curves. Kept in memory, updated for the trials that facts have changed since; the
// least recently used are dropped when they exceed the memory limit. Owner: its thread.
class LearningCurves {
 public:
  // `most_bytes` limits all curves; those of one job and metric alone may be larger.
  LearningCurves(Store& store, Clock, size_t most_bytes = size_t{512} << 20)
      : store_(store), most_bytes_(most_bytes) {}

  absl::StatusOr<v1::LearningCurves> Answer(const CurvesQuestion& question);
  absl::StatusOr<LevelScores> Compare(const LevelQuestion& question);
  // Fills in the newest value of each metric for each trial of the scatter.
  absl::Status FillScatter(ScatterQuestion& question);
  // Reads them in advance.
  void Warm(int64_t job, const std::string& metric);

 private:
  using Key = std::pair<int64_t, std::string>;  // job, metric
  struct Kept {
    std::vector<MetricCurve> curves;     // row i: trial i + 1
    std::vector<TrialNumber> unsettled;  // at that time
    int64_t sequence = 0;                // all facts up to it are applied
    size_t bytes = 0;
    // Covers all trials, with at most this many ranges; 0: not made since the curves changed.
    size_t envelope_of = 0;
    EnvelopeData envelope;
    // The newest comparison since the curves changed, which all slices of a page request.
    std::optional<std::pair<LevelQuestion, LevelScores>> compared;
    std::list<Key>::iterator age;
  };
  absl::StatusOr<Kept*> Get(int64_t job, const std::string& metric,
                            const std::vector<TrialNumber>& unsettled);
  absl::Status Load(int64_t job, const std::string& metric, Kept& kept);
  absl::Status Catch(int64_t job, const std::string& metric, const std::vector<TrialNumber>& unsettled,
                     Kept& kept);
  static const EnvelopeData& EnvelopeOfAll(const CurvesQuestion& question, Kept& kept);
  void Forget(const Key& key);
  void MakeRoom();

  Store& store_;
  const size_t most_bytes_;
  std::map<Key, Kept> kept_;
  std::list<Key> ages_;  // newest use first
};

using CurveReader = ReadingThread<LearningCurves>;

}  // namespace winnow

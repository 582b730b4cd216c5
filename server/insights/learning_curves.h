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

// What is to be told of a job's curves, found out from its table of trials.
struct CurvesQuestion {
  int64_t job = 0;  // its key
  std::string metric;
  // Trials that may report the metric without a fact: those that run, of another metric than the objective.
  std::vector<TrialNumber> unsettled;
  size_t most_points = 0;
  std::vector<TrialPhase> phases;  // of all trials
  std::vector<uint8_t> marked;     // of all trials: counted by the envelope
  std::vector<uint32_t> singles;   // rows of the curves that are drawn
  std::vector<uint32_t> stopped;   // rows that the pruner stopped
  v1::LearningCurves answer;       // what is known already
};

// At which level a job's trials are to be compared, found out from its table of trials.
struct LevelQuestion {
  int64_t job = 0;  // its key
  std::string metric;
  bool mean = false;             // of the levels up to it (ObjectiveSpec.Value)
  std::vector<uint8_t> marked;   // of all trials: that did not fail and pass the filters
  std::vector<uint8_t> settled;  // of all trials: that do not run or wait to
  int64_t asked = 0;

  bool operator==(const LevelQuestion&) const = default;
};

// The reports of jobs as curves. Kept in memory, brought up to date by the trials that facts have changed
// since; those that were used longest ago go when they take too much room. Owner: its thread.
class LearningCurves {
 public:
  // `most_bytes` of all curves; those of one job and metric alone may be larger.
  LearningCurves(Store& store, Clock, size_t most_bytes = size_t{512} << 20)
      : store_(store), most_bytes_(most_bytes) {}

  absl::StatusOr<v1::LearningCurves> Answer(const CurvesQuestion& question);
  absl::StatusOr<LevelScores> Compare(const LevelQuestion& question);
  // Reads them, so that they are there when they are asked for.
  void Warm(int64_t job, const std::string& metric);

 private:
  using Key = std::pair<int64_t, std::string>;  // job, metric
  struct Kept {
    std::vector<Curve> curves;           // row i: trial i + 1
    std::vector<TrialNumber> unsettled;  // as of then
    int64_t sequence = 0;                // all facts up to it are known
    size_t bytes = 0;
    // Of all trials, of so many ranges at most; 0: not made since the curves changed.
    size_t envelope_of = 0;
    EnvelopeData envelope;
    // The newest comparison since the curves changed, which all slices of a page ask for.
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

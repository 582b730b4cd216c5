#include "server/insights/learning_curves.h"

#include <algorithm>
#include <utility>

#include "server/engine/answers/messages.h"
#include "server/insights/insight_messages.h"

namespace winnow {
namespace {

// If more than one trial in this many has changed, all are read again.
constexpr size_t kChangedPart = 4;

// Adds a report to its trial's curve. Reports come by attempt, then level; the first of a level counts.
void Add(MetricCurve& curve, CurvePoint point) {
  if (curve.empty() || curve.back().resource < point.resource) {
    curve.push_back(point);
    return;
  }
  const auto place = std::lower_bound(curve.begin(), curve.end(), point.resource,
                                      [](const CurvePoint& a, int64_t level) { return a.resource < level; });
  if (place->resource != point.resource) curve.insert(place, point);
}

void Fill(const EnvelopeData& data, v1::Envelope& message) {
  for (const int64_t level : data.resource) message.add_resource(static_cast<double>(level));
  message.mutable_count()->Assign(data.count.begin(), data.count.end());
  message.mutable_min()->Assign(data.min.begin(), data.min.end());
  message.mutable_lower()->Assign(data.lower.begin(), data.lower.end());
  message.mutable_median()->Assign(data.median.begin(), data.median.end());
  message.mutable_upper()->Assign(data.upper.begin(), data.upper.end());
  message.mutable_max()->Assign(data.max.begin(), data.max.end());
}

}  // namespace

absl::Status LearningCurves::Load(int64_t job, const std::string& metric, Kept& kept) {
  kept.curves.clear();
  kept.bytes = 0;
  MetricCurve curve;
  TrialNumber trial = 0;
  const auto settle = [&] {
    if (trial == 0) return;
    if (static_cast<size_t>(trial) > kept.curves.size()) kept.curves.resize(trial);
    kept.curves[trial - 1] = MetricCurve(curve.begin(), curve.end());
    kept.bytes += curve.size() * sizeof(CurvePoint) + sizeof(MetricCurve);
  };
  const absl::Status status =
      store_.facts.ForEachPoint(job, metric, [&](TrialNumber number, int64_t level, double value) {
        if (number != trial) {
          settle();
          curve.clear();
          trial = number;
        }
        Add(curve, {level, value});
      });
  settle();
  return status;
}

absl::Status LearningCurves::Catch(int64_t job, const std::string& metric,
                                   const std::vector<TrialNumber>& unsettled, Kept& kept) {
  const absl::StatusOr<int64_t> last = store_.jobs.LastSequence(job);
  if (!last.ok()) return last.status();
  if (*last == kept.sequence && kept.unsettled.empty() && unsettled.empty()) return absl::OkStatus();
  kept.envelope_of = 0;
  kept.compared.reset();
  const int64_t after = std::exchange(kept.sequence, *last);
  if (after == 0) {
    kept.unsettled = unsettled;
    return Load(job, metric, kept);
  }
  absl::StatusOr<std::vector<TrialNumber>> changed = store_.facts.ChangedTrials(job, after);
  if (!changed.ok()) return changed.status();
  changed->insert(changed->end(), kept.unsettled.begin(), kept.unsettled.end());
  changed->insert(changed->end(), unsettled.begin(), unsettled.end());
  kept.unsettled = unsettled;
  std::sort(changed->begin(), changed->end());
  changed->erase(std::unique(changed->begin(), changed->end()), changed->end());
  if (changed->size() > kept.curves.size() / kChangedPart + 1) return Load(job, metric, kept);
  for (const TrialNumber trial : *changed) {
    MetricCurve curve;
    const absl::Status status =
        store_.facts.ForEachPointOf(job, metric, trial, [&](int64_t level, double value) {
          Add(curve, {level, value});
        });
    if (!status.ok()) return status;
    if (static_cast<size_t>(trial) > kept.curves.size()) kept.curves.resize(trial);
    kept.bytes += curve.size() * sizeof(CurvePoint);
    kept.bytes -= std::min(kept.bytes, kept.curves[trial - 1].size() * sizeof(CurvePoint));
    kept.curves[trial - 1] = std::move(curve);
  }
  return absl::OkStatus();
}

absl::StatusOr<LearningCurves::Kept*> LearningCurves::Get(int64_t job, const std::string& metric,
                                                          const std::vector<TrialNumber>& unsettled) {
  const Key key{job, metric};
  auto found = kept_.find(key);
  if (found == kept_.end()) {
    ages_.push_front(key);
    found = kept_.emplace(key, Kept{}).first;
    found->second.age = ages_.begin();
  } else {
    ages_.splice(ages_.begin(), ages_, found->second.age);
  }
  const absl::Status status = Catch(job, metric, unsettled, found->second);
  if (!status.ok()) {
    Forget(key);
    return status;
  }
  MakeRoom();
  return &found->second;
}

void LearningCurves::Forget(const Key& key) {
  const auto found = kept_.find(key);
  ages_.erase(found->second.age);
  kept_.erase(found);
}

void LearningCurves::MakeRoom() {
  size_t bytes = 0;
  for (const auto& [key, kept] : kept_) bytes += kept.bytes;
  while (bytes > most_bytes_ && ages_.size() > 1) {
    bytes -= kept_.at(ages_.back()).bytes;
    Forget(Key(ages_.back()));
  }
}

void LearningCurves::Warm(int64_t job, const std::string& metric) {
  // Errors are reported by the request that needs them.
  (void)store_.Read([&] { return Get(job, metric, {}).status(); });
}

const EnvelopeData& LearningCurves::EnvelopeOfAll(const CurvesQuestion& question, Kept& kept) {
  if (kept.envelope_of != question.most_points) {
    kept.envelope = MakeEnvelope(kept.curves, question.marked, question.most_points);
    kept.envelope_of = question.most_points;
  }
  return kept.envelope;
}

absl::StatusOr<v1::LearningCurves> LearningCurves::Answer(const CurvesQuestion& question) {
  v1::LearningCurves answer = question.answer;
  const absl::Status status = store_.Read([&]() -> absl::Status {
    const absl::StatusOr<Kept*> got = Get(question.job, question.metric, question.unsettled);
    if (!got.ok()) return got.status();
    const std::vector<MetricCurve>& curves = (*got)->curves;
    const bool all = std::find(question.marked.begin(), question.marked.end(), 0) == question.marked.end();
    Fill(all ? EnvelopeOfAll(question, **got) : MakeEnvelope(curves, question.marked, question.most_points),
         *answer.mutable_envelope());
    for (const uint32_t row : question.singles) {
      v1::Curve& message = *answer.add_curves();
      message.set_trial(static_cast<int32_t>(row + 1));
      message.set_state(StateOf(question.phases[row]));
      if (row >= curves.size()) continue;
      for (const CurvePoint& point : ThinCurve(curves[row], question.most_points)) {
        message.add_resource(static_cast<double>(point.resource));
        message.add_value(point.value);
      }
    }
    for (const uint32_t row : question.stopped) {
      if (row >= curves.size() || curves[row].empty()) continue;
      answer.add_stopped_trial(static_cast<int32_t>(row + 1));
      answer.add_stopped_resource(static_cast<double>(curves[row].back().resource));
      answer.add_stopped_value(curves[row].back().value);
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return answer;
}

absl::StatusOr<LevelScores> LearningCurves::Compare(const LevelQuestion& question) {
  LevelScores scores;
  const absl::Status status = store_.Read([&]() -> absl::Status {
    const absl::StatusOr<Kept*> got = Get(question.job, question.metric, {});
    if (!got.ok()) return got.status();
    auto& compared = (*got)->compared;
    if (!compared || compared->first != question) {
      compared.emplace(question, CompareAtLevel((*got)->curves, question.marked, question.settled,
                                                question.mean, question.asked));
    }
    scores = compared->second;
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return scores;
}

}  // namespace winnow

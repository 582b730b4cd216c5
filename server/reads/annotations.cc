#include "server/reads/annotations.h"

#include <algorithm>

#include "server/engine/annotations.h"
#include "server/engine/answers/messages.h"

namespace winnow {
namespace {

template <typename Message>
absl::Status AddTo(Store& store, int64_t job, TrialNumber trial, Message& message) {
  const absl::StatusOr<std::optional<AnnotationRow>> row = store.annotations.Find(job, trial);
  if (!row.ok()) return row.status();
  if (*row) *message.mutable_annotation() = ToProto(**row);
  return absl::OkStatus();
}

}  // namespace

absl::Status AddAnnotation(Store& store, int64_t job, v1::TuningJob& message) {
  return AddTo(store, job, 0, message);
}

absl::Status AddAnnotation(Store& store, int64_t job, v1::Trial& message) {
  return AddTo(store, job, message.number(), message);
}

absl::Status AddAnnotations(Store& store, int64_t job,
                            google::protobuf::RepeatedPtrField<v1::Trial>& trials) {
  if (trials.empty()) return absl::OkStatus();
  const auto [first, last] =
      std::minmax_element(trials.begin(), trials.end(),
                          [](const v1::Trial& a, const v1::Trial& b) { return a.number() < b.number(); });
  const absl::StatusOr<std::map<TrialNumber, AnnotationRow>> rows =
      store.annotations.OfTrials(job, first->number(), last->number());
  if (!rows.ok()) return rows.status();
  for (v1::Trial& trial : trials) {
    const auto row = rows->find(trial.number());
    if (row != rows->end()) *trial.mutable_annotation() = ToProto(row->second);
  }
  return absl::OkStatus();
}

absl::Status AddKept(Store& store, int64_t job, google::protobuf::RepeatedPtrField<v1::Trial>& trials) {
  const absl::StatusOr<std::vector<Fact>> facts = store.facts.LoadKept(job);
  if (!facts.ok()) return facts.status();
  if (facts->empty()) return absl::OkStatus();
  for (v1::Trial& trial : trials) trial.set_kept(KeptText(*facts, trial.number()));
  return absl::OkStatus();
}

}  // namespace winnow

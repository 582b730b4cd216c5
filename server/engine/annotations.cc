#include "server/engine/annotations.h"

#include <fmt/format.h>

#include "server/engine/answers/job_facts.h"
#include "server/engine/answers/messages.h"
#include "server/engine/answers/requester.h"
#include "server/engine/answers/violations.h"
#include "spec/annotation.h"

namespace winnow {

absl::StatusOr<v1::Annotation> Annotate(Context& context, const v1::AnnotateRequest& request,
                                        const Requester& by) {
  const absl::StatusOr<JobRow> job = FindChangeable(context.store.jobs, request.job_id(), by);
  if (!job.ok()) return job.status();
  if (const std::vector<Violation> violations = CheckAnnotation(request.tags(), request.note());
      !violations.empty()) {
    return ViolationsError(violations);
  }
  if (request.trial() != 0) {
    const absl::StatusOr<std::optional<TrialRow>> trial =
        context.store.trials.Find(job->key, request.trial());
    if (!trial.ok()) return trial.status();
    if (!*trial) {
      return NoTrial(request.job_id(), request.trial());
    }
  }
  const AnnotationRow row = {SortedTags(request.tags()), request.note(), by.name, context.wall_us()};
  if (absl::Status put = context.store.annotations.Put(job->key, request.trial(), row); !put.ok()) {
    context.Note(put);
    return put;
  }
  return ToProto(row);
}

void KeepAnnotation(Context& context, int64_t job, const v1::TuningJobSpec& spec) {
  const AnnotationRow row = {SortedTags(spec.tags()), spec.note(), "", context.wall_us()};
  if (!row.empty()) context.Note(context.store.annotations.Put(job, 0, row));
}

v1::Annotation ToProto(const AnnotationRow& row) {
  v1::Annotation annotation;
  annotation.mutable_tags()->Assign(row.tags.begin(), row.tags.end());
  annotation.set_note(row.note);
  annotation.set_author(row.author);
  *annotation.mutable_time() = ToTimestamp(row.time_us);
  return annotation;
}

}  // namespace winnow

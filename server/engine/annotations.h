#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "server/engine/answers/requester.h"
#include "server/engine/context.h"
#include "store/annotations.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Replaces the annotation of a job or of one of its trials, also after its end. INVALID_ARGUMENT has the
// violations; NOT_FOUND names the job or trial; PERMISSION_DENIED: `by` may not change the job.
absl::StatusOr<v1::Annotation> Annotate(Context& context, const v1::AnnotateRequest& request,
                                        const Requester& by);

// Keeps the tags and the note that a new job was submitted with, as an annotation without an author.
void KeepAnnotation(Context& context, int64_t job, const v1::TuningJobSpec& spec);

v1::Annotation ToProto(const AnnotationRow& row);

}  // namespace winnow

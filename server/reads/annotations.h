#pragma once

#include "absl/status/status.h"
#include "google/protobuf/repeated_field.h"
#include "store/store.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Each sets the annotation in messages, if there is one. Inside Store::Read. `job`: its key.
absl::Status AddAnnotation(Store& store, int64_t job, v1::TuningJob& message);
absl::Status AddAnnotation(Store& store, int64_t job, v1::Trial& message);
absl::Status AddAnnotations(Store& store, int64_t job, google::protobuf::RepeatedPtrField<v1::Trial>& trials);
// Sets Trial.kept of the trials of which somebody said it.
absl::Status AddKept(Store& store, int64_t job, google::protobuf::RepeatedPtrField<v1::Trial>& trials);

}  // namespace winnow

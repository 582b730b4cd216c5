#pragma once

#include <string>
#include <vector>

#include "google/protobuf/repeated_field.h"
#include "scheduler/validate.h"

namespace winnow {

using TagList = google::protobuf::RepeatedPtrField<std::string>;

// Violations of the limits of tags, as TuningJobSpec.tags says them; `field` names the list.
std::vector<Violation> CheckTags(const TagList& tags, const std::string& field);

// Likewise for tags and a note, in the fields `tags` and `note`.
std::vector<Violation> CheckAnnotation(const TagList& tags, const std::string& note);

// The tags in order, each once.
std::vector<std::string> SortedTags(const TagList& tags);

}  // namespace winnow

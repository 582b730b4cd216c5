#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/space/types.h"
#include "store/database/database.h"

namespace winnow {

// What people wrote on a job or a trial.
struct AnnotationRow {
  std::vector<std::string> tags;  // sorted, each once; without '"' and '\\'
  std::string note;
  std::string author;  // name of the token that wrote it last; "": none
  int64_t time_us = 0;

  bool empty() const { return tags.empty() && note.empty(); }
  bool operator==(const AnnotationRow&) const = default;
};

// Annotations are beside the facts: they can change after a job's end, and decide nothing. Trial 0: the job.
class AnnotationTable {
 public:
  explicit AnnotationTable(Database& database);

  // Replaces an earlier one; an empty one (AnnotationRow::empty) is deleted.
  absl::Status Put(int64_t job, TrialNumber trial, const AnnotationRow& row);
  absl::StatusOr<std::optional<AnnotationRow>> Find(int64_t job, TrialNumber trial);
  // Annotations of the job's trials from `first` to `last`, by number.
  absl::StatusOr<std::map<TrialNumber, AnnotationRow>> OfTrials(int64_t job, TrialNumber first,
                                                                TrialNumber last);

 private:
  Statement put_, delete_, find_, of_trials_;
};

// A condition: whether the column of tags `tags` has every tag of `wanted`, what json_each takes for a list
// of texts.
std::string HasAllTags(std::string_view tags, std::string_view wanted);

}  // namespace winnow

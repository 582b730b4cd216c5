#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "store/check.h"

namespace winnow {

// What was looked at.
struct CheckSummary {
  int64_t version = 0;  // of the tables
  int64_t jobs = 0;
  int64_t facts = 0;
  int64_t trials = 0;
  int64_t assignments = 0;
  int64_t artifacts = 0;
  int64_t blobs = 0;
  bool has_state_dir = true;  // else the blobs' files were not looked at
  int64_t findings = 0;

  bool sound() const { return findings == 0; }
};

// Verifies a database as it is at one moment, and changes nothing: SQLite's own checks; every job's facts,
// which must have no gap and not contradict each other, and the rows that follow from them; assignments; and
// that the blobs of artifacts in `state_dir`, if there is such a folder, are there and are what their names
// say. `tell` is told of each thing that is wrong. A server may be writing to the file meanwhile. Not OK: the
// file cannot be read as a database of this version at all.
absl::StatusOr<CheckSummary> CheckDatabase(const std::string& file, const std::string& state_dir,
                                           const TellFinding& tell);

// "a.db is sound: version 5, 2 jobs with 120 facts, …" or how many things are wrong and what to do.
std::string Text(const CheckSummary& summary, const std::string& file);

}  // namespace winnow

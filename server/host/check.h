#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "server/host/blobs/blob_place.h"
#include "store/check.h"

namespace winnow {

// What was checked.
struct CheckSummary {
  int64_t version = 0;  // of the tables
  int64_t jobs = 0;
  int64_t facts = 0;
  int64_t trials = 0;
  int64_t assignments = 0;
  int64_t artifacts = 0;
  int64_t blobs = 0;
  int64_t objects = 0;        // of the endpoint for clients of SageMaker
  bool has_state_dir = true;  // false: the blobs' files were not checked
  std::string place;          // where else than in the state directory the blobs were checked; "": nowhere
  int64_t findings = 0;

  bool sound() const { return findings == 0; }
};

// Verifies a database at one moment, without changes: SQLite's own checks; every job's facts (no gaps, no
// contradictions) and the rows derived from them; assignments; and that the blobs of artifacts in
// `state_dir`, if the folder exists, or in `place`, unless it is null, are present and match their names; and
// what the endpoint for clients of
// SageMaker keeps, in that folder or within a backup. Calls `tell` for each error. A server
// may write to the file meanwhile. Not OK: the file cannot be read as a database of this version at all.
absl::StatusOr<CheckSummary> CheckDatabase(const std::string& file, const std::string& state_dir,
                                           const TellFinding& tell, BlobPlace* place = nullptr);

// Returns "a.db is sound: version 5, 2 jobs with 120 facts, …", or the number of errors and what to do.
std::string Text(const CheckSummary& summary, const std::string& file);

}  // namespace winnow

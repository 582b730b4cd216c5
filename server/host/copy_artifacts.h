#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "server/host/blobs/blob_place.h"
#include "store/check.h"

namespace winnow {

struct CopiedArtifacts {
  int64_t blobs = 0;   // of the database, that are in the target now, each read again
  int64_t bytes = 0;   // of them
  int64_t copied = 0;  // of them, that were not there before
  int64_t findings = 0;
};

// Copies every blob that artifacts of the database use from one place to the other, unless it is there, and
// reads it again there. Calls `tell` for each that is missing or damaged in `from`; such ones are left out.
// Not OK: the copy is not complete, and a repetition goes on with it. FAILED_PRECONDITION: a server has the
// database, or `to` has artifacts of another one.
absl::StatusOr<CopiedArtifacts> CopyArtifacts(const std::string& database, BlobPlace& from, BlobPlace& to,
                                              const TellFinding& tell);

// "40 blobs (1.2 GiB) are in …; 12 of them were copied now. …"
std::string Text(const CopiedArtifacts& copied, const BlobPlace& to);

}  // namespace winnow

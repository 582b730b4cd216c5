#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/space/types.h"
#include "store/database/database.h"

namespace winnow {

enum class ArtifactKind { kCheckpoint, kModel, kSource };

// A folder of a trial stored by its worker: the newest of its kind. Or the source of a job, of trial 0.
struct ArtifactRow {
  int64_t key = 0;
  int64_t job = 0;
  TrialNumber trial = 0;
  ArtifactKind kind = ArtifactKind::kCheckpoint;
  int64_t attempt = 0;
  int64_t resource = 0;
  std::string manifest;  // winnow.v1.Manifest; "" from List
  int64_t create_us = 0;
  int64_t bytes = 0;  // of its blobs
};

struct BlobRow {
  std::string digest;
  int64_t size = 0;

  bool operator==(const BlobRow&) const = default;
};

// What happened to artifacts that were replaced or deleted.
struct DroppedArtifacts {
  std::vector<std::string> unused;  // blobs that no artifact uses any more; they have no rows either
  int64_t bytes = 0;                // of the artifacts
};

// What the artifacts of a job take, each of them whole.
struct StoredOfJob {
  int64_t job = 0;
  std::string project;  // "": the default one
  std::string owner;
  int64_t bytes = 0;
};

// The text in the table: "checkpoint", "model" or "source".
const char* TextOf(ArtifactKind kind);

// Artifacts, and the blobs that they use. A blob has a row as long as an artifact uses it.
class ArtifactTable {
 public:
  explicit ArtifactTable(Database& database);

  // Replaces the trial's artifact of that kind, if any. `bytes` of the row do not count.
  absl::StatusOr<DroppedArtifacts> Put(const ArtifactRow& row, const std::vector<BlobRow>& blobs);
  // Does nothing if there is none.
  absl::StatusOr<DroppedArtifacts> Delete(int64_t job, TrialNumber trial, ArtifactKind kind);
  absl::StatusOr<DroppedArtifacts> DeleteJob(int64_t job);

  absl::StatusOr<std::optional<ArtifactRow>> Find(int64_t job, TrialNumber trial, ArtifactKind kind);
  // Without their manifests, by key.
  absl::StatusOr<std::vector<ArtifactRow>> List();
  // Returns the artifacts that use this blob.
  absl::StatusOr<std::vector<ArtifactRow>> Of(const std::string& digest);
  absl::StatusOr<std::vector<BlobRow>> Blobs();
  // What every job with artifacts has stored.
  absl::StatusOr<std::vector<StoredOfJob>> Stored();
  // Blobs among these that artifacts of jobs of these projects use ("": the default one). Sources count only
  // if `owner` owns the job; absent: all do.
  absl::StatusOr<std::set<std::string>> Among(const std::vector<std::string>& digests,
                                              const std::vector<std::string>& projects,
                                              const std::optional<std::string>& owner);

 private:
  // Returns the blobs that it used.
  absl::StatusOr<std::vector<std::string>> Remove(const ArtifactRow& row);
  absl::StatusOr<DroppedArtifacts> DeleteAll(const std::vector<ArtifactRow>& rows);
  absl::StatusOr<std::vector<std::string>> DropUnused(const std::vector<std::string>& digests);
  absl::StatusOr<std::vector<ArtifactRow>> All(Statement& statement);
  Database& database_;
  Statement insert_, delete_, find_, list_, of_, of_job_, stored_;
  Statement put_blob_, blobs_, add_, digests_, is_used_, drop_blob_;
};

}  // namespace winnow

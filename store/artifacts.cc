#include "store/artifacts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "store/enum_text.h"

namespace winnow {
namespace {

constexpr const char* kArtifactKinds[] = {"checkpoint", "model", "source"};
constexpr EnumTexts<ArtifactKind, 3> kArtifactKindTexts("artifacts.kind", kArtifactKinds);

std::string SelectBlobs(const char* manifest, const char* rest) {
  return fmt::format(
      "SELECT artifact, job, trial, kind, attempt, resource, {}, create_us, bytes FROM artifacts {}",
      manifest, rest);
}

}  // namespace

const char* TextOf(ArtifactKind kind) { return kArtifactKindTexts.Text(kind); }

ArtifactTable::ArtifactTable(Database& database)
    : database_(database),
      insert_(database,
              "INSERT INTO artifacts (job, trial, kind, attempt, resource, manifest, create_us, bytes)"
              " VALUES (?1, ?2, ?3, ?4, ?5, CAST(?6 AS BLOB), ?7, ?8)"),
      delete_(database, "DELETE FROM artifacts WHERE artifact = ?1"),
      find_(database, SelectBlobs("manifest", "WHERE job = ?1 AND trial = ?2 AND kind = ?3")),
      list_(database, SelectBlobs("''", "ORDER BY artifact")),
      of_(database,
          SelectBlobs("''", "WHERE artifact IN (SELECT artifact FROM artifact_blobs WHERE digest = ?1)")),
      of_job_(database, SelectBlobs("''", "WHERE job = ?1")),
      stored_(database,
              "SELECT j.job, j.project, j.owner, CAST(SUM(a.bytes) AS INTEGER) FROM artifacts a"
              " JOIN jobs j ON j.job = a.job GROUP BY j.job, j.project, j.owner ORDER BY j.job"),
      put_blob_(database, "INSERT OR IGNORE INTO blobs (digest, size, create_us) VALUES (?1, ?2, ?3)"),
      blobs_(database, "SELECT digest, size FROM blobs ORDER BY digest"),
      add_(database, "INSERT INTO artifact_blobs (artifact, digest) VALUES (?1, ?2)"),
      digests_(database, "SELECT digest FROM artifact_blobs WHERE artifact = ?1"),
      is_used_(database, "SELECT 1 FROM artifact_blobs WHERE digest = ?1 LIMIT 1"),
      drop_blob_(database, "DELETE FROM blobs WHERE digest = ?1") {}

absl::StatusOr<DroppedArtifacts> ArtifactTable::Put(const ArtifactRow& row,
                                                    const std::vector<BlobRow>& blobs) {
  const auto older = Find(row.job, row.trial, row.kind);
  if (!older.ok()) return older.status();
  std::vector<std::string> before;
  if (*older) {
    auto digests = Remove(**older);
    if (!digests.ok()) return digests.status();
    before = *std::move(digests);
  }
  int64_t bytes = 0;
  for (const BlobRow& blob : blobs) bytes += blob.size;
  absl::Status status = insert_
                            .Bind(row.job, row.trial, kArtifactKindTexts.Text(row.kind), row.attempt,
                                  row.resource, row.manifest, row.create_us, bytes)
                            .Run();
  if (!status.ok()) return status;
  const absl::StatusOr<int64_t> key = database_.LastInsertKey();
  if (!key.ok()) return key.status();
  for (const BlobRow& blob : blobs) {
    status = put_blob_.Bind(blob.digest, blob.size, row.create_us).Run();
    if (status.ok()) status = add_.Bind(*key, blob.digest).Run();
    if (!status.ok()) return status;
  }
  absl::StatusOr<std::vector<std::string>> unused = DropUnused(before);
  if (!unused.ok()) return unused.status();
  return DroppedArtifacts{*std::move(unused), *older ? (*older)->bytes : 0};
}

absl::StatusOr<std::vector<std::string>> ArtifactTable::DropUnused(const std::vector<std::string>& digests) {
  std::vector<std::string> unused;
  for (const std::string& digest : digests) {
    const absl::StatusOr<bool> used = is_used_.Bind(digest).Next();
    if (!used.ok()) return used.status();
    is_used_.Reset();
    if (*used) continue;
    absl::Status status = drop_blob_.Bind(digest).Run();
    if (!status.ok()) return status;
    if (database_.changes() > 0) unused.push_back(digest);
  }
  return unused;
}

absl::StatusOr<std::vector<std::string>> ArtifactTable::Remove(const ArtifactRow& row) {
  std::vector<std::string> digests;
  Statement& s = digests_.Bind(row.key);
  absl::Status status = s.ForEach([&] {
    digests.push_back(s.Text(0));
    return absl::OkStatus();
  });
  if (status.ok()) status = delete_.Bind(row.key).Run();
  if (!status.ok()) return status;
  return digests;
}

absl::StatusOr<DroppedArtifacts> ArtifactTable::DeleteAll(const std::vector<ArtifactRow>& rows) {
  DroppedArtifacts dropped;
  std::vector<std::string> all;
  for (const ArtifactRow& row : rows) {
    const auto digests = Remove(row);
    if (!digests.ok()) return digests.status();
    all.insert(all.end(), digests->begin(), digests->end());
    dropped.bytes += row.bytes;
  }
  absl::StatusOr<std::vector<std::string>> unused = DropUnused(all);
  if (!unused.ok()) return unused.status();
  dropped.unused = *std::move(unused);
  return dropped;
}

absl::StatusOr<DroppedArtifacts> ArtifactTable::Delete(int64_t job, TrialNumber trial, ArtifactKind kind) {
  auto row = Find(job, trial, kind);
  if (!row.ok()) return row.status();
  return *row ? DeleteAll({**row}) : DroppedArtifacts();
}

absl::StatusOr<DroppedArtifacts> ArtifactTable::DeleteJob(int64_t job) {
  auto rows = All(of_job_.Bind(job));
  return rows.ok() ? DeleteAll(*rows) : rows.status();
}

absl::StatusOr<std::vector<ArtifactRow>> ArtifactTable::All(Statement& s) {
  std::vector<ArtifactRow> rows;
  absl::Status status = s.ForEach([&] {
    ArtifactKind kind;
    absl::Status read = kArtifactKindTexts.Read(s.Text(3), kind);
    if (read.ok())
      rows.push_back({s.Int(0), s.Int(1), s.Int(2), kind, s.Int(4), s.Int(5), s.Text(6), s.Int(7), s.Int(8)});
    return read;
  });
  if (!status.ok()) return status;
  return rows;
}

absl::StatusOr<std::optional<ArtifactRow>> ArtifactTable::Find(int64_t job, TrialNumber trial,
                                                               ArtifactKind kind) {
  auto rows = All(find_.Bind(job, trial, kArtifactKindTexts.Text(kind)));
  if (!rows.ok()) return rows.status();
  return rows->empty() ? std::nullopt : std::optional(std::move(rows->front()));
}

absl::StatusOr<std::vector<ArtifactRow>> ArtifactTable::List() { return All(list_.Bind()); }

absl::StatusOr<std::vector<ArtifactRow>> ArtifactTable::Of(const std::string& digest) {
  return All(of_.Bind(digest));
}

absl::StatusOr<std::vector<BlobRow>> ArtifactTable::Blobs() {
  std::vector<BlobRow> rows;
  Statement& s = blobs_.Bind();
  absl::Status status = s.ForEach([&] {
    rows.push_back({s.Text(0), s.Int(1)});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

absl::StatusOr<std::vector<StoredOfJob>> ArtifactTable::Stored() {
  std::vector<StoredOfJob> jobs;
  Statement& s = stored_.Bind();
  absl::Status status = s.ForEach([&] {
    jobs.push_back({s.Int(0), s.Text(1), s.Text(2), s.Int(3)});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return jobs;
}

absl::StatusOr<std::set<std::string>> ArtifactTable::Among(const std::vector<std::string>& digests,
                                                           const std::vector<std::string>& projects,
                                                           const std::optional<std::string>& owner) {
  const char* const sources =
      owner ? " AND (a.kind <> 'source' OR j.owner = json_extract(?1, '$.owner'))" : "";
  Statement among(database_,
                  fmt::format("SELECT DISTINCT b.digest FROM artifact_blobs b"
                              " JOIN artifacts a ON a.artifact = b.artifact JOIN jobs j ON j.job = a.job"
                              " WHERE b.digest IN (SELECT value FROM json_each(?1, '$.digests'))"
                              " AND j.project IN (SELECT value FROM json_each(?1, '$.projects')){}",
                              sources));
  const nlohmann::json asked = {{"digests", digests}, {"projects", projects}, {"owner", owner.value_or("")}};
  std::set<std::string> found;
  const absl::Status status =
      among.Bind(asked.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)).ForEach([&] {
        found.insert(among.Text(0));
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return found;
}

}  // namespace winnow

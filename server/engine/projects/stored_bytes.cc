#include "server/engine/projects/stored_bytes.h"

#include <vector>

namespace winnow {

absl::Status StoredBytes::Load(ArtifactTable& table) {
  jobs_.clear();
  bytes_.clear();
  const absl::StatusOr<std::vector<StoredOfJob>> jobs = table.Stored();
  if (!jobs.ok()) return jobs.status();
  for (const StoredOfJob& job : *jobs) Add(job);
  return absl::OkStatus();
}

void StoredBytes::Add(const StoredOfJob& more) {
  const auto [at, fresh] = jobs_.try_emplace(more.job, more);
  if (!fresh) at->second.bytes += more.bytes;
  bytes_[{more.project, ""}] += more.bytes;
  if (!more.owner.empty()) bytes_[{more.project, more.owner}] += more.bytes;
}

void StoredBytes::Remove(int64_t job, int64_t bytes) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  Add({job, found->second.project, found->second.owner, -bytes});
  if (found->second.bytes == 0) jobs_.erase(found);
}

int64_t StoredBytes::Total() const {
  int64_t total = 0;
  for (const auto& [job, stored] : jobs_) total += stored.bytes;
  return total;
}

}  // namespace winnow

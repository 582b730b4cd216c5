#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "store/artifacts.h"

namespace winnow {

// How many bytes the artifact store has of each project, and of each person in it: every checkpoint, model
// file and source counts whole, also where several have the same blob. Owner: the coordinator thread; or a
// reader's.
class StoredBytes {
 public:
  using Key = std::pair<std::string, std::string>;  // project, person ("": the whole project)

  // Reads everything anew.
  absl::Status Load(ArtifactTable& table);
  // The job has so many more, or less.
  void Add(const StoredOfJob& more);
  // Does nothing if the job has no artifacts.
  void Remove(int64_t job, int64_t bytes);
  const std::map<Key, int64_t>& all() const { return bytes_; }
  int64_t Total() const;  // of all jobs

 private:
  std::map<int64_t, StoredOfJob> jobs_;
  std::map<Key, int64_t> bytes_;
};

}  // namespace winnow

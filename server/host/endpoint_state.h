#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/check.h"
#include "store/database/database.h"

namespace winnow {

// What the endpoint for clients of SageMaker keeps in a folder of its own: the databases of its jobs and of
// its objects, the objects' files, and the keys. In a backup they are the rows of a table.

// STATE_DIR/sagemaker.
std::filesystem::path EndpointFolder(const std::filesystem::path& state_dir);

// The state of one moment, while the endpoint continues to write: copies of the databases, and links to the
// objects' files, in a folder that the destructor removes. One at a time.
class EndpointSnapshot {
 public:
  // `folder`: of the endpoint. If it does not exist, the snapshot is empty.
  static absl::StatusOr<EndpointSnapshot> Take(const std::filesystem::path& folder,
                                               const std::function<bool()>& cancelled);
  EndpointSnapshot(EndpointSnapshot&& other) noexcept;
  EndpointSnapshot& operator=(EndpointSnapshot&&) = delete;
  ~EndpointSnapshot();

  // Adds it to the file of a copied database. RESOURCE_EXHAUSTED: the disk has no room for it.
  absl::Status AddTo(const std::string& copy, const std::function<bool()>& cancelled) const;

 private:
  explicit EndpointSnapshot(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;  // ""; it is empty
};

// Moves the state in a copied database to a new folder. False: there is none.
absl::StatusOr<bool> TakeEndpointState(const std::string& copy, const std::filesystem::path& folder);

// Checks the databases, and that each object's files are there, with its size and, as far as its ETag tells
// it, its content. Calls `tell` for each error. Returns the number of objects: 0 if there is no such state.
absl::StatusOr<int64_t> CheckEndpointFolder(const std::filesystem::path& folder, const TellFinding& tell);
absl::StatusOr<int64_t> CheckEndpointRows(Database& copy, const TellFinding& tell);

}  // namespace winnow

#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "store/store.h"

namespace winnow {

// A copy of a database file, at the newest version, in a private temporary folder that goes with the object:
// whatever is done with it, the file stays as it is.
class ShownCopy {
 public:
  // Neither the file nor its folder need be writable. CANCELLED once `cancelled` returns true; NOT_FOUND: no
  // such file; FAILED_PRECONDITION: it is no database of Winnow, a newer one, or has a log beside it, as that
  // of a running server has. Errors name `file`.
  static absl::StatusOr<std::unique_ptr<ShownCopy>> Make(const std::string& file,
                                                         const std::function<bool()>& cancelled);
  ~ShownCopy();
  ShownCopy(const ShownCopy&) = delete;
  ShownCopy& operator=(const ShownCopy&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  // Once: a connection to the copy. REQUIRES: it is closed before this is destroyed.
  std::unique_ptr<Store> TakeStore() { return std::move(store_); }

 private:
  explicit ShownCopy(std::filesystem::path folder) : folder_(std::move(folder)) {}
  const std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
};

}  // namespace winnow

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/host/blobs/blob_buffer.h"

namespace winnow {

// Why a server does not start with a place that has nothing of what its database lists.
inline std::string MissingArtifacts(const std::string& place) {
  return "the database lists checkpoints, models or sources, and " + place +
         " has none of their files; expected the place that had them (--state-dir, --artifacts), its copy "
         "(--copy-artifacts), or --accept-missing-artifacts to go on without them";
}

// Where the bytes of blobs are: each is there complete and correct, or absent. Methods block for as long as
// the disk or the network takes, within a bound. UNAVAILABLE: it cannot be reached now, and has logged why.
// Thread-safe.
class BlobPlace {
 public:
  // Requests that are useful at a time; and whether List takes so long that nobody should wait for it.
  struct Traits {
    int parallel = 1;
    bool lists_slowly = false;
  };

  virtual ~BlobPlace() = default;

  virtual Traits traits() const = 0;
  // As messages show it.
  virtual std::string name() const = 0;
  virtual std::string NameOf(const std::string& digest) const = 0;

  // Whether it can be used now. UNAVAILABLE: it is away; FAILED_PRECONDITION: its settings are wrong.
  virtual absl::Status Probe() { return absl::OkStatus(); }
  // Makes it the place of the database with this identity. FAILED_PRECONDITION: it is that of another one,
  // cannot be used, or is nobody's yet although `has_blobs`: the database lists blobs that must be there.
  virtual absl::Status TakeFor(const std::string& identity, bool has_blobs) = 0;
  // Calls `found` for each blob that is there.
  virtual absl::Status List(const std::function<void(const std::string& digest, int64_t size)>& found) = 0;
  // RESOURCE_EXHAUSTED: there is no room for so many bytes more. Does not wait.
  virtual absl::Status HasRoom(int64_t bytes) = 0;
  // OK: it is durable. REQUIRES: the bytes have the digest.
  virtual absl::Status Write(const std::string& digest, std::string_view bytes) = 0;
  // Replaces what is in `into` by the bytes, unchecked, but at most `most`. NOT_FOUND; DATA_LOSS: they cannot
  // be read.
  virtual absl::Status Read(const std::string& digest, int64_t most, BlobBuffer& into) = 0;
  // OK also if it is not there.
  virtual absl::Status Remove(const std::string& digest) = 0;
  // Methods return soon, now and later.
  virtual void EndWaits() {}
};

}  // namespace winnow

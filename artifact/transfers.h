#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "winnow/v1/artifact.pb.h"

namespace winnow {

// A blob in a file of a manifest, which outlives it: the bytes from `begin` on.
struct BlobPiece {
  const v1::ArtifactFile* file;
  int64_t begin;
  const v1::BlobName* blob;
};
// Returns a piece for each of the digests that the manifest has.
std::vector<BlobPiece> PiecesOf(const v1::Manifest& manifest, std::set<std::string> digests);
std::vector<int64_t> SizesOf(const std::vector<BlobPiece>& pieces);

// Calls `each` with the number of each transfer: the large ones one by one, then small ones several at a
// time, which are mostly waiting. So over a slow line none takes much longer than alone. Once a call has
// returned an error no further one begins. Returns the first error.
absl::Status ForEachTransfer(const std::vector<int64_t>& sizes,
                             const std::function<absl::Status(size_t)>& each);

}  // namespace winnow

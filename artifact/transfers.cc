#include "artifact/transfers.h"

#include <cstddef>

#include "base/parallel.h"

namespace winnow {
namespace {

constexpr int64_t kSmallTransfer = 256 << 10;
constexpr int kParallelTransfers = 8;  // of small ones

}  // namespace

std::vector<BlobPiece> PiecesOf(const v1::Manifest& manifest, std::set<std::string> digests) {
  std::vector<BlobPiece> pieces;
  for (const v1::ArtifactFile& file : manifest.files()) {
    int64_t begin = 0;
    for (const v1::BlobName& blob : file.blobs()) {
      if (digests.erase(blob.digest()) > 0) pieces.push_back({&file, begin, &blob});
      begin += blob.size();
    }
  }
  return pieces;
}

std::vector<int64_t> SizesOf(const std::vector<BlobPiece>& pieces) {
  std::vector<int64_t> sizes;
  for (const BlobPiece& piece : pieces) sizes.push_back(piece.blob->size());
  return sizes;
}

absl::Status ForEachTransfer(const std::vector<int64_t>& sizes,
                             const std::function<absl::Status(size_t)>& each) {
  std::vector<size_t> small;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] <= kSmallTransfer) {
      small.push_back(i);
    } else if (absl::Status status = each(i); !status.ok()) {
      return status;
    }
  }
  return ForEachInParallel(small.size(), kParallelTransfers, [&](size_t i) { return each(small[i]); });
}

}  // namespace winnow

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "artifact/folder.h"
#include "winnow/v1/artifact.pb.h"

namespace winnow {

inline constexpr int64_t kBlobBytes = 4 << 20;     // of each blob of a file but its last
inline constexpr int64_t kMaxPartBytes = 1 << 20;  // of a blob on the wire
inline constexpr int kMaxManifestFiles = 10'000;
inline constexpr int64_t kMaxManifestBytes = 1 << 20;  // as a message: about 50 GiB of blobs
inline constexpr size_t kMaxPathBytes = 1024;
inline constexpr int kMaxFolderDepth = 100;  // of folders in folders

// INVALID_ARGUMENT names what is wrong: paths that are not relative, plain, rising and apart (no file is
// another's folder), sizes that are not those of the blobs, digests that are none, more than the limits
// above.
absl::Status CheckManifest(const v1::Manifest& manifest);

// Each blob once, in order of its first use. REQUIRES CheckManifest.
std::vector<v1::BlobName> BlobsOf(const v1::Manifest& manifest);
int64_t BytesOf(const v1::Manifest& manifest);

// The regular files of a folder, as they lie there at one moment.
struct Listing {
  struct Entry {
    int64_t size = 0;
    int64_t changed_ns = 0;  // of its content
    uint64_t inode = 0;
    bool executable = false;

    bool operator==(const Entry&) const = default;
  };
  std::map<std::string, Entry> files;  // by path within the folder
  std::vector<std::string> skipped;    // "path: why": links, sockets, files of other users (OpenFolder::Believes)

  bool operator==(const Listing& other) const { return files == other.files; }
};

// NOT_FOUND: there is no such folder. ABORTED: it changed while it was read. INVALID_ARGUMENT: beyond the
// limits. FAILED_PRECONDITION: it, or the way there, is a symbolic link.
absl::StatusOr<Listing> ListFolder(const FolderName& folder);

// Of every regular file of the folder; errors as ListFolder's.
absl::StatusOr<v1::Manifest> MakeManifest(const FolderName& folder);

// Whether the folder holds exactly the manifest's files, with those bytes. Any doubt is false.
bool FolderEquals(const FolderName& folder, const v1::Manifest& manifest);

}  // namespace winnow

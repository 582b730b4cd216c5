#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "artifact/folder.h"
#include "winnow/v1/artifact.pb.h"

namespace winnow {

inline constexpr int64_t kBlobBytes = 4 << 20;     // size of each blob of a file but the last
inline constexpr int64_t kMaxPartBytes = 1 << 20;  // size of a part of a blob on the wire
inline constexpr int kMaxManifestFiles = 10'000;
inline constexpr int64_t kMaxManifestBytes = 1 << 20;  // serialized size: about 50 GiB of blobs
inline constexpr size_t kMaxPathBytes = 1024;
inline constexpr int kMaxFolderDepth = 100;  // nesting of folders

// INVALID_ARGUMENT names the error: a path that is not relative, normal and in rising order, or that has
// another file as its parent; a size that differs from the sum of its blobs; an invalid digest; a limit above
// that is exceeded.
absl::Status CheckManifest(const v1::Manifest& manifest);

// Returns each blob once, in order of first use. REQUIRES: CheckManifest passed.
std::vector<v1::BlobName> BlobsOf(const v1::Manifest& manifest);
int64_t BytesOf(const v1::Manifest& manifest);

// The name of a packed folder of code: a SHA-256 over the manifest's paths, blobs and executable bits.
std::string ManifestDigest(const v1::Manifest& manifest);
inline constexpr int64_t kMaxSourceBytes = int64_t{1} << 30;

// Calls `write` with the parts of a blob, in order, as PutBlob takes them, until it returns false: the server
// has already answered.
void ForEachPart(const std::string& digest, const std::string& bytes,
                 const std::function<bool(const v1::BlobPart&)>& write);

// The regular files of a folder at one moment.
struct Listing {
  struct Entry {
    int64_t size = 0;
    int64_t changed_ns = 0;  // of the content
    uint64_t inode = 0;
    bool executable = false;

    bool operator==(const Entry&) const = default;
  };
  std::map<std::string, Entry> files;  // by path within the folder
  // "path: reason": links, sockets, files of untrusted owners (OpenFolder::Believes)
  std::vector<std::string> skipped;

  bool operator==(const Listing& other) const { return files == other.files; }
};

// NOT_FOUND: no such folder. ABORTED: it changed during the reading. INVALID_ARGUMENT: it exceeds the limits.
// FAILED_PRECONDITION: it, or a part of its path, is a symbolic link.
absl::StatusOr<Listing> ListFolder(const FolderName& folder);

// Covers every regular file of the folder; errors as ListFolder's.
absl::StatusOr<v1::Manifest> MakeManifest(const FolderName& folder);

// Whether the folder has exactly the manifest's files and bytes. False in doubt.
bool FolderEquals(const FolderName& folder, const v1::Manifest& manifest);

}  // namespace winnow

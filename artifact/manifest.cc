#include "artifact/manifest.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "artifact/digest.h"
#include "artifact/files.h"
#include "base/utf8.h"

namespace winnow {
namespace {

absl::Status Invalid(const std::string& path, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("manifest: file \"{}\": {}", path, why));
}

// Returns why a path must not be used within a folder; "" if it may.
std::string_view PathProblem(std::string_view path) {
  if (path.empty() || path.size() > kMaxPathBytes) return "a path has 1 to 1024 bytes";
  if (path.find('\0') != std::string_view::npos) return "a path has no zero bytes";
  if (!IsUtf8(path)) return "a path is UTF-8";
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") {
      return "a path is relative, and none of its parts is empty, \".\" or \"..\"";
    }
    begin = end + 1;
  }
  return "";
}

absl::Status CheckFile(const v1::ArtifactFile& file) {
  if (const std::string_view why = PathProblem(file.path()); !why.empty()) return Invalid(file.path(), why);
  int64_t bytes = 0;
  for (int i = 0; i < file.blobs_size(); ++i) {
    const v1::BlobName& blob = file.blobs(i);
    if (!IsDigest(blob.digest()))
      return Invalid(file.path(), "a digest has 64 hexadecimal digits in lower case");
    const bool last = i + 1 == file.blobs_size();
    if (blob.size() < 1 || blob.size() > kBlobBytes || (!last && blob.size() != kBlobBytes)) {
      return Invalid(file.path(), "each blob but the last has 4 MiB, and that one at least a byte");
    }
    bytes += blob.size();
  }
  if (bytes != file.size()) return Invalid(file.path(), "its size is not that of its blobs");
  return absl::OkStatus();
}

absl::Status Changed(const OpenFolder& folder) {
  return absl::AbortedError(fmt::format("{} changed while being read", folder.path().string()));
}

absl::StatusOr<v1::ArtifactFile> ReadFile(const OpenFolder& folder, const std::string& path,
                                          const Listing::Entry& entry) {
  v1::ArtifactFile file;
  file.set_path(path);
  file.set_size(entry.size);
  file.set_executable(entry.executable);
  absl::StatusOr<OpenFile> open = folder.OpenRegular(path);
  if (!open.ok()) return absl::IsNotFound(open.status()) ? Changed(folder) : open.status();
  for (int64_t at = 0; at < entry.size; at += kBlobBytes) {
    absl::StatusOr<std::string> bytes = open->ReadAt(at, std::min(kBlobBytes, entry.size - at));
    if (!bytes.ok()) return bytes.status();
    if (static_cast<int64_t>(bytes->size()) != std::min(kBlobBytes, entry.size - at)) return Changed(folder);
    v1::BlobName* blob = file.add_blobs();
    blob->set_digest(DigestOf(*bytes));
    blob->set_size(static_cast<int64_t>(bytes->size()));
  }
  return file;
}

// Adds the content of `folder`, which is `depth` levels below `top`.
absl::Status AddFolder(const OpenFolder& top, const OpenFolder& folder, const std::string& prefix, int depth,
                       Listing& listing) {
  return folder.ForEach([&](const std::string& name, const struct stat& about) -> absl::Status {
    const std::string path = prefix + name;
    if (S_ISDIR(about.st_mode)) {
      if (depth == kMaxFolderDepth) {
        return absl::InvalidArgumentError(
            fmt::format("{} has directories nested more than {} deep", top.path().string(), kMaxFolderDepth));
      }
      const absl::StatusOr<OpenFolder> inner = folder.Inner(name);
      if (inner.ok()) return AddFolder(top, *inner, path + "/", depth + 1, listing);
      const bool moved = absl::IsNotFound(inner.status()) || absl::IsFailedPrecondition(inner.status());
      return moved ? Changed(top) : inner.status();
    }
    if (!S_ISREG(about.st_mode) || !top.Believes(about.st_uid)) {
      listing.skipped.push_back(path + (S_ISLNK(about.st_mode)   ? ": a symbolic link"
                                        : S_ISREG(about.st_mode) ? ": it belongs to another user"
                                                                 : ": not a regular file"));
      return absl::OkStatus();
    }
    if (const std::string_view why = PathProblem(path); !why.empty()) {
      return absl::InvalidArgumentError(fmt::format("{}: {}", (top.path() / path).string(), why));
    }
    if (listing.files.size() == kMaxManifestFiles) {
      return absl::InvalidArgumentError(
          fmt::format("{} has more than {} files: too many to keep", top.path().string(), kMaxManifestFiles));
    }
    listing.files[path] = {about.st_size, about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec,
                           about.st_ino, (about.st_mode & S_IXUSR) != 0};
    return absl::OkStatus();
  });
}

absl::StatusOr<Listing> List(const OpenFolder& folder) {
  Listing listing;
  if (absl::Status status = AddFolder(folder, folder, "", 0, listing); !status.ok()) return status;
  return listing;
}

}  // namespace

absl::Status CheckManifest(const v1::Manifest& manifest) {
  if (manifest.files_size() > kMaxManifestFiles ||
      static_cast<int64_t>(manifest.ByteSizeLong()) > kMaxManifestBytes) {
    return absl::InvalidArgumentError(
        fmt::format("manifest: {} files in a message of {} bytes; expected at most {} files and {} bytes",
                    manifest.files_size(), manifest.ByteSizeLong(), kMaxManifestFiles, kMaxManifestBytes));
  }
  std::set<std::string_view> paths;
  for (const v1::ArtifactFile& file : manifest.files()) {
    if (absl::Status status = CheckFile(file); !status.ok()) return status;
    if (!paths.empty() && file.path() <= *paths.rbegin())
      return Invalid(file.path(), "paths must be in ascending order");
    paths.insert(file.path());
  }
  for (const std::string_view path : paths) {
    for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
      if (paths.count(path.substr(0, slash)) > 0)
        return Invalid(std::string(path), "its directory is also a file");
    }
  }
  return absl::OkStatus();
}

std::vector<v1::BlobName> BlobsOf(const v1::Manifest& manifest) {
  std::vector<v1::BlobName> blobs;
  std::set<std::string_view> seen;
  for (const v1::ArtifactFile& file : manifest.files()) {
    for (const v1::BlobName& blob : file.blobs()) {
      if (seen.insert(blob.digest()).second) blobs.push_back(blob);
    }
  }
  return blobs;
}

int64_t BytesOf(const v1::Manifest& manifest) {
  int64_t bytes = 0;
  for (const v1::ArtifactFile& file : manifest.files()) bytes += file.size();
  return bytes;
}

void ForEachPart(const std::string& digest, const std::string& bytes,
                 const std::function<bool(const v1::BlobPart&)>& write) {
  for (size_t at = 0; at < bytes.size(); at += kMaxPartBytes) {
    v1::BlobPart part;
    if (at == 0) {
      part.set_digest(digest);
      part.set_size(static_cast<int64_t>(bytes.size()));
    }
    part.set_data(bytes.substr(at, kMaxPartBytes));
    if (!write(part)) return;
  }
}

std::string ManifestDigest(const v1::Manifest& manifest) {
  // Its fields in a fixed form, because serialized messages need not be the same in all versions.
  std::string text;
  for (const v1::ArtifactFile& file : manifest.files()) {
    text += fmt::format("{} {} {}\n", file.path().size(), file.path(), file.executable() ? "x" : "-");
    for (const v1::BlobName& blob : file.blobs()) text += fmt::format("{} {}\n", blob.digest(), blob.size());
  }
  return DigestOf(text);
}

absl::StatusOr<Listing> ListFolder(const FolderName& folder) {
  const absl::StatusOr<OpenFolder> open = OpenFolder::Open(folder);
  if (!open.ok()) return open.status();
  return List(*open);
}

absl::StatusOr<v1::Manifest> MakeManifest(const FolderName& name) {
  const absl::StatusOr<OpenFolder> folder = OpenFolder::Open(name);
  if (!folder.ok()) return folder.status();
  const absl::StatusOr<Listing> listing = List(*folder);
  if (!listing.ok()) return listing.status();
  v1::Manifest manifest;
  for (const auto& [path, entry] : listing->files) {
    absl::StatusOr<v1::ArtifactFile> file = ReadFile(*folder, path, entry);
    if (!file.ok()) return file.status();
    *manifest.add_files() = *std::move(file);
  }
  const absl::StatusOr<Listing> after = List(*folder);
  if (!after.ok() || !(*after == *listing)) return Changed(*folder);
  if (absl::Status status = CheckManifest(manifest); !status.ok()) return status;
  return manifest;
}

bool FolderEquals(const FolderName& name, const v1::Manifest& manifest) {
  const absl::StatusOr<OpenFolder> folder = OpenFolder::Open(name);
  if (!folder.ok()) return false;
  const absl::StatusOr<Listing> listing = List(*folder);
  if (!listing.ok() || static_cast<int>(listing->files.size()) != manifest.files_size() ||
      !listing->skipped.empty()) {
    return false;
  }
  for (const v1::ArtifactFile& wanted : manifest.files()) {
    const auto found = listing->files.find(wanted.path());
    if (found == listing->files.end() || found->second.size != wanted.size()) return false;
    const absl::StatusOr<v1::ArtifactFile> file = ReadFile(*folder, wanted.path(), found->second);
    if (!file.ok() || file->executable() != wanted.executable()) return false;
    for (int i = 0; i < wanted.blobs_size(); ++i) {
      if (i >= file->blobs_size() || file->blobs(i).digest() != wanted.blobs(i).digest()) return false;
    }
  }
  return true;
}

}  // namespace winnow

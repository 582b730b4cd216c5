#include "server/host/check_blobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

#include "artifact/digest.h"
#include "artifact/manifest.h"
#include "winnow/v1/artifact.pb.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

struct CloseFile {
  void operator()(FILE* file) const { std::fclose(file); }
};

// Returns what is wrong with the file as blob `digest` of `size` bytes; "": nothing.
std::string WrongWith(const fs::path& path, const std::string& digest, int64_t size) {
  std::unique_ptr<FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return fmt::format("{}: {}", path.string(), std::strerror(errno));
  std::error_code none;
  // One byte more than expected, to detect a file that is too long.
  std::string bytes(static_cast<size_t>(std::clamp<int64_t>(size, 0, kBlobBytes)) + 1, '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
  if (std::ferror(file.get())) return fmt::format("{}: {}", path.string(), std::strerror(errno));
  if (static_cast<int64_t>(bytes.size()) != size) {
    return fmt::format("{} has {} bytes, expected {}", path.string(), fs::file_size(path, none), size);
  }
  return DigestOf(bytes) == digest ? "" : path.string() + " has other content than its name says";
}

absl::Status CheckManifests(Database& database, CheckSummary& summary, const TellFinding& tell) {
  Statement artifacts(database, "SELECT artifact, manifest FROM artifacts ORDER BY artifact");
  Statement named(database, "SELECT digest FROM artifact_blobs WHERE artifact = ?1");
  return artifacts.Bind().ForEach([&]() -> absl::Status {
    ++summary.artifacts;
    const int64_t artifact = artifacts.Int(0);
    v1::Manifest manifest;
    if (!manifest.ParseFromString(artifacts.Text(1))) {
      tell(fmt::format("artifact {}: its manifest cannot be read", artifact));
      return absl::OkStatus();
    }
    std::set<std::string> listed;
    for (const v1::ArtifactFile& file : manifest.files()) {
      for (const v1::BlobName& blob : file.blobs()) listed.insert(blob.digest());
    }
    std::set<std::string> rows;
    named.Bind(artifact);
    absl::Status status = named.ForEach([&] {
      rows.insert(named.Text(0));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    if (rows != listed) {
      tell(fmt::format("artifact {}: its manifest names {} blobs, its rows {} others or not the same",
                       artifact, listed.size(), rows.size()));
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status CheckBlobs(Database& database, const std::string& state_dir, CheckSummary& summary,
                        const TellFinding& tell) {
  absl::Status status = CheckManifests(database, summary, tell);
  if (!status.ok()) return status;
  const fs::path folder = fs::path(state_dir) / "artifacts" / "blobs";
  std::error_code none;
  summary.has_state_dir = fs::exists(state_dir, none);
  Statement blobs(database, "SELECT digest, size FROM blobs ORDER BY digest");
  return blobs.Bind().ForEach([&] {
    ++summary.blobs;
    const std::string digest = blobs.Text(0);
    if (!IsDigest(digest)) {
      tell(fmt::format("blob \"{}\": not a digest", digest));
      return absl::OkStatus();
    }
    if (!summary.has_state_dir) return absl::OkStatus();
    const std::string wrong = WrongWith(folder / digest.substr(0, 2) / digest, digest, blobs.Int(1));
    if (!wrong.empty()) tell(fmt::format("blob {}: {}", digest, wrong));
    return absl::OkStatus();
  });
}

}  // namespace winnow

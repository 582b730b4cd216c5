#include "server/sagemaker/jobs/script_code.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "artifact/digest.h"
#include "artifact/manifest.h"
#include "base/status_text.h"
#include "server/sagemaker/wire/aws_error.h"

namespace winnow {
namespace {

// The most bytes of all files, which are unpacked in memory.
constexpr int64_t kMostCodeBytes = 256 << 20;

struct CodeFile {
  std::string content;
  bool executable = false;
};

absl::Status BadArchive(const std::string& why) {
  return AwsError("ValidationException",
                  "The archive that sagemaker_submit_directory names cannot be used: " + why);
}

absl::StatusOr<std::map<std::string, CodeFile>> ReadFiles(const std::string& bytes) {
  const std::unique_ptr<struct archive, decltype(&archive_read_free)> archive(archive_read_new(),
                                                                              &archive_read_free);
  const auto failed = [&] {
    const char* why = archive_error_string(archive.get());
    return BadArchive(why == nullptr ? "it is no tar archive" : why);
  };
  archive_read_support_filter_gzip(archive.get());
  archive_read_support_filter_bzip2(archive.get());
  archive_read_support_filter_xz(archive.get());
  archive_read_support_format_tar(archive.get());
  if (archive_read_open_memory(archive.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) return failed();
  std::map<std::string, CodeFile> files;
  int64_t total = 0;
  struct archive_entry* entry = nullptr;
  int state = ARCHIVE_OK;
  while ((state = archive_read_next_header(archive.get(), &entry)) == ARCHIVE_OK || state == ARCHIVE_WARN) {
    const char* name = archive_entry_pathname(entry);
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr) continue;
    if (name == nullptr) return BadArchive("a name is not readable");
    const std::string path = std::filesystem::path(name).lexically_normal().string();
    CodeFile file;
    file.executable = (archive_entry_perm(entry) & 0111) != 0;
    char part[1 << 16];
    la_ssize_t got = 0;
    while ((got = archive_read_data(archive.get(), part, sizeof part)) > 0) {
      total += got;
      if (total > kMostCodeBytes)
        return BadArchive(fmt::format("its files have more than {} MiB", kMostCodeBytes >> 20));
      file.content.append(part, static_cast<size_t>(got));
    }
    if (got < 0) return failed();
    files[path] = std::move(file);
    if (files.size() > static_cast<size_t>(kMaxManifestFiles))
      return BadArchive(fmt::format("it has more than {} files", kMaxManifestFiles));
  }
  if (state != ARCHIVE_EOF) return failed();
  if (files.empty()) return BadArchive("it has no file");
  return files;
}

}  // namespace

bool ScriptCode::Has(const std::string& path) const {
  const auto& files = source.manifest().files();
  return std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.path() == path; });
}

absl::StatusOr<ScriptCode> UnpackScriptCode(const std::string& archive) {
  absl::StatusOr<std::map<std::string, CodeFile>> files = ReadFiles(archive);
  if (!files.ok()) return files.status();
  ScriptCode code;
  v1::Manifest& manifest = *code.source.mutable_manifest();
  for (const auto& [path, file] : *files) {
    v1::ArtifactFile& added = *manifest.add_files();
    added.set_path(path);
    added.set_size(static_cast<int64_t>(file.content.size()));
    added.set_executable(file.executable);
    for (size_t at = 0; at < file.content.size(); at += kBlobBytes) {
      std::string bytes = file.content.substr(at, kBlobBytes);
      v1::BlobName& blob = *added.add_blobs();
      blob.set_digest(DigestOf(bytes));
      blob.set_size(static_cast<int64_t>(bytes.size()));
      code.blobs[blob.digest()] = std::move(bytes);
    }
  }
  if (absl::Status status = CheckManifest(manifest); !status.ok()) return BadArchive(MessageOf(status));
  code.source.set_digest(ManifestDigest(manifest));
  code.source.set_files(manifest.files_size());
  code.source.set_size(BytesOf(manifest));
  return code;
}

}  // namespace winnow

#include "server/sagemaker/jobs/model_archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>

#include "artifact/files.h"

namespace winnow {

absl::Status WriteModelArchive(const v1::Manifest& manifest, const std::filesystem::path& file,
                               const std::function<std::string(const std::string&)>& rename,
                               const ReadBlob& read) {
  const std::unique_ptr<struct archive, decltype(&archive_write_free)> archive(archive_write_new(),
                                                                               &archive_write_free);
  const auto failed = [&] {
    return FileError(file.parent_path(), "cannot write the archive of a model", archive_errno(archive.get()));
  };
  archive_write_add_filter_gzip(archive.get());
  archive_write_set_format_pax_restricted(archive.get());
  if (archive_write_open_filename(archive.get(), file.c_str()) != ARCHIVE_OK) return failed();
  for (const v1::ArtifactFile& each : manifest.files()) {
    const std::unique_ptr<struct archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                                     &archive_entry_free);
    archive_entry_set_pathname(entry.get(), rename(each.path()).c_str());
    archive_entry_set_size(entry.get(), each.size());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), each.executable() ? 0755 : 0644);
    if (archive_write_header(archive.get(), entry.get()) != ARCHIVE_OK) return failed();
    for (const v1::BlobName& blob : each.blobs()) {
      const absl::Status status = read(blob.digest(), [&](const std::string& bytes) {
        const la_ssize_t written = archive_write_data(archive.get(), bytes.data(), bytes.size());
        return written == static_cast<la_ssize_t>(bytes.size()) ? absl::OkStatus() : failed();
      });
      if (!status.ok()) return status;
    }
  }
  return archive_write_close(archive.get()) == ARCHIVE_OK ? absl::OkStatus() : failed();
}

}  // namespace winnow

#include "server/sagemaker/jobs/model_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
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
  // Names are UTF-8 already: the locale of the process, from which they would be converted, has ASCII only.
  archive_write_set_options(archive.get(), "hdrcharset=BINARY");
  if (archive_write_open_filename(archive.get(), file.c_str()) != ARCHIVE_OK) return failed();
  // Otherwise the rest of an entry that is not whole would be filled with zeros.
  absl::Cleanup give_up = [&archive] {
    archive_write_fail(archive.get());
    archive_write_close(archive.get());
  };
  for (const v1::ArtifactFile& each : manifest.files()) {
    const std::unique_ptr<struct archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                                     &archive_entry_free);
    archive_entry_set_pathname(entry.get(), rename(each.path()).c_str());
    archive_entry_set_size(entry.get(), each.size());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), each.executable() ? 0755 : 0644);
    const int state = archive_write_header(archive.get(), entry.get());
    if (state == ARCHIVE_FAILED)
      return absl::DataLossError(fmt::format("no archive can hold the file \"{}\": {}", each.path(),
                                             archive_error_string(archive.get())));
    if (state != ARCHIVE_OK && state != ARCHIVE_WARN) return failed();
    const absl::Status other_size =
        absl::DataLossError(fmt::format("the file \"{}\" has not its {} bytes", each.path(), each.size()));
    int64_t left = each.size();
    for (const v1::BlobName& blob : each.blobs()) {
      const absl::Status status = read(blob.digest(), [&](const std::string& bytes) -> absl::Status {
        left -= static_cast<int64_t>(bytes.size());
        if (left < 0) return other_size;
        const la_ssize_t written = archive_write_data(archive.get(), bytes.data(), bytes.size());
        return written == static_cast<la_ssize_t>(bytes.size()) ? absl::OkStatus() : failed();
      });
      if (!status.ok()) return status;
    }
    if (left > 0) return other_size;
  }
  std::move(give_up).Cancel();
  return archive_write_close(archive.get()) == ARCHIVE_OK ? absl::OkStatus() : failed();
}

}  // namespace winnow

#include "worker/checkpoints/transfers.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "artifact/manifest.h"
#include "base/status_text.h"
#include "fmt/format.h"

namespace winnow {
namespace {

using SteadyClock = std::chrono::steady_clock;

}  // namespace

Restoring::Restoring(ArtifactClient* client, v1::Manifest manifest, const FolderName& folder,
                     const KeepingOptions& options, std::function<void(absl::Status)> done)
    : client_(client),
      manifest_(std::move(manifest)),
      folder_(folder),
      options_(options),
      thread_([this, done = std::move(done)] { done(Run()); }) {}

Restoring::Restoring(const FolderName& source, const FolderName& folder,
                     std::function<void(absl::Status)> done)
    : source_(source), folder_(folder), thread_([this, done = std::move(done)] { done(RunCopy()); }) {}

Restoring::~Restoring() {
  Abandon();
  thread_.join();
}

void Restoring::Abandon() {
  cancellation_.Cancel();
  MutexLock lock(mutex_);
  abandoned_ = true;
}

absl::Status Restoring::Run() {
  if (FolderEquals(folder_, manifest_)) return absl::OkStatus();
  const absl::Status status = PutInPlace(manifest_, [this](const v1::BlobName& blob) { return Fetch(blob); });
  {
    const MutexLock lock(mutex_);
    if (!missing_.ok()) return missing_;
  }
  // The data received differs from its manifest: not a fault of this machine either.
  if (absl::IsDataLoss(status)) return absl::UnavailableError(status.message());
  return absl::IsUnavailable(status) ? absl::ResourceExhaustedError(status.message()) : status;
}

absl::Status Restoring::PutInPlace(const v1::Manifest& manifest, const ReadBlob& read) {
  return RestoreFolder(manifest, folder_.path(), read,
                       [this](const std::function<absl::Status()>& put_in_place) {
                         MutexLock lock(mutex_);
                         return abandoned_ ? absl::CancelledError("it is no longer needed") : put_in_place();
                       });
}

absl::Status Restoring::RunCopy() {
  // An earlier attempt has copied it, and may have trained on since: what is there is whole, and newer.
  if (const auto there = ListFolder(folder_); there.ok() && !there->files.empty()) return absl::OkStatus();
  const absl::StatusOr<v1::Manifest> manifest = MakeManifest(*source_);
  if (!manifest.ok()) return manifest.status();
  const absl::StatusOr<OpenFolder> from = OpenFolder::Open(*source_);
  if (!from.ok()) return from.status();
  struct Piece {
    std::string path;
    int64_t offset = 0;
  };
  std::map<std::string, Piece> pieces;  // by digest
  for (const v1::ArtifactFile& file : manifest->files()) {
    int64_t offset = 0;
    for (const v1::BlobName& blob : file.blobs()) {
      pieces[blob.digest()] = {file.path(), offset};
      offset += blob.size();
    }
  }
  return PutInPlace(*manifest, [&](const v1::BlobName& blob) -> absl::StatusOr<std::string> {
    const Piece& piece = pieces.at(blob.digest());
    const absl::StatusOr<OpenFile> file = from->OpenRegular(piece.path);
    if (!file.ok()) return file.status();
    return file->ReadAt(piece.offset, blob.size());
  });
}

absl::StatusOr<std::string> Restoring::Fetch(const v1::BlobName& blob) {
  const auto limit = SteadyClock::now() + options_.patience;
  for (std::chrono::milliseconds pause = options_.first_retry;;
       pause = std::min(2 * pause, options_.last_retry)) {
    absl::StatusOr<std::string> bytes = client_->GetBlob(blob, cancellation_);
    if (bytes.ok() || cancellation_.cancelled()) return bytes;
    const bool away = absl::IsUnavailable(bytes.status()) || absl::IsDeadlineExceeded(bytes.status());
    if (!away || SteadyClock::now() >= limit) {
      const absl::Status missing = absl::UnavailableError(
          fmt::format("the checkpoint cannot be fetched from the server: {}", MessageOf(bytes.status())));
      const MutexLock lock(mutex_);
      missing_ = missing;
      return missing;
    }
    if (!cancellation_.Sleep(pause)) return absl::CancelledError("it is no longer needed");
  }
}

ModelUpload::ModelUpload(ArtifactClient* client, const v1::ModelWanted& wanted, const FolderName& folder,
                         std::function<void(absl::Status)> done)
    : client_(client),
      thread_([this, wanted, folder, done = std::move(done)] { done(Run(wanted, folder)); }) {}

ModelUpload::~ModelUpload() {
  cancellation_.Cancel();
  thread_.join();
}

absl::Status ModelUpload::Run(const v1::ModelWanted& wanted, const FolderName& folder) {
  absl::StatusOr<v1::Manifest> manifest = MakeManifest(folder);
  if (absl::IsUnavailable(manifest.status()))  // the folder's error; UNAVAILABLE is for the store
    return absl::FailedPreconditionError(manifest.status().message());
  if (!manifest.ok() && !absl::IsNotFound(manifest.status())) return manifest.status();
  v1::PutArtifactRequest request;
  v1::Artifact* artifact = request.mutable_artifact();
  artifact->set_job_id(wanted.job_id());
  artifact->set_trial(wanted.trial());
  artifact->set_kind(v1::Artifact::MODEL);
  if (manifest.ok()) *artifact->mutable_manifest() = *std::move(manifest);
  return client_->Upload(request, folder, cancellation_, [] {});
}

}  // namespace winnow

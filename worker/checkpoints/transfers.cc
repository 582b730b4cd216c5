#include "worker/checkpoints/transfers.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "artifact/manifest.h"
#include "artifact/restore.h"
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
  const absl::Status status = RestoreFolder(
      manifest_, folder_.path(), [this](const v1::BlobName& blob) { return Fetch(blob); },
      [this](const std::function<absl::Status()>& put_in_place) {
        MutexLock lock(mutex_);
        return abandoned_ ? absl::CancelledError("it is no longer needed") : put_in_place();
      });
  if (!missing_.ok()) return missing_;
  // The data received differs from its manifest: not a fault of this machine either.
  if (absl::IsDataLoss(status)) return absl::UnavailableError(status.message());
  return absl::IsUnavailable(status) ? absl::ResourceExhaustedError(status.message()) : status;
}

absl::StatusOr<std::string> Restoring::Fetch(const v1::BlobName& blob) {
  const auto limit = SteadyClock::now() + options_.patience;
  for (std::chrono::milliseconds pause = options_.first_retry;;
       pause = std::min(2 * pause, options_.last_retry)) {
    absl::StatusOr<std::string> bytes = client_->GetBlob(blob, cancellation_);
    if (bytes.ok() || cancellation_.cancelled()) return bytes;
    const bool away = absl::IsUnavailable(bytes.status()) || absl::IsDeadlineExceeded(bytes.status());
    if (!away || SteadyClock::now() >= limit) {
      missing_ = absl::UnavailableError(fmt::format("the checkpoint cannot be fetched from the server: {}",
                                                    MessageOf(bytes.status())));
      return missing_;
    }
    if (!cancellation_.Sleep(pause)) return absl::CancelledError("it is no longer needed");
  }
}

ModelUpload::ModelUpload(ArtifactClient* client, const v1::ModelWanted& wanted,
                         const FolderName& folder, std::function<void(absl::Status)> done)
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

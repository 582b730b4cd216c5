#include "worker/checkpoints/model_upload.h"

#include <utility>

#include "artifact/manifest.h"

namespace winnow {

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

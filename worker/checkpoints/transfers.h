#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "artifact/folder.h"
#include "artifact/restore.h"
#include "base/mutex.h"
#include "winnow/v1/artifact.pb.h"
#include "winnow/v1/worker.pb.h"
#include "worker/checkpoints/artifact_client.h"
#include "worker/checkpoints/cancellation.h"
#include "worker/checkpoints/checkpoint_uploader.h"

namespace winnow {

// The download of a folder from the artifact store, or a copy of another trial's folder, on its own thread.
class Restoring {
 public:
  // The copy. `done` as below; NOT_FOUND: there is no such folder.
  Restoring(const FolderName& source, const FolderName& folder, std::function<void(absl::Status)> done);
  // `done` is the last call of its thread. UNAVAILABLE: the server is unreachable or lacks the folder.
  Restoring(ArtifactClient* client, v1::Manifest manifest, const FolderName& folder,
            const KeepingOptions& options, std::function<void(absl::Status)> done);
  // Abandons, and waits for the thread.
  ~Restoring();

  // Does not touch the folder afterwards.
  void Abandon();

 private:
  absl::Status Run();
  absl::Status RunCopy();
  absl::Status PutInPlace(const v1::Manifest& manifest, const ReadBlob& read);
  absl::StatusOr<std::string> Fetch(const v1::BlobName& blob);

  ArtifactClient* const client_ = nullptr;
  const v1::Manifest manifest_;
  const std::optional<FolderName> source_;
  const FolderName folder_;
  const KeepingOptions options_;
  Cancellation cancellation_;
  Mutex mutex_;  // held while the folder is replaced
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status missing_ ABSL_GUARDED_BY(mutex_);  // why a blob could not be fetched
  std::thread thread_;
};

// The upload of a trial's model to the artifact store, on its own thread.
class ModelUpload {
 public:
  // `done` is the last call of its thread. A missing folder is sent as one without files: the trainer left no
  // model.
  ModelUpload(ArtifactClient* client, const v1::ModelWanted& wanted, const FolderName& folder,
              std::function<void(absl::Status)> done);
  // Abandons, and waits for the thread.
  ~ModelUpload();

 private:
  absl::Status Run(const v1::ModelWanted& wanted, const FolderName& folder);

  ArtifactClient* const client_;
  Cancellation cancellation_;
  std::thread thread_;
};

}  // namespace winnow

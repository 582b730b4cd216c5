#pragma once

#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "artifact/folder.h"
#include "winnow/v1/worker.pb.h"
#include "worker/checkpoints/artifact_client.h"
#include "worker/checkpoints/cancellation.h"

namespace winnow {

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

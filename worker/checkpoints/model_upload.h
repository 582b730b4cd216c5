#pragma once

#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "artifact/folder.h"
#include "winnow/v1/worker.pb.h"
#include "worker/checkpoints/artifact_client.h"
#include "worker/checkpoints/cancellation.h"

namespace winnow {

// A trial's model on its way to the artifact store, on a thread of its own.
class ModelUpload {
 public:
  // `done` is the last thing that its thread calls. A folder that is not there is sent as one without files:
  // then the trainer has left no model.
  ModelUpload(ArtifactClient* client, const v1::ModelWanted& wanted, const FolderName& folder,
              std::function<void(absl::Status)> done);
  // Gives up, and waits for the thread.
  ~ModelUpload();

 private:
  absl::Status Run(const v1::ModelWanted& wanted, const FolderName& folder);

  ArtifactClient* const client_;
  Cancellation cancellation_;
  std::thread thread_;
};

}  // namespace winnow

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "artifact/folder.h"
#include "winnow/v1/worker.pb.h"
#include "worker/checkpoints/artifact_client.h"
#include "worker/checkpoints/checkpoint_uploader.h"
#include "worker/host/timers.h"

namespace winnow {

class ModelUpload;
class Restoring;

// Brings checkpoints and models to the server's artifact store and back, each on a thread of its own. Methods
// are called on the thread of `timers`, and so are all callbacks, never from within the call that was given
// them.
class CheckpointKeeper {
 public:
  // `timers` outlives it.
  CheckpointKeeper(Timers* timers, const std::shared_ptr<grpc::Channel>& channel,
                   KeepingOptions options = {});
  // Gives up what is under way; no callback comes any more.
  ~CheckpointKeeper();

  // Makes `folder` hold what the assignment's `restore` names. UNAVAILABLE if the store stays out of reach,
  // or does not have it; any other error is this machine's.
  void Restore(const v1::Assignment& assignment, const FolderName& folder,
               std::function<void(absl::Status)> done);
  // Afterwards nothing of that Restore touches the folder, and its callback does not come.
  void AbandonRestore(const std::string& assignment_id);

  // From now on, until it has ended, sends each new checkpoint in `folder`.
  void Watch(const v1::Assignment& assignment, const FolderName& folder);
  // REQUIRES Watch. Its trainer has ended: calls `done` once its newest checkpoint, which has at least
  // `level`, is in the store, or is given up.
  void End(const std::string& assignment_id, int64_t level, std::function<void()> done);
  // Of what is watched: be quick, for the worker leaves.
  void Hasten(const std::string& assignment_id);
  // Of what is watched: send nothing more; after End, `done` comes soon.
  void Abandon(const std::string& assignment_id);
  // Forgets it, and its `done`.
  void Forget(const std::string& assignment_id);

  // Sends the model in `folder`, unless that is under way or was tried a moment ago. `failed` is told why, if another
  // try would come to the same.
  void StoreModel(const v1::ModelWanted& wanted, const FolderName& folder,
                  std::function<void(std::string reason)> failed);

 private:
  struct Watched {
    std::unique_ptr<CheckpointUploader> uploader;
    std::function<void()> done;
    bool over = false;  // the uploader has nothing more to do
  };
  using Trial = std::pair<std::string, int64_t>;  // job id, number
  struct Model {
    std::unique_ptr<ModelUpload> upload;  // null: none is under way
    Timers::TimePoint not_before;
  };

  void Over(const std::string& assignment_id);
  void Post(std::function<void()> function);

  Timers* const timers_;
  ArtifactClient client_;
  const KeepingOptions options_;
  // Read by the threads below, so it outlives them.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  uint64_t last_restore_ = 0;
  std::map<uint64_t, std::unique_ptr<Restoring>> restoring_;
  std::map<std::string, uint64_t> restores_;  // not abandoned ones, by assignment
  std::map<std::string, Watched> watched_;
  std::map<Trial, Model> models_;
};

}  // namespace winnow

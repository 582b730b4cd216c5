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

// Transfers checkpoints and models to and from the server's artifact store, each on its own thread. Methods
// and callbacks run on the thread of `timers`; no callback runs within the call that received it.
class CheckpointKeeper {
 public:
  // `timers` outlives it.
  CheckpointKeeper(Timers* timers, const std::shared_ptr<grpc::Channel>& channel,
                   KeepingOptions options = {});
  // Abandons all transfers; no callback runs afterwards.
  ~CheckpointKeeper();

  // Makes the content of `folder` that which the assignment's `restore` names. UNAVAILABLE: the store stays
  // unreachable or lacks the content; any other error is this machine's.
  void Restore(const v1::Assignment& assignment, const FolderName& folder,
               std::function<void(absl::Status)> done);
  // Makes the content of `folder` that of `source`, the folder of another trial, which does not change
  // meanwhile; but leaves a folder that has files as it is. NOT_FOUND: there is no source; any other error is
  // this machine's.
  void Copy(const v1::Assignment& assignment, const FolderName& source, const FolderName& folder,
            std::function<void(absl::Status)> done);
  // Afterwards that Restore or Copy neither touches the folder nor calls its callback.
  void AbandonRestore(const std::string& assignment_id);

  // Until End, sends each new checkpoint in `folder`.
  void Watch(const v1::Assignment& assignment, const FolderName& folder);
  // REQUIRES: Watch was called. The trainer has ended. Calls `done` once its newest checkpoint, which has at
  // least `level`, is in the store or is given up.
  void End(const std::string& assignment_id, int64_t level, std::function<void()> done);
  // REQUIRES: Watch was called. Shortens the patience, because the worker leaves.
  void Hasten(const std::string& assignment_id);
  // REQUIRES: Watch was called. Sends nothing more; after End, `done` comes soon.
  void Abandon(const std::string& assignment_id);
  // Forgets the assignment and its `done`.
  void Forget(const std::string& assignment_id);

  // Sends the model in `folder`, unless a transfer is in progress or was tried a moment ago. Calls `failed`
  // with the reason if another try would fail in the same way.
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
    std::unique_ptr<ModelUpload> upload;  // null: no upload in progress
    Timers::TimePoint not_before;
  };

  // `text`: what its log says then.
  std::function<void(absl::Status)> WhenRestored(const std::string& id, uint64_t number, std::string text,
                                                 std::function<void(absl::Status)> done);
  void Over(const std::string& assignment_id);
  void Post(std::function<void()> function);

  Timers* const timers_;
  ArtifactClient client_;
  const KeepingOptions options_;
  // The threads below read it, so it outlives them.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  uint64_t last_restore_ = 0;
  std::map<uint64_t, std::unique_ptr<Restoring>> restoring_;
  std::map<std::string, uint64_t> restores_;  // without abandoned ones, by assignment
  std::map<std::string, Watched> watched_;
  std::map<Trial, Model> models_;
};

}  // namespace winnow

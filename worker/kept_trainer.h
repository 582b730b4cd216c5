#pragma once

#include <cstdint>
#include <memory>

#include "artifact/folder.h"
#include "winnow/v1/worker.pb.h"
#include "worker/checkpoints/checkpoint_keeper.h"
#include "worker/trainers.h"

namespace winnow {

// A trainer of rank 0 with checkpoints in the artifact store. It reports its end once its newest checkpoint
// is stored or given up, so that the next attempt finds it.
class KeptTrainer : public RankRun {
 public:
  // `keeper` outlives it.
  KeptTrainer(CheckpointKeeper* keeper, v1::Assignment assignment);
  ~KeptTrainer() override;

  // Returns the events to pass to the trainer itself; they call `events`.
  Events Wrap(Events events);
  // REQUIRES: `trainer` has the events of Wrap, and nothing has run on the thread since.
  void Watch(std::unique_ptr<RankRun> trainer, const FolderName& checkpoints);

  void Stop(Why why) override;
  void Kill(Why why) override;

 private:
  void Ended(const v1::Outcome& outcome);
  int64_t LevelAt(const v1::Outcome& outcome) const;

  CheckpointKeeper* const keeper_;
  const v1::Assignment assignment_;
  Events events_;
  std::unique_ptr<RankRun> trainer_;
  int64_t reached_ = 0;  // highest level that it reported
};

}  // namespace winnow

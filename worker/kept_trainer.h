#pragma once

#include <cstdint>
#include <memory>

#include "artifact/folder.h"
#include "winnow/v1/worker.pb.h"
#include "worker/checkpoints/checkpoint_keeper.h"
#include "worker/trainers.h"

namespace winnow {

// A trainer of rank 0 whose checkpoints are put into the artifact store. That it has ended is told when its
// newest one is there, or is given up, so that whoever takes the trial on finds it.
class KeptTrainer : public RankRun {
 public:
  // `keeper` outlives it.
  KeptTrainer(CheckpointKeeper* keeper, v1::Assignment assignment);
  ~KeptTrainer() override;

  // What the trainer itself is to be given; calls `events`.
  Events Wrap(Events events);
  // REQUIRES `trainer` was given those, and that nothing has run on the thread since.
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

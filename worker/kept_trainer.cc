#include "worker/kept_trainer.h"

#include <algorithm>
#include <utility>

namespace winnow {

KeptTrainer::KeptTrainer(CheckpointKeeper* keeper, v1::Assignment assignment)
    : keeper_(keeper), assignment_(std::move(assignment)) {}

KeptTrainer::~KeptTrainer() {
  trainer_ = nullptr;
  keeper_->Forget(assignment_.id());
}

RankRun::Events KeptTrainer::Wrap(Events events) {
  events_ = std::move(events);
  return {[this](v1::Report report) {
            reached_ = std::max(reached_, report.resource());
            events_.report(std::move(report));
          },
          events_.log, [this](const v1::Outcome& outcome) { Ended(outcome); }, events_.notice};
}

void KeptTrainer::Watch(std::unique_ptr<RankRun> trainer, const FolderName& checkpoints) {
  trainer_ = std::move(trainer);
  keeper_->Watch(assignment_, checkpoints);
}

// A trainer that stopped by itself after a request has saved the level it had reached.
int64_t KeptTrainer::LevelAt(const v1::Outcome& outcome) const {
  const int64_t from = assignment_.resource_from();
  if (outcome.kind() == v1::Outcome::FINISHED && assignment_.resource_to() > 0)
    return assignment_.resource_to();
  const bool saved = outcome.kind() == v1::Outcome::FINISHED || outcome.exit_code() == 0;
  return saved ? std::max(from, reached_) : from;
}

void KeptTrainer::Ended(const v1::Outcome& outcome) {
  keeper_->End(assignment_.id(), LevelAt(outcome), [ended = events_.ended, outcome] { ended(outcome); });
}

void KeptTrainer::Stop(Why why) {
  if (why == Why::kLeaving) keeper_->Hasten(assignment_.id());
  trainer_->Stop(why);
}

void KeptTrainer::Kill(Why why) {
  keeper_->Abandon(assignment_.id());
  trainer_->Kill(why);
}

}  // namespace winnow

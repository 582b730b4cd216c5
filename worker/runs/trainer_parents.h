#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "winnow/v1/worker.pb.h"
#include "worker/host/event_loop.h"
#include "worker/runs/trainer_parent.h"
#include "worker/runs/trainer_place.h"
#include "worker/runs/waiting_trainers.h"

namespace winnow {

// Whether the process of an assignment may be forked from a parent, and may say that it can: the job allows
// it (FORK), and it is a single rank without a container and without pipes that a parent would read.
bool MayFork(const v1::Assignment& assignment);

// The parents of a worker's jobs. One is started when a program, started as usual, has said that it can serve
// as a parent; it ends with its job, when memory is short, when there are too many, and when it is stopped
// before it is ready. None is started again for a job where two in a row failed before they were ready, or
// forked nothing in time when they were asked, or where one refused. Lives on the loop's thread. Its
// destructor leaves no parent behind.
class TrainerParents {
 public:
  // `place` outlives it. No parent is started while `limits` allows no waiting trainers.
  TrainerParents(EventLoop* loop, const TrainerPlace* place, WarmLimits limits);
  ~TrainerParents();
  TrainerParents(const TrainerParents&) = delete;
  TrainerParents& operator=(const TrainerParents&) = delete;

  // Whether the assignment's process is to be forked if that is possible.
  bool May(const v1::Assignment& assignment) const;
  // The parent that can fork its process now; null: none. Valid until the loop goes on.
  TrainerParent* Find(const v1::Assignment& assignment, const std::map<std::string, std::string>& secrets);
  // The program of the assignment can serve as a parent: one is started if there is none. `needed` is kept as
  // long as it.
  void Offer(const v1::Assignment& assignment, const std::map<std::string, std::string>& secrets,
             std::shared_ptr<const void> needed);
  // It was asked, and has forked.
  void Forked(const v1::Assignment& assignment);
  // It has not forked when it was asked, and why: it ends.
  void Failed(const TrainerParent* parent, const v1::Assignment& assignment, const absl::Status& why);

  // One entry a parent: its job, and trial 0.
  std::vector<v1::WaitingTrainer> List() const;
  void LetGo(const v1::WaitingTrainer& parent);
  void LetGoAll(bool leaves);
  int64_t bytes() const;  // of the parents that are ready

 private:
  using Parents = std::list<std::unique_ptr<TrainerParent>>;
  void Gone(const TrainerParent* parent, const std::string& words);
  void Look();
  void GiveUpStopped();

  EventLoop* const loop_;
  const TrainerPlace* const place_;
  const WarmLimits limits_;
  bool leaving_ = false;
  Parents parents_;                        // the one that was used last is the last
  std::map<std::string, int> failures_;    // by job: parents in a row that failed before they were ready
  std::map<std::string, int> unanswered_;  // by job: requests in a row to which nothing was forked in time
  EventLoop::Id look_timer_ = 0;
  std::set<const TrainerParent*> stopped_;  // that were stopped before they were ready, at the last look
  int short_looks_ = 0;                     // in a row, at which the host was short of memory
};

}  // namespace winnow

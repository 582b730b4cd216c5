#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "winnow/v1/worker.pb.h"
#include "worker/host/event_loop.h"
#include "worker/runs/trainer_process.h"

namespace winnow {

// How many programs may wait at once, and in how much memory.
struct WarmLimits {
  int trainers = 0;       // 0: none, and no program is offered to wait
  double memory_gib = 0;  // of all together, without what they share with others; 0: unlimited
};

// The programs of paused trials that wait for the next part of their trial. They hold no slot and no port.
// Some are suspended instead: they cannot resume, and their trials have no checkpoint but them. Beyond the
// limits, and when the host is short of memory, those are ended that the server can best spare, then those
// that have waited longest, and of the suspended ones, which come last, those that have trained least. Lives
// on the loop's thread. Its destructor leaves no process behind.
class WaitingTrainers {
 public:
  WaitingTrainers(EventLoop* loop, WarmLimits limits);
  ~WaitingTrainers();
  WaitingTrainers(const WaitingTrainers&) = delete;
  WaitingTrainers& operator=(const WaitingTrainers&) = delete;

  // Whether the program of an assignment is offered to wait, or suspended: MayWaitAfter it or MaySuspendAfter
  // it, and within the limits.
  bool MayWait(const v1::Assignment& assignment) const;
  // The program has trained to assignment.resource_to and waits, or is suspended. `others`: memory, in bytes,
  // of what else counts in the limit. What exceeds the limit of memory ends after what the loop has to do
  // now.
  void Keep(const v1::Assignment& assignment, std::unique_ptr<TrainerProcess> trainer, int64_t others = 0);
  // Returns the program of the assignment's trial if it waits where the assignment begins, is of the attempt
  // before, and was started in the same way; otherwise null, and ends the program that waits for that trial.
  std::unique_ptr<TrainerProcess> Take(const v1::Assignment& assignment);

  std::vector<v1::WaitingTrainer> List() const;  // those that have waited longest first
  void LetGo(const v1::WaitingTrainer& trainer);
  // The waiting trainers that will probably not go on, the least probable first. Replaces the former list.
  void Spare(std::vector<v1::WaitingTrainer> trainers) { spare_ = std::move(trainers); }
  void LetGoAll(bool leaves);
  // Ends the program that can best be spared, and all that is its own, before it returns. False: none waits.
  bool KillOne();

 private:
  class Trainer;

  std::list<Trainer>::iterator BestSpared();  // REQUIRES one waits
  void End(std::list<Trainer>::iterator trainer);
  void KeepMemoryLimit();
  void LookAtMemory();

  EventLoop* const loop_;
  const WarmLimits limits_;
  bool leaving_ = false;
  std::list<Trainer> trainers_;  // those that have waited longest first
  std::list<Trainer> ending_;    // told to end
  std::vector<v1::WaitingTrainer> spare_;
  int64_t others_ = 0;  // bytes of what else counts in the limit
  EventLoop::Id limit_timer_ = 0;
  EventLoop::Id memory_timer_ = 0;
};

// Whether the program of the part `before`, which has trained to its end, can train the part `next` of its
// trial: no other attempt was between, and nothing differs but the levels and what an attempt has for itself.
bool CanGoOn(const v1::Assignment& before, const v1::Assignment& next);
// Whether a program may wait after a part: a single rank that resumes, trains to a level, and keeps no device
// that its job does not let it keep.
bool MayWaitAfter(const v1::Assignment& part);
// Whether the program of a part that cannot resume is suspended at its level: its job wants it, it is a
// single rank, and it has no device.
bool MaySuspendAfter(const v1::Assignment& part);
// Whether the part can only be trained by the suspended program of the part before.
bool GoesOnSuspended(const v1::Assignment& part);

// Whether the host has so little memory left that programs which train nothing are ended.
bool IsShortOfMemory();
// Returns the memory of a process that it shares with no file, in bytes; 0: it is gone.
int64_t AnonymousMemoryOf(pid_t pid);

}  // namespace winnow

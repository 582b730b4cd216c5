#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "winnow/v1/worker.pb.h"
#include "worker/host/event_loop.h"
#include "worker/runs/trainer_place.h"
#include "worker/runs/trainer_process.h"

namespace winnow {

class TrainerParents;

// The program of an assignment that waits for a slot: forked from a parent, under its limits, and ready to
// train when it is told to (docs/trainer-contract.md, "Forking"). Lives on the loop's thread. Its destructor
// leaves no process behind.
class HeldProgram : private TrainerProcess::Listener {
 public:
  using Written = std::vector<std::pair<Process::Stream, std::string>>;

  // Null: it cannot be made ready before its time. `place` outlives it; `may_wait` as in
  // TrainerProcess::Start.
  static std::unique_ptr<HeldProgram> Fork(EventLoop* loop, const TrainerPlace& place,
                                           const v1::Assignment& assignment, const TrainerSeat& seat,
                                           bool may_wait, TrainerParents* parents);

  // Lets it train under the assignment as it is now, for `listener`, and gives it away with what it has
  // written so far. Null: it has ended, or cannot serve, and another program has to be started.
  std::unique_ptr<TrainerProcess> Begin(const v1::Assignment& assignment, const TrainerSeat& seat,
                                        const std::map<std::string, std::string>& secrets,
                                        TrainerProcess::Listener* listener, Written* written);

 private:
  HeldProgram() = default;
  void Output(Process::Stream stream, std::string_view bytes) override;
  void Waits(int64_t level) override;
  void Saves(int64_t level) override;
  void CanFork() override {}
  void OverMemory() override;
  void Gone(const ProcessEnd& end) override;

  std::unique_ptr<TrainerProcess> process_;
  Written written_;
  size_t written_bytes_ = 0;
  bool ended_ = false;
};

}  // namespace winnow

#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/setting.h"
#include "worker/runs/trainers.h"

namespace winnow {

// Trainers of one host that only print what real ones would: the objective as a function of configuration and
// level, after virtual time. They save a checkpoint before each report, resume at their starting level, and
// fail, hang and run out of memory at random. The ranks of a gang progress only while all of them run. A
// program that has finished a part may wait for the next one, which it then begins at once, if it has not
// died; or be suspended, and then nothing else can begin the next part where it begins. A job that lets its
// programs fork has a parent after its first program has started, until it dies or is let go.
class SimTrainers : public Trainers {
 public:
  // All outlive it.
  SimTrainers(Setting* setting, Timers* timers, const HostProfile* host, const int64_t* clock_skew_us);
  ~SimTrainers() override;

  void Prepare(const v1::Assignment& assignment, std::function<void(absl::StatusOr<Prepared>)> done) override;
  absl::StatusOr<std::unique_ptr<RankRun>> Start(const v1::Assignment& assignment,
                                                 RankRun::Events events) override;
  void StoreModel(const v1::ModelWanted&, std::function<void(std::string)>) override {}
  std::vector<v1::WaitingTrainer> Waiting() const override;
  void LetGo(const v1::WaitingTrainer& trainer) override;
  void LetGoAll(bool leaves) override;

 private:
  struct Program {
    int64_t number;
    v1::Assignment part;  // that it has trained
  };

  struct Parent {
    int64_t number;
    std::string job;
    bool ready = false;
  };

  // Whether the ranks of its trial can reach this worker, and each other.
  bool Reaches(const v1::Assignment& assignment) const;
  // Whether its program is forked. If it is not, and could be, a parent is started.
  bool Forks(const v1::Assignment& assignment);
  void Keep(const v1::Assignment& part);
  // Whether a program that waits for the trial goes on; it does not wait any more.
  bool GoesOn(const v1::Assignment& assignment);

  Setting* const setting_;
  Timers* const timers_;
  const HostProfile* const host_;
  const int64_t* const clock_skew_us_;
  int64_t last_port_ = 0;
  bool leaving_ = false;
  int64_t last_program_ = 0;
  std::list<Program> waiting_;                               // those that have waited longest first
  std::set<std::pair<std::string, TrialNumber>> suspended_;  // trials of which a program was suspended here
  std::list<Parent> parents_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace winnow

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The size of the worlds in a series of runs.
enum class Scale {
  kSmall,  // a few trials on a few workers: thousands of seeds in CI's time
  kLarge,  // hundreds of trials
};

struct HostProfile {
  std::string name;
  int slots = 1;
  int ahead = 0;    // ranks that its worker takes beyond its slots
  double cpus = 0;  // 0: not reported
  int gpus = 0;     // named 0, 1, 2, …
  std::string storage;
  int64_t life_us = 0;  // after which its worker leaves by itself, and another is started; 0: never
  double cost_per_hour = 0;
  std::vector<std::string> projects = {};  // whose jobs its worker may run ("": the default one); empty: all
  std::string loopback_of = {};            // where alone ranks of a gang can reach it; "": elsewhere too
};

struct JobProfile {
  v1::TuningJobSpec spec;
  // Neither timing nor faults may change which configurations are tried and which trial is best.
  bool comparable = false;
  int64_t submit_us = 0;
  int64_t stop_us = 0;  // when a user asks to stop it; 0: never
  std::string project = {};
  std::vector<int64_t> changes_us = {};  // when a person changes it
  int64_t continuations = 0;             // how often it is continued after its end
};

enum class Fault {
  kServerKilled,
  kServerKilledBeforeCommit,
  kServerKilledAfterCommit,
  kServerStalled,
  kCommitFails,
  kDiskFull,
  kServerClockJumps,
  kAgentKilled,
  kAgentStalled,
  kWorkerClockJumps,
  kCutOff,         // both directions
  kAnswersCutOff,  // requests arrive
  kWorkerLeaves,
  kCordon,
  kDrain,
  // Faults of messages and trainers; drawn where they happen.
  kDropped,
  kDuplicated,
  kTrainerFails,
  kTrainerOutOfMemory,
  kTrainerHangs,
  kPrepareFails,
  kStartFails,
  kWaitingDies,
  kParentDies,
  kCommitUnknown,  // PostgreSQL: in the place of kCommitFails, the connection is lost before the answer
};
constexpr int kFaults = static_cast<int>(Fault::kCommitUnknown) + 1;
const char* NameOf(Fault fault);

// The parameters of a seed's run. Each run has some kinds of faults and not others, so that each kind also
// occurs without others that would hide its effects.
struct Profile {
  int64_t lease_us = 0;
  int64_t short_part_us = 0;  // shorter parts are placed ahead
  std::vector<HostProfile> hosts;
  std::vector<JobProfile> jobs;

  std::vector<Fault> faults;    // faults from outside
  int64_t fault_every_us = 0;   // on average
  int64_t faults_until_us = 0;  // then everything recovers

  int64_t most_delay_us = 0;  // of a message, one way
  double drop = 0, duplicate = 0;
  double trainer_fails = 0, trainer_hangs = 0;  // of an attempt
  double prepare_fails = 0, start_fails = 0;
  size_t warm_trainers = 0;  // programs that may wait on a host
  double waiting_dies = 0;   // of a program that waits
  double parent_dies = 0;    // of a parent from which programs are forked

  int max_reports = 0;  // in one Sync
  // Probability of a comparison with the loaded state at a commit, which is expensive with much stored data.
  double thorough = 0;
  int64_t unit_us = 0;  // of training
  double log = 0;       // probability of a log line per unit
};

Profile DrawProfile(uint64_t seed, Scale scale);

// A trainer's result at a level; NaN for a few configurations.
double ObjectiveAt(int64_t a, int64_t b, int64_t resource);

}  // namespace winnow

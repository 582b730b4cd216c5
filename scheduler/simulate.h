#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// A whole job in virtual time: virtual workers run trials whose learning curves are a function.
struct Simulation {
  int workers = 1;
  int32_t slots = 1;  // of each worker

  // The objective at a level; may be NaN.
  std::function<double(const Configuration&, int64_t resource)> objective;
  // Values of the further metrics that rank trials, by index (Reported::metric): the value at a level;
  // absent: it is not reported there. Needed where there are such metrics.
  std::function<std::optional<double>(const Configuration&, int64_t resource, int64_t metric)> further;
  double unit_seconds = 1;  // of one unit, times up to 1 + `jitter` by trial
  // How much longer a configuration's units take; absent: 1.
  std::function<double(const Configuration&)> slowness;
  double jitter = 0.5;
  double start_seconds = 0.1;  // of every attempt, before its first unit: imports, data
  double end_seconds = 0.01;   // of every attempt, after its last report
  double stop_seconds = 0.05;  // until an attempt has ended whose trial was stopped
  int64_t report_every = 1;    // units; and at the end of an attempt

  // Stragglers, drawn by the seed: the parts of the trials and of the workers that take `slow_factor` times
  // as long.
  double slow_trials = 0, slow_workers = 0;
  double slow_factor = 10;

  // Chances that an attempt does not finish; where it breaks off is drawn too.
  double failure_rate = 0, loss_rate = 0, hand_back_rate = 0;
  double checkpoint_loss_rate = 0;  // of an attempt that would go on from a checkpoint
  uint64_t seed = 0;                // of these draws

  std::vector<EarlierResult> earlier;  // what the job is started with

  int64_t own_end = 100;          // of trainers whose end the spec does not know
  double stop_after_seconds = 0;  // when StopRequested comes; 0: never
  double wall_time_seconds = 0;   // when TimeLimitReached comes; 0: never
  double node_time_seconds = 0;   // likewise, of all ranks together

  // What people change, by rising time: the fact, from the state at that time; absent or contradictory:
  // nothing.
  struct Change {
    double at_seconds = 0;
    std::function<std::optional<FactBody>(const JobState&)> make;
  };
  std::vector<Change> changes;
  // The facts by which a job that has ended goes on; none: it does not.
  std::function<std::vector<FactBody>(const JobState&)> on_ended;

  // Called after every entry of the record, once its decisions are applied too.
  std::function<void(const JobState&)> on_settled;
  // Called whenever slots are free and Admit has nothing for them.
  std::function<void(const JobState&)> on_idle;
};

struct SimulationResult {
  std::vector<Fact> facts;
  JobState state;
  bool stalled = false;  // nothing ran, nothing was admitted, and the job had not ended
  double elapsed_seconds = 0;
  double busy_slot_seconds = 0;
  double startup_slot_seconds = 0;  // of the busy ones, before the attempts' first units
  double idle_slot_seconds = 0;     // until the job's end
};

// REQUIRES a valid spec whose gangs fit the virtual workers.
SimulationResult Simulate(const SearchSpec& spec, const Simulation& simulation);

}  // namespace winnow

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace winnow {

// What the attempts of a job cost before their first unit: imports, data, checkpoints. It is measured from
// the times of recorded facts alone, all by one worker's clock: when a process started, and when it reported
// which level.
//
// The time of a unit is the median over the newest kKept attempts of the time from the first to the last
// report. The start-up is the median of the time before the first report, less the units up to it. An attempt
// whose reports came within 50 microseconds a unit is left out: its trainer may have written them all when it
// ended.
class Startup {
 public:
  // This much of every start-up is ignored, unless time alone limits the job: a shorter one is not worth
  // searching differently, and its length depends on what else the machine does.
  static constexpr double kFreeSeconds = 1;

  // An attempt's process, from its start to its first report and from that to its last. Units are levels.
  struct Part {
    int64_t wait_us = 0;
    int64_t wait_units = 0;
    int64_t later_us = 0;
    int64_t later_units = 0;  // 0: it reported one level alone

    bool operator==(const Part&) const = default;
  };
  // Left out: a part that reported no level above the one that it began at (wait_units < 1), or all its
  // levels at once. Returns whether it counts.
  bool Add(const Part& part);
  // An attempt that ended before it reported anything: all its time was start-up.
  void AddSilent(int64_t took_us) { silent_us_ += took_us; }
  // An attempt's process ran from one to the other. Microseconds by its worker's clock.
  void AddRun(int64_t started_us, int64_t ended_us);

  // The median part; absent: not known yet.
  std::optional<double> seconds() const;
  std::optional<double> unit_seconds() const;

  // The median time from the newest end of any of the job's processes to the start of the next one: what the
  // decision took, and the way to the worker. 0: not known.
  double pause_seconds() const;

  // The part of seconds() beyond kFreeSeconds, or all of it and the pause before it (`in_full`), in units. It
  // is rounded to the nearest power of two so that small differences do not change the search; 0 where it is
  // less than half a unit or not known. At most `most`.
  double Units(int64_t most, bool in_full) const;
  // The same of a start-up and a unit that are known. REQUIRES unit_seconds is above 0.
  static double Units(double seconds, double unit_seconds, int64_t most, bool in_full);

  // Over all attempts; 0 while the unit's time is not known. Never negative.
  double total_seconds() const;

  bool operator==(const Startup&) const = default;

 private:
  static constexpr size_t kKept = 64;

  std::vector<Part> parts_;                   // the newest, in the order of their places
  size_t next_ = 0;                           // the place of the next one
  std::vector<int64_t> ends_us_, pauses_us_;  // the newest, likewise
  size_t next_end_ = 0, next_pause_ = 0;
  int64_t wait_us_ = 0, wait_units_ = 0, silent_us_ = 0;  // of all parts that were added
};

}  // namespace winnow

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "winnow/v1/worker.pb.h"
#include "worker/metrics/metrics_follower.h"
#include "worker/runs/metric_parser.h"

namespace winnow {

constexpr size_t kShownLineBytes = 200;  // of a line that a sentence quotes

// What was read so far of rank 0 of an attempt. The functions below say in a sentence or two what is wrong
// with it and what to do; "": nothing.
struct SeenOutput {
  const v1::Assignment& assignment;
  const MetricParser& parser;
  const MetricsFollower* follower;  // of trainer.metrics_file; null: standard output was read
  int64_t lines;                    // of standard output that are not blank
  const std::string& last_line;     // of these, at most kShownLineBytes of it
  std::string_view errors;          // the end of standard error
  bool cut_line = false;            // a line was longer than what is read of one
};

std::string LevelBelowOne(const SeenOutput& seen);
std::string ReportedTwice(const SeenOutput& seen);
std::string NumberCut(const SeenOutput& seen);
std::string TwoNumbersInALine(const SeenOutput& seen);
// The metrics of which a program that has finished gave no number.
std::string UnmatchedMetrics(const SeenOutput& seen);
// Why a program has finished without a value of the objective.
std::string NoObjective(const SeenOutput& seen);

}  // namespace winnow

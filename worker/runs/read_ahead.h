#pragma once

#include <utility>
#include <vector>

#include "worker/host/line_splitter.h"
#include "worker/runs/metric_parser.h"
#include "worker/runs/redactor.h"

namespace winnow {

// What was read of a program that was suspended in the middle of its output, for the part in which it goes
// on.
struct ReadAhead {
  std::vector<Redactor> redactors;  // by stream; empty: the trainer has no secrets
  LineSplitter lines;
  MetricParser parser;
  std::vector<MetricReading>
      beyond;  // of the levels after that of the part, in the order in which they were printed
};

}  // namespace winnow

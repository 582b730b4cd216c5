#pragma once

#include <string>

#include "trainers/data/data_set.h"
#include "trainers/data/table_facts.h"

namespace winnow {

// How to read a table that may be one of several parts.
struct PartReading {
  const DataOptions& options;
  const DataSchema* like = nullptr;  // as in ReadDataSet
  int threads = 1;
  std::string path;  // the path that the user named
  int rank = 0;
  Exchange exchange = ExchangeAlone;
};

}  // namespace winnow
